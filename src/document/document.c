/* The one normalised form of any document: UTF-8 text and spans over it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "document/document.h"

#include <stdio.h>
#include <string.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/options.h"
#include "document/segment.h"
#include "readers/source.h"

void ll_document_options_init(ll_document_options *options)
{
    *options = (ll_document_options){.size = sizeof *options};
}

/* ---- building -------------------------------------------------------------------------------- */

static ll_status check_options(const ll_document_options *given, ll_document_options *ret, ll_error *error)
{
    ll_document_options_init(ret);
    if (!given)
        return LL_OK;
    if (given->size != sizeof *given)
        return error_set(error, LL_VERSION, "document",
                         "document options of %zu bytes, %zu known: call "
                         "ll_document_options_init",
                         given->size, sizeof *given);
    *ret = *given;
    return LL_OK;
}

static bool copy_pages(struct ll_document *d, const struct page_list *pages, size_t base)
{
    if (!mem_grow((void **)&d->pages, &d->page_capacity, d->page_count + pages->count, sizeof *d->pages))
        return false;
    for (size_t i = 0; i < pages->count; i++) {
        size_t start = i == 0 ? 0 : pages->starts[i];
        d->pages[d->page_count++] = base + start;
    }
    return true;
}

static void set_encoding(struct ll_document *d, const char *encoding)
{
    if (!d->encoding[0])
        snprintf(d->encoding, sizeof d->encoding, "%s", encoding);
    else if (strcmp(d->encoding, encoding) != 0)
        snprintf(d->encoding, sizeof d->encoding, "several");
}

/* The last part of a path, for a file without a title of its own. */
static const char *tail_of(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash && slash[1] ? slash + 1 : name;
}

static bool copy_origins(struct ll_document *d, const struct origin_list *origins, struct doc_file *file)
{
    file->first_origin = d->origin_count;
    file->origin_count = origins->count;
    if (!mem_grow((void **)&d->origins, &d->origin_capacity, d->origin_count + origins->count,
                  sizeof *d->origins))
        return false;
    if (origins->count)
        memcpy(d->origins + d->origin_count, origins->items, origins->count * sizeof *d->origins);
    d->origin_count += origins->count;
    return true;
}

static bool copy_parts(struct ll_document *d, const struct part_list *parts, size_t base)
{
    size_t names = d->titles.length;
    if (!mem_grow((void **)&d->parts, &d->part_capacity, d->part_count + parts->count + 1, sizeof *d->parts))
        return false;
    strbuf_append(&d->titles, strbuf_text(&parts->names), parts->names.length);
    for (size_t i = 0; i < parts->count; i++)
        d->parts[d->part_count++] =
            (struct reading_part){base + parts->items[i].text, names + parts->items[i].name};
    return true;
}

/* The text of one file into the document's; files are an empty line apart. */
static void append_text(struct ll_document *d, struct reading *reading)
{
    if (d->text.length && !d->text.failed) {
        if (d->text.text[d->text.length - 1] != '\n')
            strbuf_putc(&d->text, '\n');
        strbuf_putc(&d->text, '\n');
    }
    if (d->file_count == 0 && d->text.length == 0) {
        d->text = reading->text; /* spares a copy of the commonest case */
        reading->text = (struct strbuf){0};
    } else {
        strbuf_append(&d->text, strbuf_text(&reading->text), reading->text.length);
    }
}

/* Whether each byte of the text is one of the file: not where it was decoded or taken out of markup. */
static bool is_exact(const struct reading *reading)
{
    bool plain = reading->kind == KIND_TEXT || reading->kind == KIND_MARKDOWN || reading->kind == KIND_LOG ||
                 reading->kind == KIND_CODE;
    return plain && (strcmp(reading->encoding, "UTF-8") == 0 || strcmp(reading->encoding, "ASCII") == 0);
}

struct opening {
    struct ll_document *document;
    const ll_run *run;
};

