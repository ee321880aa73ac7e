/* Plain text and Markdown: decoded, its pages kept, packed data named instead of spelt out.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "readers/blob.h"
#include "readers/frame.h"
#include "readers/origin.h"
#include "readers/reader.h"

enum { LEAST_PAGE = 32 /* bytes; a text with shorter "pages" does not mean pages by its form feeds */ };

static void spell_form_feeds(struct strbuf *text)
{
    for (size_t i = 0; i < text->length; i++)
        if (text->text[i] == '\f')
            text->text[i] = '\n';
}

static bool has_pages(const struct strbuf *text)
{
    size_t feeds = 0;
    for (size_t i = 0; i + 1 < text->length; i++)
        feeds += text->text[i] == '\f';
    return feeds >= 1 && text->length / (feeds + 1) >= LEAST_PAGE;
}

static void note_markup(const struct reading *reading)
{
    const char *text = strbuf_text(&reading->text);
    text += strspn(text, " \t\n");
    if (strncmp(text, "<?xml", 5) == 0)
        notes_add(reading->notes, "%s is XML and was read with its tags", reading->name);
}

static ll_status fold_blobs(struct input *input, struct strbuf *text)
{
    struct strbuf folded = {0};
    if (!blob_any(strbuf_text(text), text->length))
        return LL_OK;
    size_t count = blob_fold(strbuf_text(text), text->length, &folded);
    if (folded.failed) {
        strbuf_fini(&folded);
        return error_nomem(input->error, "document", text->length);
    }
    strbuf_fini(text);
    *text = folded;
    notes_add(input->reading->notes,
              "%s: %zu run%s of base64 named by type and size instead of being spelt out",
              input->reading->name, count, count == 1 ? "" : "s");
    return LL_OK;
}

static ll_status clean(struct input *input, struct strbuf *text)
{
    struct reading *reading = input->reading;
    if (reading->kind == KIND_TEXT && text->length)
        frame_remove(text->text, text->length);
    if (has_pages(text)) {
        LL_TRY(pages_clean(strbuf_text(text), text->length, false, input->cancel, &reading->text,
                           &reading->pages, input->error));
        pages_note(&reading->pages, reading->name, reading->notes);
        return LL_OK;
    }
    spell_form_feeds(text);
    size_t before = text->length;
    LL_TRY(fold_blobs(input, text));
    if (text->length == before &&
        !origins_by_line(input->bytes, input->length, reading->encoding, text, reading))
        return error_nomem(input->error, "document", text->length);
    reading->text = *text;
    *text = (struct strbuf){0};
    return LL_OK;
}

ll_status read_text(struct input *input)
{
    struct reading *reading = input->reading;
    struct strbuf text = {0};
    ll_status status = input_decode(input, &text);
    if (status == LL_OK)
        status = clean(input, &text);
    strbuf_fini(&text);
    if (status == LL_OK && reading->kind == KIND_TEXT)
        note_markup(reading);
    return status;
}
