/* One reader for each kind of document, in one table.
 * SPDX-License-Identifier: Apache-2.0 */
#include "readers/reader.h"

#include <string.h>

#include "base/cancel.h"
#include "base/error.h"
#include "readers/encoding.h"

static const reader_fn readers[KIND_OTHER] = {
    [KIND_TEXT] = read_text, [KIND_MARKDOWN] = read_text, [KIND_PDF] = read_pdf,
    [KIND_HTML] = read_html, [KIND_DOCX] = read_docx,     [KIND_ODT] = read_odt,
    [KIND_EPUB] = read_epub, [KIND_PPTX] = read_pptx,     [KIND_NOTEBOOK] = read_notebook,
    [KIND_MAIL] = read_mail, [KIND_MBOX] = read_mbox,     [KIND_TABLE] = read_table,
    [KIND_JSON] = read_json, [KIND_JSONL] = read_json,    [KIND_LOG] = read_log,
    [KIND_CODE] = read_code,
};

reader_fn reader_of(enum kind kind)
{
    return kind < KIND_OTHER ? readers[kind] : NULL;
}

ll_status input_check(const struct input *input)
{
    size_t most = input->allowance->limits.bytes;
    if (cancel_requested(input->cancel))
        return error_set(input->error, LL_CANCELLED, "document", "reading %s was cancelled",
                         input->reading->name);
    if (input->reading->text.length <= most)
        return LL_OK;
    return error_set(input->error, LL_UNSUPPORTED, "document",
                     "%s gives more than %zu bytes of text; raise the limit or name a part of it",
                     input->reading->name, most);
}

ll_status input_decode(struct input *input, struct strbuf *ret)
{
    struct reading *reading = input->reading;
    return encoding_decode(input->bytes, input->length, input->options->encoding, reading->name,
                           input->cancel, ret, reading->encoding, reading->notes, input->error);
}
