/* Members of an archive in memory, inflated within the allowance of the call.
 * SPDX-License-Identifier: Apache-2.0 */
#include "readers/package.h"

#include <archive.h>
#include <archive_entry.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"

/* ---- opening --------------------------------------------------------------------------------- */

static struct archive *open_zip(void)
{
    struct archive *archive = archive_read_new();
    if (archive)
        archive_read_support_format_zip(archive);
    return archive;
}

static struct archive *open_any(void)
{
    struct archive *archive = open_zip();
    if (!archive)
        return NULL;
    archive_read_support_format_tar(archive);
    archive_read_support_format_raw(archive);
    archive_read_support_filter_gzip(archive);
    archive_read_support_filter_bzip2(archive);
    archive_read_support_filter_xz(archive);
    archive_read_support_filter_zstd(archive);
    return archive;
}

/* libarchive's own words, made printable. */
static void reason_of(struct archive *archive, char *out, size_t cap)
{
    const char *text = archive_error_string(archive);
    utf8_printable(text ? text : "", text ? strlen(text) : 0, out, cap);
    if (!out[0])
        snprintf(out, cap, "it is damaged");
}

static ll_status refuse(const struct input *input, struct archive *archive)
{
    char reason[160];
    reason_of(archive, reason, sizeof reason);
    return error_set(input->error, LL_UNREADABLE, "archive", "%s could not be unpacked: %s",
                     input->reading->name, reason);
}

/* ---- members --------------------------------------------------------------------------------- */

static ll_status inflate(const struct input *input, struct archive *archive, struct package_member *member)
{
    const void *block;
    size_t length;
    la_int64_t offset;
    int got;
    while ((got = archive_read_data_block(archive, &block, &length, &offset)) == ARCHIVE_OK) {
        LL_TRY(input_check(input));
        LL_TRY(allowance_inflate(input->allowance, length, input->reading->name, input->error));
        strbuf_append(&member->bytes, block, length);
        if (member->bytes.failed)
            return error_nomem(input->error, "archive", member->bytes.length);
    }
    if (got != ARCHIVE_EOF) {
        member->broken = true;
        reason_of(archive, member->complaint, sizeof member->complaint);
    }
    return LL_OK;
}

static void member_fini(struct package_member *member)
{
    mem_free(member->name);
    strbuf_fini(&member->bytes);
}

static ll_status take_member(const struct input *input, struct archive *archive, struct archive_entry *entry,
                             package_wants_fn wants, package_visit_fn visit, void *user)
{
    const char *name = archive_entry_pathname(entry);
    if (!name || archive_entry_filetype(entry) != AE_IFREG || !wants(user, name))
        return LL_OK;
    struct package_member member = {.name = mem_copy_text(name, strlen(name))};
    ll_status status = member.name ? LL_OK : error_nomem(input->error, "archive", strlen(name));
    if (status == LL_OK && archive_entry_is_data_encrypted(entry) == 1) {
        member.broken = true;
        snprintf(member.complaint, sizeof member.complaint, "it needs a password");
    } else if (status == LL_OK) {
        status = inflate(input, archive, &member);
    }
    if (status == LL_OK)
        status = visit(user, &member);
    member_fini(&member);
    return status;
}

static ll_status walk(const struct input *input, struct archive *archive, package_wants_fn wants,
                      package_visit_fn visit, void *user)
{
    struct archive_entry *entry;
    if (archive_read_open_memory(archive, input->bytes, input->length) != ARCHIVE_OK)
        return refuse(input, archive);
    for (;;) {
        int got = archive_read_next_header(archive, &entry);
        LL_TRY(input_check(input));
        if (got == ARCHIVE_EOF)
            return LL_OK;
        if (got == ARCHIVE_RETRY)
            continue;
        if (got < ARCHIVE_WARN)
            return refuse(input, archive);
        LL_TRY(allowance_enter(input->allowance, input->reading->name, input->error));
        LL_TRY(take_member(input, archive, entry, wants, visit, user));
    }
}

