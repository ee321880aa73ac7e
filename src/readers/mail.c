/* Mail (one message, or an mbox of many): decoded headers, the readable part, attachments named.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/utf8.h"
#include "readers/encoding.h"
#include "readers/html.h"
#include "readers/mime.h"
#include "readers/prose.h"
#include "readers/reader.h"

enum { DEEPEST = 16, TYPE = 512 };

struct mail {
    struct input *input;
    struct prose prose;
    size_t attachments, hidden;
};

#define NOWHERE SIZE_MAX

/* Where a piece of the file stands in it; parts that were unpacked stand nowhere. */
static size_t source_of(const struct mail *m, const char *text)
{
    uintptr_t first = (uintptr_t)m->input->bytes, at = (uintptr_t)text;
    return at >= first && at - first < m->input->length ? at - first : NOWHERE;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* source: where the text stands in the file, or NOWHERE. */
static void put_lines(struct prose *p, const char *text, size_t length, size_t source)
{
    for (size_t at = 0; at < length;) {
        const char *newline = memchr(text + at, '\n', length - at);
        size_t end = newline ? (size_t)(newline - text) : length;
        size_t blanks = strspn(text + at, " \t\r");
        if (at + blanks >= end)
            prose_block(p);
        else if (source != NOWHERE)
            prose_origin(p, source + at + blanks);
        prose_text(p, text + at, end - at);
        if (at + blanks < end)
            prose_line(p);
        at = end + 1;
    }
}

/* The charset that the part names, unless its bytes show that it lies. */
static const char *charset_of(const char *type, const struct strbuf *bytes, char *charset, size_t cap)
{
    if (!mime_parameter(type, "charset", charset, cap) || !encoding_is_known(charset) ||
        strcasecmp(charset, "us-ascii") == 0 || strcasecmp(charset, "ascii") == 0 ||
        strcasecmp(charset, "utf-8") == 0)
        return NULL;
    (void)bytes;
    return charset;
}

static ll_status put_text_part(struct mail *m, const char *type, const struct strbuf *bytes, size_t source)
{
    struct input *input = m->input;
    struct strbuf text = {0};
    char charset[60], encoding[40];
    if (bytes->length == 0)
        return LL_OK;
    ll_status status = encoding_decode(strbuf_text(bytes), bytes->length,
                                       charset_of(type, bytes, charset, sizeof charset), input->reading->name,
                                       input->cancel, &text, encoding, input->reading->notes, input->error);
    prose_block(&m->prose);
    if (status == LL_OK && strncasecmp(type, "text/html", 9) == 0) {
        struct html_page page = {true, input->allowance->limits.seconds,
                                 ((size_t)256 << 20) + text.length * 24, input->reading->name, input->cancel};
        status =
            html_write(strbuf_text(&text), text.length, &page, &m->prose, NULL, &m->hidden, input->error);
        prose_heading_end(&m->prose);
        while (m->prose.code)
            prose_code_end(&m->prose);
        m->prose.tables = m->prose.items = 0;
    } else if (status == LL_OK) {
        put_lines(&m->prose, strbuf_text(&text), text.length,
                  text.length == bytes->length ? source : NOWHERE);
    }
    prose_block(&m->prose);
    strbuf_fini(&text);
    return status;
}

static void name_attachment(struct mail *m, const char *type, const char *disposition, size_t bytes)
{
    char name[TYPE] = "", shown[TYPE], kind[100], line[TYPE + 200];
    if (!mime_parameter(disposition, "filename", name, sizeof name))
        mime_parameter(type, "name", name, sizeof name);
    struct strbuf decoded = {0};
    mime_decode_words(name, strlen(name), &decoded);
    utf8_printable(strbuf_text(&decoded), decoded.length, shown, sizeof shown);
    utf8_printable(type, strcspn(type, "; "), kind, sizeof kind);
    snprintf(line, sizeof line, "[attachment: %s%s%s, %zu bytes]", shown, shown[0] ? ", " : "", kind, bytes);
    prose_block(&m->prose);
    prose_puts(&m->prose, line);
    prose_block(&m->prose);
    strbuf_fini(&decoded);
    m->attachments++;
}

/* ---- parts ----------------------------------------------------------------------------------- */

static ll_status put_message(struct mail *m, const char *text, size_t length, size_t depth);

struct part_head {
    char type[TYPE], disposition[TYPE], encoding[40];
};

static void copy_header(const struct mime_part *part, const char *name, char *ret, size_t cap,
                        const char *otherwise)
{
    struct strbuf value = {0};
    mime_header(part, name, &value);
    snprintf(ret, cap, "%s", value.length ? strbuf_text(&value) : otherwise);
    strbuf_fini(&value);
}

static void read_head(const struct mime_part *part, struct part_head *head)
{
    copy_header(part, "Content-Type", head->type, sizeof head->type, "text/plain");
    copy_header(part, "Content-Disposition", head->disposition, sizeof head->disposition, "");
    copy_header(part, "Content-Transfer-Encoding", head->encoding, sizeof head->encoding, "7bit");
    head->encoding[strcspn(head->encoding, "; \t(")] = '\0';
}

/* Of the same thing said in several forms: plain text, else HTML, else what holds one of them. */
static int rank_of(const char *type)
{
    return strncasecmp(type, "text/plain", 10) == 0   ? 3
           : strncasecmp(type, "text/html", 9) == 0   ? 2
           : strncasecmp(type, "multipart/", 10) == 0 ? 1
                                                      : 0;
}

static ll_status put_part(struct mail *m, const char *text, size_t length, size_t depth);

static ll_status put_best(struct mail *m, const struct mime_part *whole, const char *boundary, size_t depth)
{
    const char *text, *best = NULL;
    size_t length, best_length = 0, at = 0;
    int best_rank = -1;
    while (mime_next(whole, boundary, &at, &text, &length)) {
        struct mime_part part;
        struct part_head head;
        mime_split(text, length, &part);
        read_head(&part, &head);
        int rank = strspn(part.body, " \r\n\t") >= part.body_length ? 0 : rank_of(head.type);
        if (rank > best_rank) {
            best = text;
            best_length = length;
            best_rank = rank;
        }
    }
    return best ? put_part(m, best, best_length, depth + 1) : LL_OK;
}

static ll_status put_parts(struct mail *m, const struct mime_part *whole, const char *type, size_t depth)
{
    char boundary[200];
    const char *text;
    size_t length, at = 0;
    if (!mime_parameter(type, "boundary", boundary, sizeof boundary)) {
        struct strbuf bytes = {0};
        strbuf_append(&bytes, whole->body, whole->body_length);
        ll_status status = bytes.failed ? error_nomem(m->input->error, "mail", whole->body_length)
                                        : put_text_part(m, "text/plain", &bytes, source_of(m, whole->body));
        strbuf_fini(&bytes);
        return status;
    }
    if (strncasecmp(type, "multipart/alternative", 21) == 0)
        return put_best(m, whole, boundary, depth);
    while (mime_next(whole, boundary, &at, &text, &length)) {
        LL_TRY(allowance_enter(m->input->allowance, m->input->reading->name, m->input->error));
        LL_TRY(put_part(m, text, length, depth + 1));
    }
    return LL_OK;
}

static ll_status put_body(struct mail *m, const struct mime_part *part, size_t depth)
{
    struct part_head head;
    read_head(part, &head);
    if (depth > DEEPEST)
        return error_set(m->input->error, LL_UNREADABLE, "mail", "%s holds parts nested deeper than %d",
                         m->input->reading->name, DEEPEST);
    if (strncasecmp(head.type, "multipart/", 10) == 0)
        return put_parts(m, part, head.type, depth);
    struct strbuf bytes = {0};
    mime_decode_body(head.encoding, part->body, part->body_length, &bytes);
    ll_status status = bytes.failed ? error_nomem(m->input->error, "mail", part->body_length) : LL_OK;
    bool attached = strncasecmp(head.disposition, "attachment", 10) == 0;
    if (status == LL_OK && strncasecmp(head.type, "message/rfc822", 14) == 0)
        status = put_message(m, strbuf_text(&bytes), bytes.length, depth + 1);
    else if (status == LL_OK && !attached && strncasecmp(head.type, "text/", 5) == 0)
        status = put_text_part(m, head.type, &bytes,
                               bytes.length == part->body_length ? source_of(m, part->body) : NOWHERE);
    else if (status == LL_OK)
        name_attachment(m, head.type, head.disposition, bytes.length);
    strbuf_fini(&bytes);
    return status;
}

static ll_status put_part(struct mail *m, const char *text, size_t length, size_t depth)
{
    struct mime_part part;
    mime_split(text, length, &part);
    return put_body(m, &part, depth);
}

/* ---- messages -------------------------------------------------------------------------------- */

/* The fields of a mail are lines of their own, and no prose. */
static void put_header(struct mail *m, const struct mime_part *part, const char *name,
                       struct reading_mark *lines)
{
    struct strbuf raw = {0}, value = {0};
    if (mime_header(part, name, &raw) && raw.length) {
        mime_decode_words(strbuf_text(&raw), raw.length, &value);
        prose_puts(&m->prose, name);
        lines->first = lines->last ? lines->first : m->prose.reading->text.length - strlen(name);
        prose_puts(&m->prose, ": ");
        prose_text(&m->prose, strbuf_text(&value), value.length);
        lines->last = m->prose.reading->text.length;
        prose_line(&m->prose);
    }
    strbuf_fini(&raw);
    strbuf_fini(&value);
}

static void put_subject(struct mail *m, const char *text, const struct mime_part *part, size_t depth)
{
    struct strbuf raw = {0}, value = {0}, *title = &m->input->reading->title;
    mime_header(part, "Subject", &raw);
    mime_decode_words(strbuf_text(&raw), raw.length, &value);
    size_t source = source_of(m, text);
    if (source != NOWHERE)
        prose_origin(&m->prose, source);
    prose_heading(&m->prose, depth ? 2 : 1);
    prose_text(&m->prose, strbuf_text(&value), value.length);
    if (value.length == 0)
        prose_puts(&m->prose, "(no subject)");
    prose_heading_end(&m->prose);
    if (depth == 0 && m->input->reading->kind == KIND_MAIL)
        strbuf_append(title, strbuf_text(&value), value.length);
    strbuf_fini(&raw);
    strbuf_fini(&value);
}

static ll_status put_message(struct mail *m, const char *text, size_t length, size_t depth)
{
    static const char *const shown[] = {"From", "To", "Cc", "Date"};
    struct mime_part part;
    struct reading_mark lines = {.kind = MARK_LINES};
    LL_TRY(input_check(m->input));
    mime_split(text, length, &part);
    put_subject(m, text, &part, depth);
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++)
        put_header(m, &part, shown[i], &lines);
    if (lines.last && !reading_mark(m->input->reading, &lines))
        return error_nomem(m->input->error, "mail", sizeof lines);
    prose_block(&m->prose);
    return put_body(m, &part, depth);
}

