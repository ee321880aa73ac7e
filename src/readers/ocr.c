/* Pages that are pictures, read by tesseract.
 * SPDX-License-Identifier: Apache-2.0 */
#include "readers/ocr.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/utf8.h"
#include "readers/temporary.h"

enum { DOTS = 300 /* per inch: what tesseract is trained on */ };

static ll_status render(const struct pdf *pdf, size_t page, struct strbuf *ret)
{
    char number[24], dots[12];
    snprintf(number, sizeof number, "%zu", page + 1);
    snprintf(dots, sizeof dots, "%d", DOTS);
    const char *argv[] = {"pdftoppm", "-gray", "-r", dots, "-f", number, "-l", number, CHILD_INPUT, NULL};
    struct child_result result;
    LL_TRY(pdf_run(pdf, argv, &result));
    *ret = result.out;
    result.out = (struct strbuf){0};
    bool good = result.exit_code == 0 && !result.too_much && !result.too_long && ret->length;
    child_result_fini(&result);
    return good ? LL_OK
                : error_set(pdf->error, LL_UNREADABLE, "ocr", "page %zu of %s could not be drawn", page + 1,
                            pdf->reading->name);
}

static bool is_language(const char *name)
{
    return name[0] &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+") == strlen(name);
}

static ll_status recognise(const struct pdf *pdf, int picture, struct strbuf *out)
{
    const char *argv[] = {"tesseract", CHILD_INPUT, "stdout", "-l", pdf->options->ocr, NULL};
    struct child_limits limits = pdf_limits(pdf);
    struct child_result result;
    limits.seconds = 300; /* a dense page takes long */
    ll_status status = child_run(argv, picture, &limits, pdf->cancel, &result, pdf->error);
    if (status == LL_NOT_FOUND)
        return error_set(
            pdf->error, LL_UNSUPPORTED, "ocr",
            "reading the pictures in %s needs the program tesseract: install the package tesseract-ocr",
            pdf->reading->name);
    LL_TRY(status);
    if (result.exit_code == 0 && !result.too_long) {
        strbuf_append(out, strbuf_text(&result.out), strcspn(strbuf_text(&result.out), "\f"));
    } else {
        char reason[160];
        const char *complaint = strbuf_text(&result.complaint);
        utf8_printable(complaint, strcspn(complaint, "\n"), reason, sizeof reason);
        status = error_set(pdf->error, LL_UNSUPPORTED, "ocr", "tesseract could not read %s in \"%s\": %s",
                           pdf->reading->name, pdf->options->ocr, reason[0] ? reason : "it gave up");
    }
    child_result_fini(&result);
    return status;
}

static ll_status read_page(const struct pdf *pdf, size_t page, struct strbuf *out)
{
    struct strbuf picture = {0};
    int fd = -1;
    ll_status status = render(pdf, page, &picture);
    if (status == LL_OK)
        status = temporary_make(strbuf_text(&picture), picture.length, &fd, pdf->error);
    strbuf_fini(&picture);
    LL_TRY(status);
    status = recognise(pdf, fd, out);
    close(fd);
    return status;
}

ll_status ocr_pages(const struct pdf *pdf, const bool *marked, size_t pages, struct strbuf *raw)
{
    struct strbuf out = {0};
    size_t at = 0, count = 0;
    ll_status status = LL_OK;
    if (!is_language(pdf->options->ocr))
        return error_set(pdf->error, LL_ARGUMENT, "ocr",
                         "\"%.40s\" is no language of tesseract (eng, deu+eng)", pdf->options->ocr);
    for (size_t page = 0; page < pages && status == LL_OK; page++) {
        size_t end = at + strcspn(strbuf_text(raw) + at, "\f");
        end = end < raw->length ? end : raw->length;
        if (marked[page])
            status = read_page(pdf, page, &out);
        else
            strbuf_append(&out, strbuf_text(raw) + at, end - at);
        count += marked[page];
        strbuf_putc(&out, '\f');
        at = end < raw->length ? end + 1 : end;
    }
    if (status == LL_OK && out.failed)
        status = error_nomem(pdf->error, "ocr", raw->length);
    if (status != LL_OK) {
        strbuf_fini(&out);
        return status;
    }
    strbuf_fini(raw);
    *raw = out;
    notes_add(pdf->reading->notes, "%s: %zu page%s read by OCR; its errors are in the text",
              pdf->reading->name, count, count == 1 ? " was" : "s were");
    return LL_OK;
}
