/* Writes small real PDF files for tests: lines of text in Helvetica, pictures of pages, a broken lock.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef READERS_PDF_WRITER_H
#define READERS_PDF_WRITER_H

#include "base/strbuf.h"
#include "unit.h"

struct pdf_page {
    const char *text; /* lines; bytes are WinAnsi characters; a tab jumps to the page's last lines */
    bool scan;        /* a picture as large as the page, and no text but this */
};

struct pdf_file {
    const struct pdf_page *pages;
    size_t count;
    const char *title; /* NULL: none */
    bool locked;       /* an encryption dictionary that no password opens */
};

struct pdf_out {
    struct strbuf bytes;
    size_t offsets[512];
    size_t objects;
};

static inline void pdf_object(struct pdf_out *out, size_t number)
{
    assert_true(number < 512);
    out->offsets[number] = out->bytes.length;
    out->objects = number > out->objects ? number : out->objects;
    strbuf_printf(&out->bytes, "%zu 0 obj\n", number);
}

static inline void pdf_content(const struct pdf_page *page, struct strbuf *content)
{
    if (page->scan)
        strbuf_puts(content, "q 595 0 0 842 0 0 cm /Im0 Do Q\n");
    strbuf_puts(content, "BT /F1 11 Tf 14 TL 60 790 Td\n");
    for (const char *line = page->text; *line;) {
        size_t length = strcspn(line, "\n\t");
        strbuf_puts(content, "(");
        for (size_t i = 0; i < length; i++) {
            if (strchr("()\\", line[i]))
                strbuf_putc(content, '\\');
            strbuf_putc(content, line[i]);
        }
        strbuf_puts(content, ") Tj T*\n");
        line += length;
        if (*line == '\t')
            strbuf_puts(content, "ET BT /F1 11 Tf 14 TL 60 60 Td\n");
        line += *line != '\0';
    }
    strbuf_puts(content, "ET\n");
}

static inline void pdf_page_objects(struct pdf_out *out, const struct pdf_page *page, size_t number)
{
    struct strbuf content = {0};
    pdf_content(page, &content);
    pdf_object(out, number);
    strbuf_printf(
        &out->bytes,
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %zu 0 R /Resources << /Font << /F1 "
        "3 0 R >> %s >> >>\nendobj\n",
        number + 1, page->scan ? "/XObject << /Im0 4 0 R >>" : "");
    pdf_object(out, number + 1);
    strbuf_printf(&out->bytes, "<< /Length %zu >>\nstream\n", content.length);
    strbuf_append(&out->bytes, content.text, content.length);
    strbuf_puts(&out->bytes, "endstream\nendobj\n");
    strbuf_fini(&content);
}

static inline void pdf_fixed_objects(struct pdf_out *out, const struct pdf_file *file)
{
    strbuf_puts(&out->bytes, "%PDF-1.4\n");
    pdf_object(out, 1);
    strbuf_puts(&out->bytes, "<< /Type /Catalog /Pages 2 0 R >>\nendobj\n");
    pdf_object(out, 2);
    strbuf_puts(&out->bytes, "<< /Type /Pages /Kids [");
    for (size_t i = 0; i < file->count; i++)
        strbuf_printf(&out->bytes, " %zu 0 R", 7 + 2 * i);
    strbuf_printf(&out->bytes, " ] /Count %zu >>\nendobj\n", file->count);
    pdf_object(out, 3);
    strbuf_puts(&out->bytes, "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding "
                             ">>\nendobj\n");
    pdf_object(out, 4); /* 400 x 400 black dots, one bit each */
    strbuf_puts(&out->bytes,
                "<< /Type /XObject /Subtype /Image /Width 400 /Height 400 /ColorSpace /DeviceGray "
                "/BitsPerComponent 1 /Length 20000 >>\nstream\n");
    for (size_t i = 0; i < 20000; i++)
        strbuf_putc(&out->bytes, '\0');
    strbuf_puts(&out->bytes, "\nendstream\nendobj\n");
    pdf_object(out, 5);
    strbuf_printf(&out->bytes, "<< /Title (%s) >>\nendobj\n", file->title ? file->title : "");
    pdf_object(out, 6);
    strbuf_puts(&out->bytes, "<< /Filter /Standard /V 1 /R 2 /P -4 /O <");
    for (int i = 0; i < 64; i++)
        strbuf_puts(&out->bytes, "3A");
    strbuf_truncate(&out->bytes, out->bytes.length - 64);
    strbuf_puts(&out->bytes, "> /U <");
    for (int i = 0; i < 32; i++)
        strbuf_puts(&out->bytes, "5C");
    strbuf_puts(&out->bytes, "> >>\nendobj\n");
}

static inline void pdf_write(const struct pdf_file *file, struct strbuf *ret)
{
    struct pdf_out out = {0};
    pdf_fixed_objects(&out, file);
    for (size_t i = 0; i < file->count; i++)
        pdf_page_objects(&out, &file->pages[i], 7 + 2 * i);
    size_t table = out.bytes.length;
    strbuf_printf(&out.bytes, "xref\n0 %zu\n0000000000 65535 f \n", out.objects + 1);
    for (size_t i = 1; i <= out.objects; i++)
        strbuf_printf(&out.bytes, "%010zu 00000 n \n", out.offsets[i]);
    strbuf_printf(&out.bytes, "trailer\n<< /Size %zu /Root 1 0 R /Info 5 0 R %s>>\nstartxref\n%zu\n%%%%EOF\n",
                  out.objects + 1,
                  file->locked ? "/Encrypt 6 0 R /ID [<00112233445566778899AABBCCDDEEFF> "
                                 "<00112233445566778899AABBCCDDEEFF>] "
                               : "",
                  table);
    assert_false(out.bytes.failed);
    *ret = out.bytes;
}

#endif