static ll_status append(void *user, struct reading *reading, ll_error *error)
{
    const struct opening *opening = user;
    struct ll_document *d = opening->document;
    struct doc_file file = {.first_page = d->page_count,
                            .page_count = reading->pages.count,
                            .source_bytes = reading->source_bytes,
                            .kind = reading->kind};
    size_t length = reading->text.length;
    append_text(d, reading);
    file.first = d->text.length - length;
    file.last = d->text.length;
    if (d->text.failed || !copy_pages(d, &reading->pages, file.first) ||
        !copy_origins(d, &reading->origins, &file) || !copy_parts(d, &reading->parts, file.first) ||
        !mem_grow((void **)&d->files, &d->file_capacity, d->file_count + 1, sizeof *d->files))
        return error_nomem(error, "document", d->text.length);
    LL_TRY(segment_file(d, &file, &reading->marks, strbuf_text(&reading->title), tail_of(reading->name),
                        opening->run, error));
    file.exact = is_exact(reading);
    file.name = d->titles.length;
    strbuf_puts(&d->titles, reading->name);
    strbuf_putc(&d->titles, '\0');
    d->files[d->file_count++] = file;
    d->unread_pages += reading->unread_pages;
    d->source_bytes += reading->source_bytes;
    set_encoding(d, reading->encoding);
    return LL_OK;
}

/* The folders in which all files lie. */
static void find_shared_folders(struct ll_document *d)
{
    const char *first = d->titles.text + d->files[0].name, *slash = strrchr(first, '/');
    size_t shared = slash ? (size_t)(slash - first) + 1 : 0;
    for (size_t i = 1; i < d->file_count; i++) {
        const char *name = d->titles.text + d->files[i].name;
        size_t same = 0;
        while (same < shared && name[same] && name[same] == first[same])
            same++;
        while (same > 0 && first[same - 1] != '/')
            same--;
        shared = same;
    }
    d->label_skip = shared;
}

ll_status document_finish(struct ll_document *d, ll_error *error)
{
    if (!d->titles.failed)
        find_shared_folders(d);
    const struct doc_section *first = &d->sections[d->files[0].section];
    strbuf_append(&d->title, d->titles.text + first->title, first->title_length);
    if (d->file_count > 1)
        strbuf_printf(&d->title, " and %zu more", d->file_count - 1);
    if (d->title.failed || d->titles.failed || d->notes.failed)
        return error_nomem(error, "document", d->text.length);
    return LL_OK;
}

/* paths: NULL for the text. */
static ll_status build(const char *const *paths, size_t count, const char *text, size_t length,
                       const ll_document_options *options, const ll_run *run, ll_document **ret,
                       ll_error *error)
{
    struct ll_document *d = mem_new(1, sizeof *d);
    if (!d)
        return error_nomem(error, "document", sizeof *d);
    struct opening opening = {d, run};
    struct source_call call = {.options = options,
                               .run = run,
                               .notes = &d->notes,
                               .take = append,
                               .user = &opening,
                               .allowance = allowance_of(options)};
    ll_status status = paths ? LL_OK : source_read_text(&call, text, length, error);
    for (size_t i = 0; paths && i < count && status == LL_OK; i++)
        status = source_read(&call, paths[i], error);
    d->skipped = call.skipped;
    if (status == LL_OK)
        status = document_finish(d, error);
    if (status == LL_OK)
        *ret = d;
    else
        ll_document_close(d);
    return status;
}

ll_status ll_document_open(const char *const *paths, size_t count, const ll_document_options *options,
                           const ll_run *run, ll_document **ret, ll_error *error)
{
    ll_document_options checked;
    LL_TRY(check_options(options, &checked, error));
    LL_TRY(run_check(run, error));
    if (count == 0)
        return error_set(error, LL_ARGUMENT, "document", "no document was named");
    return build(paths, count, NULL, 0, &checked, run, ret, error);
}

ll_status ll_document_from_text(const char *text, size_t length, const ll_document_options *options,
                                ll_document **ret, ll_error *error)
{
    ll_document_options checked;
    LL_TRY(check_options(options, &checked, error));
    return build(NULL, 0, text, length, &checked, NULL, ret, error);
}

