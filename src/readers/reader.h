/* One reader for each kind of document, in one table.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef READERS_READER_H
#define READERS_READER_H

#include "readers/limits.h"
#include "readers/reading.h"

/* One file to be read. Its bytes are all there, but for PDF, which is read through fd. */
struct input {
    const char *bytes;
    size_t length;
    int fd;        /* of a seekable file, or -1 */
    uint64_t size; /* of that file */
    const ll_document_options *options;
    struct allowance *allowance;
    const ll_cancel *cancel;
    struct reading *reading; /* kind and name are set; filled by the reader */
    ll_error *error;
};

/* LL_OK with the reading filled; LL_UNREADABLE, LL_UNSUPPORTED, LL_ARGUMENT, LL_CANCELLED, LL_NOMEM with
 * the error set. A text may come out empty: the caller refuses it. */
typedef ll_status (*reader_fn)(struct input *input);

/* NULL for KIND_ARCHIVE and KIND_OTHER. */
reader_fn reader_of(enum kind kind);

ll_status read_text(struct input *input); /* text, Markdown */
ll_status read_pdf(struct input *input);
ll_status read_html(struct input *input);
ll_status read_docx(struct input *input);
ll_status read_odt(struct input *input);
ll_status read_epub(struct input *input);
ll_status read_pptx(struct input *input);
ll_status read_notebook(struct input *input);
ll_status read_mail(struct input *input);
ll_status read_mbox(struct input *input);
ll_status read_table(struct input *input);
ll_status read_json(struct input *input); /* JSON and JSON lines */
ll_status read_log(struct input *input);
ll_status read_code(struct input *input);

/* The input's bytes as clean UTF-8, by the options' encoding or found out; sets reading->encoding. */
ll_status input_decode(struct input *input, struct strbuf *ret);
/* LL_CANCELLED; LL_UNSUPPORTED when the reading has grown beyond the limit of bytes. */
ll_status input_check(const struct input *input);

#endif
