/* What of a folder or an archive is left out: by rule, counted; by mischance, named.
 * SPDX-License-Identifier: Apache-2.0 */
#include "readers/sieve.h"

#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "readers/kind.h"

enum { NAMED = 20, LONG_LINE = 5000 };

bool sieve_is_lock(const char *name)
{
    return kind_name_ends(name,
                          "package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml Cargo.lock "
                          "poetry.lock Pipfile.lock composer.lock Gemfile.lock go.sum uv.lock flake.lock");
}

bool sieve_is_minified(const char *name, const char *text, size_t length)
{
    if (kind_name_ends(name, ".min.js .min.css .map"))
        return true;
    if (!kind_name_ends(name, ".js .css .mjs .cjs") || length < LONG_LINE)
        return false;
    size_t lines = 1;
    for (size_t i = 0; i < length; i++)
        lines += text[i] == '\n';
    return length / lines > LONG_LINE / 5;
}

void sieve_skip(struct sieve *sieve, const char *name, const char *reason, struct notes *notes)
{
    snprintf(sieve->reason, sizeof sieve->reason, "%s", reason);
    if (sieve->skipped++ < NAMED)
        notes_add(notes, "%s was skipped: %s", name, reason);
}

static void list(struct strbuf *out, size_t count, const char *one, const char *many)
{
    if (count)
        strbuf_printf(out, "%s%zu %s", out->length ? ", " : "", count, count == 1 ? one : many);
}

static void list_all(const struct sieve *sieve, struct strbuf *out)
{
    list(out, sieve->binaries, "binary file", "binary files");
    list(out, sieve->archives, "archive", "archives");
    list(out, sieve->locks, "lock file", "lock files");
    list(out, sieve->minified, "minified file", "minified files");
    list(out, sieve->links, "link", "links");
    list(out, sieve->ignored, "entry that .gitignore names", "entries that .gitignore names");
    list(out, sieve->others, "pipe, socket or device", "pipes, sockets and devices");
}

void sieve_report(const struct sieve *sieve, const char *collection, struct notes *notes)
{
    struct strbuf text = {0};
    list_all(sieve, &text);
    if (text.length)
        notes_add(notes, "%s: left out %s", collection, strbuf_text(&text));
    if (sieve->skipped > NAMED)
        notes_add(notes, "%s: %zu files were skipped in all", collection, sieve->skipped);
    strbuf_fini(&text);
}

void sieve_explain(const struct sieve *sieve, char *out, size_t cap)
{
    struct strbuf text = {0};
    list_all(sieve, &text);
    if (sieve->reason[0])
        snprintf(out, cap, ": %s", sieve->reason);
    else
        snprintf(out, cap, "%s%s", text.length ? ": it holds " : ": it holds no text", strbuf_text(&text));
    strbuf_fini(&text);
}
