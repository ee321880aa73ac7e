/* PDF files, read by poppler's programs as child processes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "readers/pdf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "readers/encoding.h"
#include "readers/garble.h"
#include "readers/ocr.h"
#include "readers/pdf_job.h"
#include "readers/pictures.h"
#include "readers/titles.h"
#include "readers/unlock.h"
#include "readers/visible.h"

enum {
    FEW_LETTERS = 40 /* fewer on a page that holds a picture: the text is in the picture */
};

struct child_limits pdf_limits(const struct pdf *pdf)
{
    double seconds = 30.0 + (double)pdf->bytes / (256.0 * 1024.0);
    struct child_limits limits = {
        .memory_bytes = (size_t)2 << 30,
        .output_bytes = pdf->max_bytes,
        .seconds = seconds < 900 ? seconds : 900,
    };
    return limits;
}

static ll_status refuse_without(const struct pdf *pdf, const char *program)
{
    return error_set(pdf->error, LL_UNSUPPORTED, "pdf",
                     "%s is a PDF, and reading it needs the program %s: install the package poppler-utils",
                     pdf->reading->name, program);
}

ll_status pdf_run(const struct pdf *pdf, const char *const *argv, struct child_result *ret)
{
    struct child_limits limits = pdf_limits(pdf);
    ll_status status = child_run(argv, pdf->fd, &limits, pdf->cancel, ret, pdf->error);
    return status == LL_NOT_FOUND ? refuse_without(pdf, argv[0]) : status;
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
                         pdf_limits(pdf).seconds);
    if (strstr(complaint, "ncorrect password"))
        return error_set(pdf->error, LL_UNREADABLE, "pdf",
                         "%s needs a password: give it with the password option", name);
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

static void take_title(const char *report, struct strbuf *title)
{
    size_t length;
    const char *value = info_value(report, "Title", &length);
    if (value && is_real_title(value, length))
        strbuf_append(title, value, length < 200 ? utf8_whole(value, length) : utf8_whole(value, 200));
}

/* ---- pages that are pictures ----------------------------------------------------------------- */

static bool is_poor(const struct reading *reading, size_t page)
{
    return reading->pages.letters[page] < FEW_LETTERS;
}

void pdf_name_pages(const bool *marked, size_t pages, struct strbuf *out)
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
    reading->unread_pages = 0;
    for (size_t i = 0; i < pages; i++) {
        reading->unread_pages += pictured[i];
        letters += pictured[i] ? 0 : reading->pages.letters[i];
    }
    if (letters == 0 && !(reading->unread_pages && pdf->options->ocr))
        return error_set(
            pdf->error, LL_UNREADABLE, "pdf",
            reading->unread_pages
                ? "%s holds pictures of pages and no text: read them with --ocr, which needs tesseract (OCR)"
                : "%s holds no text (if it shows text, that is a picture: run OCR on it first)",
            reading->name);
    return LL_OK;
}

static void note_pictures(const struct pdf *pdf, const bool *pictured)
{
    struct reading *reading = pdf->reading;
    struct strbuf list = {0};
    pdf_name_pages(pictured, reading->pages.count, &list);
    notes_add(reading->notes,
              "%s: %zu of %zu pages are pictures without text and were not read (%s %s); OCR would "
              "make them readable (--ocr)",
              reading->name, reading->unread_pages, reading->pages.count,
              reading->unread_pages == 1 ? "page" : "pages", strbuf_text(&list));
    strbuf_fini(&list);
}

