/* PDF files, read by poppler's programs as child processes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "readers/pdf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "readers/child.h"
#include "readers/encoding.h"
#include "readers/reader.h"

enum {
    FEW_LETTERS = 40,    /* fewer on a page that holds a picture: the text is in the picture */
    SMALLEST_SCAN = 300, /* pixels of width and height; smaller pictures are ornaments */
};

struct pdf {
    int fd;
    uint64_t bytes;
    const ll_document_options *options;
    size_t max_bytes;
    const ll_cancel *cancel;
    struct reading *reading;
    ll_error *error;
};

static struct child_limits limits_for(const struct pdf *pdf)
{
    double seconds = 30.0 + (double)pdf->bytes / (256.0 * 1024.0);
    struct child_limits limits = {
        .memory_bytes = (size_t)2 << 30,
        .output_bytes = pdf->max_bytes,
        .seconds = seconds < 900 ? seconds : 900,
    };
    return limits;
}

static ll_status run(const struct pdf *pdf, const char *const *argv, struct child_result *ret)
{
    struct child_limits limits = limits_for(pdf);
    ll_status status = child_run(argv, pdf->fd, &limits, pdf->cancel, ret, pdf->error);
    if (status == LL_NOT_FOUND)
        return error_set(
            pdf->error, LL_UNSUPPORTED, "pdf",
            "%s is a PDF, and reading it needs the program %s: install the package poppler-utils",
            pdf->reading->name, argv[0]);
    return status;
}

/* ---- why it failed --------------------------------------------------------------------------- */

/* The first line of complaint that tells something, made printable. */
static void reason_of(const struct child_result *result, char *out, size_t cap)
{
    const char *text = strbuf_text(&result->complaint);
    size_t length = strcspn(text, "\n");
    utf8_printable(text, length, out, cap < 160 ? cap : 160);
    if (!out[0])
        snprintf(out, cap, "no reason given");
}

static ll_status explain(const struct pdf *pdf, const struct child_result *result)
{
    char reason[200];
    const char *name = pdf->reading->name, *complaint = strbuf_text(&result->complaint);
    reason_of(result, reason, sizeof reason);
    if (result->too_much)
        return error_set(pdf->error, LL_UNSUPPORTED, "pdf",
                         "%s unpacks to more than %zu bytes of text; split it", name, pdf->max_bytes);
    if (result->too_long)
        return error_set(pdf->error, LL_UNREADABLE, "pdf",
                         "%s took too long to convert (%.0f s) and was given up", name,
                         limits_for(pdf).seconds);
    if (strstr(complaint, "ncorrect password"))
        return error_set(pdf->error, LL_UNREADABLE, "pdf",
                         pdf->options->password ? "%s does not open with the password given"
                                                : "%s needs a password: give it with the password option",
                         name);
    if (strstr(complaint, "ermission") || result->exit_code == 3)
        return error_set(pdf->error, LL_UNREADABLE, "pdf", "%s does not allow its text to be copied (%s)",
                         name, reason);
    if (result->exit_code == 126 || result->exit_code == 127)
        return error_set(pdf->error, LL_UNREADABLE, "pdf",
                         "%s could not be read: poppler's programs do not start here; install "
                         "poppler-utils anew",
                         name);
    if (result->exit_code < 0)
        return error_set(pdf->error, LL_UNREADABLE, "pdf",
                         "converting %s broke off (memory or time limit, or a damaged file)", name);
    return error_set(pdf->error, LL_UNREADABLE, "pdf", "%s is a damaged PDF: %s", name, reason);
}

/* ---- title ----------------------------------------------------------------------------------- */

/* The value of "Key:   value" in pdfinfo's report; NULL when absent or blank. */
static const char *info_value(const char *report, const char *key, size_t *ret_length)
{
    for (const char *line = report; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        size_t length = strlen(key);
        if (strncmp(line, key, length) != 0 || line[length] != ':')
            continue;
        const char *value = line + length + 1;
        value += strspn(value, " \t");
        *ret_length = strcspn(value, "\n");
        return *ret_length ? value : NULL;
    }
    return NULL;
}

