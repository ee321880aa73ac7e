/* Archives (ZIP, tar, compressed files): each member read like a file.
 * SPDX-License-Identifier: Apache-2.0 */
#include "readers/archive.h"

#include <string.h>

#include "base/error.h"
#include "readers/package.h"

struct unpacking {
    struct source_call *call;
    const struct input *input;
    const char *path;
    struct sieve sieve;
};

/* Folders' own files for their programs, and what version control keeps. */
static bool wants(void *user, const char *name)
{
    (void)user;
    return !strstr(name, "__MACOSX/") && strncmp(name, ".git/", 5) != 0 && !strstr(name, "/.git/") &&
           !kind_name_ends(name, ".DS_Store Thumbs.db");
}

/* "notes.txt.gz" without its ending holds one file without a name. */
static void name_member(const struct unpacking *u, const struct package_member *member, struct strbuf *ret)
{
    const char *ending = strrchr(u->path, '.');
    bool nameless = strcmp(member->name, "data") == 0 && kind_name_ends(u->path, ".gz .bz2 .xz .zst .bz .Z");
    if (nameless && ending)
        strbuf_append(ret, u->path, (size_t)(ending - u->path));
    else
        strbuf_printf(ret, "%s/%s", u->path, member->name);
}

static ll_status visit(void *user, struct package_member *member)
{
    struct unpacking *u = user;
    struct strbuf name = {0};
    name_member(u, member, &name);
    if (name.failed)
        return error_nomem(u->input->error, "archive", strlen(member->name));
    ll_status status = LL_OK;
    if (member->broken) {
        sieve_skip(&u->sieve, strbuf_text(&name), member->complaint, u->call->notes);
        u->call->skipped++;
    } else if (member->bytes.length) {
        struct source_member one = {strbuf_text(&name),   -1,       NULL, strbuf_text(&member->bytes),
                                    member->bytes.length, &u->sieve};
        status = source_read_member(u->call, &one, u->input->error);
    }
    strbuf_fini(&name);
    return status;
}

ll_status archive_read_all(struct source_call *call, const struct input *input, const char *path)
{
    struct unpacking u = {.call = call, .input = input, .path = path};
    size_t before = call->taken;
    ll_status status = package_walk(input, wants, visit, &u);
    sieve_report(&u.sieve, input->reading->name, call->notes);
    if (status != LL_OK || call->taken > before)
        return status;
    return error_set(input->error, LL_UNREADABLE, "archive", "nothing in %s could be read%s%.300s",
                     input->reading->name, u.sieve.reason[0] ? ": " : "", u.sieve.reason);
}
