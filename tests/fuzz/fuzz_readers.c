/* Fuzz harness of the readers of documents: the first byte chooses one, the rest is its file.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/utf8.h"
#include "fuzz/fuzz.h"
#include "readers/ignore.h"
#include "readers/reader.h"

static const enum kind kinds[] = {KIND_HTML,     KIND_DOCX, KIND_ODT,  KIND_EPUB,  KIND_PPTX,
                                  KIND_NOTEBOOK, KIND_MAIL, KIND_MBOX, KIND_TABLE, KIND_JSON,
                                  KIND_JSONL,    KIND_LOG,  KIND_CODE, KIND_TEXT};

static void check(const struct reading *reading)
{
    size_t at = 0, length = reading->text.length;
    fuzz_require(utf8_valid(strbuf_text(&reading->text), length));
    for (size_t i = 0; i < reading->marks.count; i++) {
        const struct reading_mark *mark = &reading->marks.items[i];
        fuzz_require(mark->first >= at && mark->last >= mark->first && mark->last <= length);
        if (mark->kind == MARK_HEADING)
            fuzz_require(mark->title >= mark->first && mark->title_end >= mark->title &&
                         mark->title_end <= mark->last);
        at = mark->last;
    }
    for (size_t i = 0; i < reading->pages.count; i++)
        fuzz_require(reading->pages.starts[i] <= length);
}

/* Patterns of .gitignore need no more than their lengths' product. */
static void match(const char *text, size_t length)
{
    struct strbuf copy = {0};
    strbuf_append(&copy, text, length < 4096 ? length : 4096);
    const char *all = strbuf_text(&copy);
    (void)ignore_glob(all, all + strlen(all) / 2);
    struct ignore ignore = {0};
    if (ignore_load(&ignore, all, copy.length))
        (void)ignore_matches(&ignore, "a/b/c.txt", false);
    ignore_fini(&ignore);
    strbuf_fini(&copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    struct notes notes = {0};
    struct strbuf bytes = {0}; /* readers are promised a NUL behind the last byte */
    struct reading reading = {
        .notes = &notes, .name = "input", .kind = kinds[data[0] % (sizeof kinds / sizeof *kinds)]};
    ll_document_options options = {.size = sizeof options, .max_bytes = 1 << 22};
    struct allowance allowance = allowance_of(&options);
    strbuf_append(&bytes, (const char *)data + 1, size - 1);
    struct input input = {.bytes = strbuf_text(&bytes),
                          .length = bytes.length,
                          .fd = -1,
                          .options = &options,
                          .allowance = &allowance,
                          .reading = &reading};
    if (reader_of(reading.kind)(&input) == LL_OK)
        check(&reading);
    match(strbuf_text(&bytes), bytes.length);
    reading_fini(&reading);
    notes_fini(&notes);
    strbuf_fini(&bytes);
    return 0;
}