/* Programs leave "untitled" and file names of theirs in the title field: no title is better. */
static bool is_real_title(const char *title, size_t length)
{
    char copy[128];
    snprintf(copy, sizeof copy, "%.*s", (int)(length < 120 ? length : 120), title);
    for (char *c = copy; *c; c++)
        *c = (char)(*c >= 'A' && *c <= 'Z' ? *c + 32 : *c);
    size_t n = strlen(copy);
    static const char *const endings[] = {".doc", ".docx", ".dvi", ".tex",    ".pdf",
                                          ".ps",  ".indd", ".odt", ".ditroff"};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
        if (n >= strlen(endings[i]) && strcmp(copy + n - strlen(endings[i]), endings[i]) == 0)
            return false;
    return n >= 3 && strncmp(copy, "untitled", 8) != 0 && strncmp(copy, "microsoft word", 14) != 0 &&
           copy[0] != '/' && utf8_valid(title, length);
}

static ll_status read_title(const struct pdf *pdf, struct strbuf *title)
{
    const char *plain[] = {"pdfinfo", "-enc", "UTF-8", CHILD_INPUT, NULL};
    const char *with[] = {"pdfinfo", "-enc", "UTF-8", "-upw", pdf->options->password, CHILD_INPUT, NULL};
    struct child_result result;
    LL_TRY(run(pdf, pdf->options->password ? with : plain, &result));
    ll_status status = LL_OK;
    if (result.exit_code != 0) {
        status = explain(pdf, &result);
    } else {
        size_t length;
        const char *value = info_value(strbuf_text(&result.out), "Title", &length);
        if (value && is_real_title(value, length))
            strbuf_append(title, value, length < 200 ? utf8_whole(value, length) : utf8_whole(value, 200));
    }
    child_result_fini(&result);
    return status;
}

/* ---- pages that are pictures ----------------------------------------------------------------- */

static bool is_poor(const struct reading *reading, size_t page)
{
    return reading->pages.letters[page] < FEW_LETTERS;
}

/* Marks the pages on which pdfimages lists a picture big enough to be a scan. */
static void mark_pictures(const char *report, bool *pictured, size_t pages)
{
    for (const char *line = report; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        unsigned long page, width, height;
        if (sscanf(line, "%lu %*u %*15s %lu %lu", &page, &width, &height) == 3 && page >= 1 &&
            page <= pages && width >= SMALLEST_SCAN && height >= SMALLEST_SCAN)
            pictured[page - 1] = true;
    }
}

static void name_pages(const bool *marked, size_t pages, struct strbuf *out)
{
    size_t shown = 0;
    for (size_t first = 0; first < pages && shown < 20; first++) {
        if (!marked[first])
            continue;
        size_t last = first;
        while (last + 1 < pages && marked[last + 1])
            last++;
        strbuf_printf(out, last > first ? "%s%zu-%zu" : "%s%zu", shown ? ", " : "", first + 1, last + 1);
        first = last;
        shown++;
    }
    if (shown == 20)
        strbuf_puts(out, ", …");
}

static ll_status judge_pictures(const struct pdf *pdf, bool *pictured)
{
    struct reading *reading = pdf->reading;
    size_t pages = reading->pages.count, letters = 0;
    for (size_t i = 0; i < pages; i++) {
        pictured[i] = pictured[i] && is_poor(reading, i);
        reading->unread_pages += pictured[i];
        letters += pictured[i] ? 0 : reading->pages.letters[i];
    }
    if (letters == 0)
        return error_set(
            pdf->error, LL_UNREADABLE, "pdf",
            reading->unread_pages
                ? "%s holds pictures of pages and no text: run OCR on it first (for example ocrmypdf)"
                : "%s holds no text (if it shows text, that is a picture: run OCR on it first)",
            reading->name);
    if (reading->unread_pages == 0)
        return LL_OK;
    struct strbuf list = {0};
    name_pages(pictured, pages, &list);
    notes_add(reading->notes,
              "%s: %zu of %zu pages are pictures without text and were not read (%s %s); OCR would "
              "make them readable",
              reading->name, reading->unread_pages, pages, reading->unread_pages == 1 ? "page" : "pages",
              strbuf_text(&list));
    strbuf_fini(&list);
    return LL_OK;
}