void ll_document_close(ll_document *d)
{
    if (!d)
        return;
    strbuf_fini(&d->text);
    strbuf_fini(&d->titles);
    strbuf_fini(&d->title);
    mem_free(d->origins);
    mem_free(d->parts);
    mem_free(d->files);
    mem_free(d->pages);
    mem_free(d->sections);
    mem_free(d->paragraphs);
    mem_free(d->sentences);
    notes_fini(&d->notes);
    mem_free(d);
}

/* ---- look-ups -------------------------------------------------------------------------------- */

const char *document_label(const struct ll_document *d, const struct doc_file *file)
{
    return d->titles.text + file->name + d->label_skip;
}

const struct doc_file *document_file(const struct ll_document *d, size_t byte)
{
    size_t low = 0, high = d->file_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (d->files[middle].first <= byte)
            low = middle;
        else
            high = middle;
    }
    return &d->files[low];
}

size_t document_page(const struct ll_document *d, size_t byte)
{
    const struct doc_file *file = document_file(d, byte);
    size_t low = file->first_page, high = file->first_page + file->page_count;
    if (low == high)
        return 0;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (d->pages[middle] <= byte)
            low = middle;
        else
            high = middle;
    }
    return low - file->first_page + 1;
}

void document_pages(const struct ll_document *d, size_t first, size_t last, size_t *ret_first,
                    size_t *ret_last)
{
    size_t end = last > first ? last - 1 : first;
    bool one_file = document_file(d, first) == document_file(d, end);
    *ret_first = one_file ? document_page(d, first) : 0;
    *ret_last = one_file ? document_page(d, end) : 0;
}

size_t document_section(const struct ll_document *d, size_t byte)
{
    size_t low = 0, high = d->section_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (d->sections[middle].first <= byte)
            low = middle;
        else
            high = middle;
    }
    return low;
}

size_t document_sentence(const struct ll_document *d, size_t byte)
{
    size_t low = 0, high = d->sentence_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (d->sentences[middle].last <= byte)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* A section's title; of several files each is called by its name, whatever its first heading says. */
static const char *path_title(const struct ll_document *d, size_t section, size_t *ret_length)
{
    const struct doc_section *s = &d->sections[section];
    const char *title = d->titles.text + s->title;
    *ret_length = s->title_length;
    if (d->file_count > 1 && s->parent == section) {
        title = document_label(d, document_file(d, s->first));
        *ret_length = strlen(title);
    }
    return title;
}

void document_path(const struct ll_document *d, size_t section, size_t most, struct strbuf *out)
{
    size_t chain[16], depth = 0, start = out->length, length;
    for (size_t at = section; depth < 16; at = d->sections[at].parent) {
        if (d->sections[at].parent == at && d->file_count == 1)
            break;
        chain[depth++] = at;
        if (d->sections[at].parent == at)
            break;
    }
    size_t total = 0, keep = 0;
    for (; keep < depth; keep++, total += length + 3) {
        (void)path_title(d, chain[keep], &length);
        if (keep && total + length + 3 > most)
            break;
    }
    while (keep-- > 0) {
        const char *title = path_title(d, chain[keep], &length);
        strbuf_append(out, title, length);
        if (keep)
            strbuf_puts(out, " > ");
    }
    if (out->length - start > most) {
        size_t whole = most;
        while (whole > 0 && ((unsigned char)out->text[start + whole] & 0xC0) == 0x80)
            whole--;
        strbuf_truncate(out, start + whole);
    }
}

/* ---- public reading -------------------------------------------------------------------------- */

static const char *kinds_of(const struct ll_document *d)
{
    for (size_t i = 1; i < d->file_count; i++)
        if (d->files[i].kind != d->files[0].kind)
            return "several";
    return kind_name(d->files[0].kind);
}

ll_status ll_document_get_info(const ll_document *d, ll_document_info *ret)
{
    *ret = (ll_document_info){
        .title = strbuf_text(&d->title),
        .kind = kinds_of(d),
        .encoding = d->encoding,
        .bytes = d->text.length,
        .source_bytes = d->source_bytes,
        .files = d->file_count,
        .pages = d->page_count,
        .sections = d->section_count,
        .paragraphs = d->paragraph_count,
        .unread_pages = d->unread_pages,
        .skipped = d->skipped,
    };
    return LL_OK;
}

ll_status ll_document_get_section(const ll_document *d, size_t section, ll_section *ret)
{
    if (section >= d->section_count)
        return LL_NOT_FOUND;
    const struct doc_section *s = &d->sections[section];
    *ret = (ll_section){
        .title = d->titles.text + s->title, .level = s->level, .first_byte = s->first, .last_byte = s->last};
    document_pages(d, s->first, s->last, &ret->first_page, &ret->last_page);
    return LL_OK;
}

ll_status ll_document_get_file(const ll_document *d, size_t file, ll_file *ret)
{
    if (file >= d->file_count)
        return LL_NOT_FOUND;
    const struct doc_file *f = &d->files[file];
    *ret = (ll_file){.name = d->titles.text + f->name,
                     .label = document_label(d, f),
                     .kind = kind_name(f->kind),
                     .first_byte = f->first,
                     .last_byte = f->last,
                     .source_bytes = f->source_bytes,
                     .pages = f->page_count};
    return LL_OK;
}

ll_status ll_document_get_source(const ll_document *d, uint64_t byte, size_t *ret_file,
                                 uint64_t *ret_source_byte)
{
    if (byte >= d->text.length)
        return LL_NOT_FOUND;
    const struct doc_file *file = document_file(d, (size_t)byte);
    size_t low = file->first_origin, high = low + file->origin_count;
    if (byte < file->first || low == high || d->origins[low].text > byte - file->first)
        return LL_NOT_FOUND;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (d->origins[middle].text <= byte - file->first)
            low = middle;
        else
            high = middle;
    }
    const struct reading_origin *here = &d->origins[low], *next = here + 1;
    bool last = low + 1 == file->first_origin + file->origin_count;
    uint64_t source = here->source + (byte - file->first - here->text);
    *ret_file = (size_t)(file - d->files);
    /* Where the text is laid out anew it may be longer than what it comes from. */
    *ret_source_byte = !last && next->source >= here->source && source > next->source ? next->source : source;
    return LL_OK;
}

