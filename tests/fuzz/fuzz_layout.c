/* Fuzz harness of what pdftohtml says of a PDF's pages: geometry, tables and columns, headings.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/mem.h"
#include "fuzz/fuzz.h"
#include "readers/layout.h"
#include "readers/titles.h"

/* The pages laid out anew, as the text in which the headings are looked for. */
static bool write_pages(const struct geometry *geometry, struct reading *reading)
{
    bool good = true;
    for (size_t page = 0; page < geometry->page_count && good; page++) {
        good = page_list_add(&reading->pages, reading->text.length) &&
               layout_write(geometry, page, &reading->text);
        (void)layout_has_table(geometry, page);
        (void)layout_is_mixed(geometry, page, strbuf_text(&reading->text), reading->text.length);
    }
    return good;
}

static void check(const struct reading *reading)
{
    size_t at = 0;
    for (size_t i = 0; i < reading->marks.count; i++) {
        const struct reading_mark *mark = &reading->marks.items[i];
        fuzz_require(mark->kind == MARK_HEADING && mark->level >= 1 && mark->level <= 6);
        fuzz_require(mark->first >= at && mark->title >= mark->first && mark->title_end > mark->title &&
                     mark->title_end <= mark->last && mark->last <= reading->text.length);
        at = mark->last;
    }
}

/* Few mutations of XML are XML: the bytes are also taken for the places of pieces, eight for each. */
static bool place_pieces(const uint8_t *data, size_t size, struct geometry *g)
{
    strbuf_append(&g->texts, "Cobalt 1,204.50 of the-", 23);
    for (size_t i = 0; i + 8 <= size && i < 8 * 400; i += 8, data += 8) {
        if (!mem_grow((void **)&g->pages, &g->page_capacity, g->page_count + 1, sizeof *g->pages) ||
            !mem_grow((void **)&g->items, &g->capacity, g->count + 1, sizeof *g->items))
            return false;
        if (g->page_count == 0 || data[0] == 0)
            g->pages[g->page_count++] = (struct geometry_page){892, 1263, g->count, 0};
        g->items[g->count++] = (struct geometry_item){.left = data[1] * 4 - 20,
                                                      .top = data[2] * 5,
                                                      .width = data[3],
                                                      .height = data[4] % 32,
                                                      .size = data[5] % 40,
                                                      .bold = data[6] & 1,
                                                      .hidden = (data[6] & 62) == 62,
                                                      .text = data[7] % 12,
                                                      .length = data[7] / 24};
        g->pages[g->page_count - 1].count++;
    }
    return !g->texts.failed;
}

static void try_geometry(struct pdf *pdf)
{
    struct reading *reading = pdf->reading;
    if (write_pages(&pdf->geometry, reading) && reading->text.length && titles_mark(pdf) == LL_OK)
        check(reading);
    geometry_fini(&pdf->geometry);
    reading_fini(reading);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct notes notes = {0};
    struct strbuf bytes = {0};
    struct reading reading = {.notes = &notes, .name = "input", .kind = KIND_PDF};
    ll_document_options options = {.size = sizeof options, .max_bytes = 1 << 22};
    struct allowance allowance = allowance_of(&options);
    struct input input = {.fd = -1, .options = &options, .allowance = &allowance, .reading = &reading};
    struct pdf pdf = {.fd = -1, .options = &options, .reading = &reading, .input = &input};
    strbuf_append(&bytes, (const char *)data, size);
    /* What was read of broken XML up to the fault must do no harm either. */
    (void)geometry_parse(&input, strbuf_text(&bytes), bytes.length, &pdf.geometry);
    try_geometry(&pdf);
    if (place_pieces(data, size, &pdf.geometry))
        try_geometry(&pdf);
    geometry_fini(&pdf.geometry);
    notes_fini(&notes);
    strbuf_fini(&bytes);
    return 0;
}