static ll_status find_scans(const struct pdf *pdf)
{
    struct reading *reading = pdf->reading;
    size_t poor = 0;
    for (size_t i = 0; i < reading->pages.count; i++)
        poor += is_poor(reading, i);
    if (poor == 0)
        return LL_OK;
    const char *plain[] = {"pdfimages", "-list", CHILD_INPUT, NULL};
    const char *with[] = {"pdfimages", "-list", "-upw", pdf->options->password, CHILD_INPUT, NULL};
    struct child_result result;
    LL_TRY(run(pdf, pdf->options->password ? with : plain, &result));
    bool *pictured = mem_new(reading->pages.count, sizeof *pictured);
    ll_status status = pictured ? LL_OK : error_nomem(pdf->error, "pdf", reading->pages.count);
    if (pictured && (result.exit_code != 0 || result.too_much || result.too_long))
        notes_add(reading->notes,
                  "%s: whether its %zu pages with little text are pictures could not be found out; "
                  "they count as read",
                  reading->name, poor);
    if (pictured) {
        mark_pictures(strbuf_text(&result.out), pictured, reading->pages.count);
        status = judge_pictures(pdf, pictured);
    }
    mem_free(pictured);
    child_result_fini(&result);
    return status;
}

/* ---- text ------------------------------------------------------------------------------------ */

static size_t count_unknown(const char *text, size_t length)
{
    size_t count = 0;
    for (size_t i = 0; i + 3 <= length; i++)
        count += memcmp(text + i, "\xEF\xBF\xBD", 3) == 0;
    return count;
}

ll_status pdf_text_clean(const char *text, size_t length, const ll_cancel *cancel, struct reading *reading,
                         ll_error *error)
{
    struct strbuf decoded = {0};
    struct notes quiet = {0}; /* how the converter spells its output concerns nobody */
    char encoding[40];
    ll_status status =
        encoding_decode(text, length, "UTF-8", reading->name, cancel, &decoded, encoding, &quiet, error);
    notes_fini(&quiet);
    if (status == LL_OK)
        status = pages_clean(strbuf_text(&decoded), decoded.length, true, cancel, &reading->text,
                             &reading->pages, error);
    strbuf_fini(&decoded);
    return status;
}

static ll_status convert_text(const struct pdf *pdf)
{
    const char *plain[] = {"pdftotext", "-enc", "UTF-8", "-eol", "unix", CHILD_INPUT, "-", NULL};
    const char *with[] = {"pdftotext", "-enc", "UTF-8", "-eol", "unix", "-upw", pdf->options->password,
                          CHILD_INPUT, "-",    NULL};
    struct child_result result;
    struct reading *reading = pdf->reading;
    LL_TRY(run(pdf, pdf->options->password ? with : plain, &result));
    ll_status status = LL_OK;
    if (result.exit_code != 0 || result.too_much || result.too_long)
        status = explain(pdf, &result);
    else
        status =
            pdf_text_clean(strbuf_text(&result.out), result.out.length, pdf->cancel, reading, pdf->error);
    if (status == LL_OK && reading->pages.count == 0)
        status = error_set(pdf->error, LL_UNREADABLE, "pdf", "%s has no pages: there is nothing to read",
                           reading->name);
    size_t unknown = status == LL_OK ? count_unknown(strbuf_text(&reading->text), reading->text.length) : 0;
    if (unknown)
        notes_add(reading->notes,
                  "%s: %zu characters could not be read (shown as U+FFFD): its fonts do not say what "
                  "they are",
                  reading->name, unknown);
    child_result_fini(&result);
    return status;
}

ll_status read_pdf(struct input *input)
{
    struct reading *reading = input->reading;
    struct pdf pdf = {input->fd,     input->size, input->options, input->allowance->limits.bytes,
                      input->cancel, reading,     input->error};
    LL_TRY(read_title(&pdf, &reading->title));
    LL_TRY(convert_text(&pdf));
    if (pdf.options->password)
        notes_add(reading->notes,
                  "the password of %s was visible in this machine's process list while it was read",
                  reading->name);
    snprintf(reading->encoding, sizeof reading->encoding, "UTF-8");
    return find_scans(&pdf);
}
