/* Fuzz harness of what follows pdftotext: page clean-up, then paragraphs, headings and sentences.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/utf8.h"
#include "document/document.h"
#include "readers/pdf.h"
#include "document/segment.h"
#include "fuzz/fuzz.h"

static void segment(struct reading *reading)
{
    struct ll_document document = {.text = reading->text};
    struct doc_file file = {.last = reading->text.length, .kind = KIND_PDF};
    fuzz_require(segment_file(&document, &file, &reading->marks, "", "input", NULL, NULL) == LL_OK);
    size_t at = 0;
    for (size_t i = 0; i < document.sentence_count; i++) {
        const struct doc_sentence *s = &document.sentences[i];
        fuzz_require(s->first >= at && s->last > s->first && s->last <= reading->text.length);
        at = s->last;
    }
    for (size_t i = 0; i < document.section_count; i++)
        fuzz_require(document.sections[i].first <= document.sections[i].last &&
                     document.sections[i].parent <= i);
    reading->text = document.text;
    document.text = (struct strbuf){0};
    strbuf_fini(&document.titles);
    free(document.sections);
    free(document.paragraphs);
    free(document.sentences);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct notes notes = {0};
    struct reading reading = {.notes = &notes, .name = "input"};
    if (pdf_text_clean((const char *)data, size, NULL, &reading, NULL) == LL_OK) {
        fuzz_require(utf8_valid(strbuf_text(&reading.text), reading.text.length));
        for (size_t i = 0; i < reading.pages.count; i++)
            fuzz_require(reading.pages.starts[i] <= reading.text.length &&
                         (i == 0 || reading.pages.starts[i] >= reading.pages.starts[i - 1]));
        segment(&reading);
    }
    reading_fini(&reading);
    notes_fini(&notes);
    return 0;
}
