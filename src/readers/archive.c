/* Archives (ZIP, tar, compressed files): each member read like a file, in the order of their names.
 * SPDX-License-Identifier: Apache-2.0 */
#include "readers/archive.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "readers/ignored.h"
#include "readers/package.h"

enum { LOOK = 8192 };

struct unpacking {
    struct source_call *call;
    const struct input *input;
    const char *path;
    struct package package;
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

/* Only what a look at them takes is kept of members that nobody will read: pictures, programs, archives. */
static void forget_rest(struct package_member *member)
{
    const char *other;
    enum kind kind = kind_of_bytes(strbuf_text(&member->bytes), member->bytes.length, &other);
    bool packed = kind == KIND_ARCHIVE && memcmp(member->bytes.text, "PK", 2) != 0;
    struct strbuf head = {0};
    if (member->bytes.length <= LOOK || (kind != KIND_OTHER && !packed))
        return;
    strbuf_append(&head, member->bytes.text, LOOK);
    strbuf_fini(&member->bytes);
    member->bytes = head;
}

static ll_status collect(void *user, struct package_member *member)
{
    struct unpacking *u = user;
    struct package *package = &u->package;
    if (!mem_grow((void **)&package->members, &package->capacity, package->count + 1,
                  sizeof *package->members))
        return error_nomem(u->input->error, "archive", package->count);
    forget_rest(member);
    if (member->bytes.failed)
        return error_nomem(u->input->error, "archive", LOOK);
    member->place = package->count;
    package->members[package->count++] = *member;
    *member = (struct package_member){0};
    return LL_OK;
}

static int compare_members(const void *a, const void *b)
{
    const struct package_member *x = a, *y = b;
    int names = ignored_compare(x->name, y->name);
    return names ? names : (x->place > y->place) - (x->place < y->place);
}

static ll_status read_one(struct unpacking *u, struct package_member *member)
{
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
    strbuf_fini(&member->bytes);
    return status;
}

static ll_status read_members(struct unpacking *u)
{
    struct package *package = &u->package;
    struct ignored ignored;
    ll_status status = ignored_open(package->members, package->count, &ignored)
                           ? LL_OK
                           : error_nomem(u->input->error, "archive", package->count);
    for (size_t i = 0; i < package->count && status == LL_OK; i++) {
        if (ignored_holds(&ignored, package->members[i].name))
            u->sieve.ignored++;
        else
            status = read_one(u, &package->members[i]);
    }
    ignored_fini(&ignored);
    return status;
}

ll_status archive_read_all(struct source_call *call, const struct input *input, const char *path)
{
    struct unpacking u = {.call = call, .input = input, .path = path};
    size_t before = call->taken;
    char why[300];
    ll_status status = package_walk(input, wants, collect, &u);
    if (u.package.count)
        qsort(u.package.members, u.package.count, sizeof *u.package.members, compare_members);
    if (status == LL_OK)
        status = read_members(&u);
    package_fini(&u.package);
    sieve_report(&u.sieve, input->reading->name, call->notes);
    if (status != LL_OK || call->taken > before)
        return status;
    sieve_explain(&u.sieve, why, sizeof why);
    return error_set(input->error, LL_UNREADABLE, "archive", "nothing in %s could be read%s",
                     input->reading->name, why);
}