ll_status package_walk(const struct input *input, package_wants_fn wants, package_visit_fn visit, void *user)
{
    struct archive *archive = open_any();
    if (!archive)
        return error_nomem(input->error, "archive", 0);
    ll_status status = walk(input, archive, wants, visit, user);
    archive_read_free(archive);
    return status;
}

/* ---- a package of a document ----------------------------------------------------------------- */

struct loading {
    const struct input *input;
    package_wants_fn wants;
    void *user;
    struct package *package;
};

static bool loading_wants(void *user, const char *name)
{
    const struct loading *loading = user;
    return loading->wants(loading->user, name);
}

static ll_status loading_take(void *user, struct package_member *member)
{
    struct loading *loading = user;
    struct package *package = loading->package;
    if (!mem_grow((void **)&package->members, &package->capacity, package->count + 1,
                  sizeof *package->members))
        return error_nomem(loading->input->error, "archive", package->count);
    member->place = package->count;
    package->members[package->count++] = *member;
    *member = (struct package_member){0};
    return LL_OK;
}

static int compare_members(const void *a, const void *b)
{
    const struct package_member *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->place > y->place) - (x->place < y->place);
}

ll_status package_load(const struct input *input, package_wants_fn wants, void *user, struct package *ret)
{
    struct loading loading = {input, wants, user, ret};
    struct archive *archive = open_zip();
    if (!archive)
        return error_nomem(input->error, "archive", 0);
    ll_status status = walk(input, archive, loading_wants, loading_take, &loading);
    archive_read_free(archive);
    if (ret->count)
        qsort(ret->members, ret->count, sizeof *ret->members, compare_members);
    return status;
}

struct package_member *package_find(const struct package *package, const char *name)
{
    size_t low = 0, high = package->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(package->members[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < package->count && strcmp(package->members[low].name, name) == 0;
    return found ? &package->members[low] : NULL;
}

void package_fini(struct package *package)
{
    for (size_t i = 0; i < package->count; i++)
        member_fini(&package->members[i]);
    mem_free(package->members);
    *package = (struct package){0};
}

/* ---- what a ZIP file is ---------------------------------------------------------------------- */

struct sorting {
    enum kind kind;
    const char *other;
    const struct input *input;
};

static bool sorting_wants(void *user, const char *name)
{
    static const struct {
        const char *name;
        enum kind kind;
        const char *other;
    } signs[] = {
        {"word/document.xml", KIND_DOCX, NULL},
        {"ppt/presentation.xml", KIND_PPTX, NULL},
        {"xl/workbook.xml", KIND_OTHER, "an XLSX workbook: save its sheets as CSV"},
        {"xl/workbook.bin", KIND_OTHER, "an XLSB workbook: save its sheets as CSV"},
        {"META-INF/container.xml", KIND_EPUB, NULL},
    };
    struct sorting *sorting = user;
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
        if (sorting->kind == KIND_ARCHIVE && strcmp(name, signs[i].name) == 0) {
            sorting->kind = signs[i].kind;
            sorting->other = signs[i].other;
        }
    return sorting->kind == KIND_ARCHIVE && strcmp(name, "mimetype") == 0;
}

static ll_status sorting_take(void *user, struct package_member *member)
{
    struct sorting *sorting = user;
    const char *type = strbuf_text(&member->bytes);
    if (strncmp(type, "application/epub+zip", 20) == 0)
        sorting->kind = KIND_EPUB;
    else if (strncmp(type, "application/vnd.oasis.opendocument.", 35) == 0)
        sorting->kind = KIND_ODT;
    return LL_OK;
}

ll_status package_kind(const struct input *input, enum kind *ret, const char **ret_name)
{
    struct sorting sorting = {KIND_ARCHIVE, NULL, input};
    struct allowance spare = *input->allowance; /* this look costs nothing of it */
    struct input look = *input;
    look.allowance = &spare;
    struct archive *archive = open_zip();
    if (!archive)
        return error_nomem(input->error, "archive", 0);
    ll_status status = walk(&look, archive, sorting_wants, sorting_take, &sorting);
    archive_read_free(archive);
    *ret = sorting.kind;
    *ret_name = sorting.other;
    return status;
}