ll_status ll_document_get_part(const ll_document *d, uint64_t byte, const char **ret_name)
{
    if (byte >= d->text.length)
        return LL_NOT_FOUND;
    const struct doc_file *file = document_file(d, (size_t)byte);
    size_t low = 0, high = d->part_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (d->parts[middle].text <= byte)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || d->parts[low - 1].text < file->first)
        return LL_NOT_FOUND;
    *ret_name = d->titles.text + d->parts[low - 1].name;
    return LL_OK;
}

ll_status ll_document_get_place(const ll_document *d, uint64_t first, uint64_t last, ll_place *ret)
{
    size_t file;
    uint64_t from, to;
    if (first >= d->text.length)
        return LL_NOT_FOUND;
    const struct doc_file *f = document_file(d, (size_t)first);
    last = last > f->last ? f->last : last < first ? first : last;
    *ret = (ll_place){.file = (size_t)(f - d->files),
                      .name = d->titles.text + f->name,
                      .label = document_label(d, f),
                      .first_byte = first - f->first,
                      .last_byte = last - f->first};
    uint64_t end = last > first ? last - 1 : first;
    document_pages(d, (size_t)first, (size_t)last, &ret->first_page, &ret->last_page);
    if (f->exact && ll_document_get_source(d, first, &file, &from) == LL_OK &&
        ll_document_get_source(d, end, &file, &to) == LL_OK && to >= from) {
        ret->first_byte = from;
        ret->last_byte = to + (last > first);
        ret->in_file = true;
    }
    return LL_OK;
}

const char *ll_document_text(const ll_document *d, size_t *ret_length)
{
    if (ret_length)
        *ret_length = d->text.length;
    return strbuf_text(&d->text);
}

size_t ll_document_note_count(const ll_document *d)
{
    return d->notes.count;
}

const char *ll_document_note(const ll_document *d, size_t note)
{
    return note < d->notes.count ? d->notes.items[note] : NULL;
}