/* Marks the poor pages that show a picture; *ret_any: there are some. */
static ll_status find_scans(const struct pdf *pdf, bool *pictured, bool *ret_any)
{
    struct reading *reading = pdf->reading;
    size_t poor = 0;
    bool known;
    *ret_any = false;
    for (size_t i = 0; i < reading->pages.count; i++)
        poor += is_poor(reading, i);
    if (poor == 0)
        return LL_OK;
    for (size_t i = 0; i < reading->pages.count; i++)
        pictured[i] = is_poor(reading, i);
    LL_TRY(pictures_find(pdf, pictured, reading->pages.count, &known));
    if (!known)
        notes_add(reading->notes,
                  "%s: whether its %zu pages with little text are pictures could not be found out; "
                  "they count as read",
                  reading->name, poor);
    LL_TRY(judge_pictures(pdf, pictured));
    *ret_any = reading->unread_pages > 0;
    return LL_OK;
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

static ll_status clean(const struct pdf *pdf, const struct strbuf *raw)
{
    struct reading *reading = pdf->reading;
    strbuf_clear(&reading->text);
    page_list_fini(&reading->pages);
    return pdf_text_clean(strbuf_text(raw), raw->length, pdf->cancel, reading, pdf->error);
}

static void note_letters(const struct reading *reading)
{
    size_t unknown = count_unknown(strbuf_text(&reading->text), reading->text.length);
    if (unknown)
        notes_add(reading->notes,
                  "%s: %zu characters could not be read (shown as U+FFFD): its fonts do not say what "
                  "they are",
                  reading->name, unknown);
    if (garble_is_likely(strbuf_text(&reading->text), reading->text.length))
        notes_add(
            reading->notes,
            "%s: its text looks like no language; its fonts may say wrongly what their letters are, and "
            "then only OCR can read it",
            reading->name);
}

static ll_status read_scans(const struct pdf *pdf, struct strbuf *raw, bool *pictured)
{
    struct reading *reading = pdf->reading;
    bool any;
    LL_TRY(find_scans(pdf, pictured, &any));
    if (any && pdf->options->ocr) {
        LL_TRY(ocr_pages(pdf, pictured, reading->pages.count, raw));
        LL_TRY(clean(pdf, raw));
        reading->unread_pages = 0;
        for (size_t i = 0; i < reading->pages.count; i++) {
            pictured[i] = pictured[i] && reading->pages.letters[i] == 0;
            reading->unread_pages += pictured[i];
        }
        any = reading->unread_pages > 0;
    }
    if (any)
        note_pictures(pdf, pictured);
    return LL_OK;
}

/* ---- the file -------------------------------------------------------------------------------- */

enum { INFO, TEXT, LAYOUT, JOBS }; /* the converters, side by side */

static bool is_whole(const struct child_result *result)
{
    return result->exit_code == 0 && !result->too_much && !result->too_long;
}

static bool wants_password(const struct pdf *pdf, const struct child_result *result)
{
    return result->exit_code != 0 && !pdf->unlocked && pdf->options->password &&
           strstr(strbuf_text(&result->complaint), "ncorrect password");
}

static ll_status convert(struct pdf *pdf, struct child_job *jobs)
{
    struct child_limits limits = pdf_limits(pdf);
    const char *missing = "pdftotext";
    ll_status status = child_run_all(jobs, JOBS, pdf->fd, &limits, pdf->cancel, &missing, pdf->error);
    if (status == LL_NOT_FOUND)
        return refuse_without(pdf, missing);
    if (status != LL_OK || !wants_password(pdf, &jobs[INFO].result))
        return status;
    for (size_t i = 0; i < JOBS; i++)
        child_result_fini(&jobs[i].result);
    LL_TRY(unlock_pdf(pdf));
    return convert(pdf, jobs);
}

/* A layout that cannot be had is a pity; the text is there. */
static ll_status take_geometry(struct pdf *pdf, const struct child_result *layout)
{
    ll_error reason = {0};
    struct input input = *pdf->input;
    input.error = &reason;
    ll_status status = is_whole(layout) ? geometry_parse(&input, strbuf_text(&layout->out),
                                                         layout->out.length, &pdf->geometry)
                                        : LL_UNREADABLE;
    if (status == LL_CANCELLED || status == LL_NOMEM)
        return error_set(pdf->error, status, "pdf", "%s", reason.text);
    if (status != LL_OK) {
        geometry_fini(&pdf->geometry);
        notes_add(pdf->reading->notes, "%s: whether it hides text could not be checked", pdf->reading->name);
    }
    return LL_OK;
}

static ll_status take_results(struct pdf *pdf, struct child_job *jobs, struct strbuf *raw)
{
    for (size_t i = INFO; i <= TEXT; i++)
        if (!is_whole(&jobs[i].result))
            return explain(pdf, &jobs[i].result);
    take_title(strbuf_text(&jobs[INFO].result.out), &pdf->reading->title);
    *raw = jobs[TEXT].result.out;
    jobs[TEXT].result.out = (struct strbuf){0};
    return take_geometry(pdf, &jobs[LAYOUT].result);
}

static ll_status run_converters(struct pdf *pdf, struct strbuf *raw)
{
    const char *info[] = {"pdfinfo", "-enc", "UTF-8", CHILD_INPUT, NULL};
    const char *text[] = {"pdftotext", "-enc", "UTF-8", "-eol", "unix", CHILD_INPUT, "-", NULL};
    const char *layout[] = {"pdftohtml", "-xml", "-i", "-q", "-stdout", "-enc", "UTF-8", CHILD_INPUT, NULL};
    struct child_job jobs[JOBS] = {
        [INFO] = {.argv = info}, [TEXT] = {.argv = text}, [LAYOUT] = {.argv = layout}};
    LL_TRY(convert(pdf, jobs));
    ll_status status = take_results(pdf, jobs, raw);
    for (size_t i = 0; i < JOBS; i++)
        child_result_fini(&jobs[i].result);
    return status;
}

static ll_status read_pages(struct pdf *pdf, struct strbuf *raw)
{
    struct reading *reading = pdf->reading;
    LL_TRY(run_converters(pdf, raw));
    if (pdf->geometry.page_count)
        LL_TRY(visible_text(pdf, raw));
    LL_TRY(clean(pdf, raw));
    if (reading->pages.count == 0)
        return error_set(pdf->error, LL_UNREADABLE, "pdf", "%s has no pages: there is nothing to read",
                         reading->name);
    bool *pictured = mem_new(reading->pages.count, sizeof *pictured);
    if (!pictured)
        return error_nomem(pdf->error, "pdf", reading->pages.count);
    ll_status status = read_scans(pdf, raw, pictured);
    mem_free(pictured);
    if (status == LL_OK)
        status = titles_mark(pdf);
    pages_note(&reading->pages, reading->name, reading->notes);
    note_letters(reading);
    return status;
}

ll_status read_pdf(struct input *input)
{
    struct reading *reading = input->reading;
    struct pdf pdf = {.fd = input->fd,
                      .bytes = input->size,
                      .options = input->options,
                      .max_bytes = input->allowance->limits.bytes,
                      .cancel = input->cancel,
                      .reading = reading,
                      .input = input,
                      .error = input->error};
    struct strbuf raw = {0};
    ll_status status = read_pages(&pdf, &raw);
    strbuf_fini(&raw);
    geometry_fini(&pdf.geometry);
    if (pdf.unlocked)
        close(pdf.fd);
    snprintf(reading->encoding, sizeof reading->encoding, "UTF-8");
    return status;
}