static ll_status finish(struct mail *m)
{
    struct reading *reading = m->input->reading;
    if (m->attachments)
        notes_add(reading->notes, "%s: %zu attachment%s named, not read", reading->name, m->attachments,
                  m->attachments == 1 ? " is" : "s are");
    if (m->hidden)
        notes_add(reading->notes, "%s: %zu hidden element%s left out", reading->name, m->hidden,
                  m->hidden == 1 ? "" : "s");
    snprintf(reading->encoding, sizeof reading->encoding, "UTF-8");
    return prose_finish(&m->prose, m->input->error);
}

ll_status read_mail(struct input *input)
{
    struct mail m = {.input = input, .prose = {.reading = input->reading}};
    LL_TRY(put_message(&m, input->bytes, input->length, 0));
    return finish(&m);
}

/* Messages of an mbox begin with "From " after an empty line. */
static size_t message_end(const char *text, size_t length, size_t at)
{
    static const char mark[] = "\nFrom ";
    for (size_t i = at; i + 6 < length; i++) {
        const char *newline = memchr(text + i, '\n', length - i);
        if (!newline)
            return length;
        i = (size_t)(newline - text);
        bool empty = i > 0 && (text[i - 1] == '\n' || (i > 1 && text[i - 1] == '\r' && text[i - 2] == '\n'));
        if (empty && i + 6 <= length && memcmp(text + i, mark, 6) == 0)
            return i + 1;
    }
    return length;
}

ll_status read_mbox(struct input *input)
{
    struct mail m = {.input = input, .prose = {.reading = input->reading}};
    const char *text = input->bytes;
    for (size_t at = 0, end; at < input->length; at = end) {
        const char *newline = memchr(text + at, '\n', input->length - at);
        size_t first = newline ? (size_t)(newline - text) + 1 : input->length;
        end = message_end(text, input->length, first);
        LL_TRY(allowance_enter(input->allowance, input->reading->name, input->error));
        LL_TRY(put_message(&m, text + first, end - first, 0));
    }
    return finish(&m);
}
