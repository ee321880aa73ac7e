/* Mail headers and transfer encodings: unfolded, decoded, split.
 * SPDX-License-Identifier: Apache-2.0 */
#include "readers/mime.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/base64.h"
#include "base/utf8.h"
#include "readers/encoding.h"

static size_t line_end(const char *text, size_t length, size_t at)
{
    const char *newline = at < length ? memchr(text + at, '\n', length - at) : NULL;
    return newline ? (size_t)(newline - text) : length;
}

void mime_split(const char *text, size_t length, struct mime_part *ret)
{
    size_t at = 0;
    while (at < length) {
        size_t end = line_end(text, length, at);
        if (end == at || (end == at + 1 && text[at] == '\r'))
            break;
        at = end + 1;
    }
    at = at < length ? at : length;
    size_t body = at < length ? line_end(text, length, at) + 1 : length;
    body = body < length ? body : length;
    *ret = (struct mime_part){text, text + body, at, length - body};
}

/* ---- headers --------------------------------------------------------------------------------- */

bool mime_header(const struct mime_part *part, const char *name, struct strbuf *out)
{
    size_t n = strlen(name), length = part->head_length;
    const char *head = part->head;
    for (size_t at = 0, end; at < length; at = end + 1) {
        end = line_end(head, length, at);
        if (end - at <= n || head[at + n] != ':' || strncasecmp(head + at, name, n) != 0)
            continue;
        at += n + 1;
        for (;;) {
            while (at < end && (head[at] == ' ' || head[at] == '\t'))
                at++;
            size_t last = end;
            while (last > at && (head[last - 1] == '\r' || head[last - 1] == ' '))
                last--;
            strbuf_append(out, head + at, last - at);
            at = end + 1;
            if (at >= length || (head[at] != ' ' && head[at] != '\t'))
                return true;
            strbuf_putc(out, ' ');
            end = line_end(head, length, at);
        }
    }
    return false;
}

bool mime_parameter(const char *value, const char *name, char *ret, size_t cap)
{
    size_t n = strlen(name);
    for (const char *at = strchr(value, ';'); at; at = strchr(at, ';')) {
        at += 1 + strspn(at + 1, " \t");
        if (strncasecmp(at, name, n) != 0)
            continue;
        bool extended = at[n] == '*';
        const char *equal = at + n + strcspn(at + n, "=;");
        if (*equal != '=' || (!extended && equal != at + n + strspn(at + n, " \t")))
            continue;
        const char *from = equal + 1 + strspn(equal + 1, " \t");
        size_t length = *from == '"' ? strcspn(++from, "\"") : strcspn(from, "; \t\r\n");
        if (extended && memchr(from, '\'', length)) { /* charset'language'value */
            const char *quote = strchr(from, '\'');
            const char *second = strchr(quote + 1, '\'');
            if (second && second < from + length) {
                length -= (size_t)(second + 1 - from);
                from = second + 1;
            }
        }
        snprintf(ret, cap, "%.*s", (int)(length < cap ? length : cap - 1), from);
        return ret[0] != '\0';
    }
    return false;
}

/* ---- transfer encodings ---------------------------------------------------------------------- */

static int value_of_hex(char c)
{
    return c >= '0' && c <= '9'                     ? c - '0'
           : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                    : -1;
}

/* words: the form inside of headers, where "_" is a blank. */
static void decode_quoted(const char *text, size_t length, bool words, struct strbuf *out)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '=' && i + 2 < length && value_of_hex(text[i + 1]) >= 0 &&
            value_of_hex(text[i + 2]) >= 0) {
            strbuf_putc(out, (char)(value_of_hex(text[i + 1]) << 4 | value_of_hex(text[i + 2])));
            i += 2;
        } else if (text[i] == '=' && i + 1 < length && (text[i + 1] == '\n' || text[i + 1] == '\r')) {
            i += text[i + 1] == '\r' && i + 2 < length && text[i + 2] == '\n' ? 2 : 1;
        } else {
            strbuf_putc(out, words && text[i] == '_' ? ' ' : text[i]);
        }
    }
}

void mime_decode_body(const char *encoding, const char *text, size_t length, struct strbuf *out)
{
    if (strcasecmp(encoding, "base64") == 0)
        base64_decode(text, length, out);
    else if (strcasecmp(encoding, "quoted-printable") == 0)
        decode_quoted(text, length, false, out);
    else
        strbuf_append(out, text, length);
}

/* ---- encoded words --------------------------------------------------------------------------- */

static void put_any(const char *bytes, size_t length, const char *charset, struct strbuf *out)
{
    struct notes quiet = {0};
    char encoding[40];
    if (length && encoding_decode(bytes, length, charset, "", NULL, out, encoding, &quiet, NULL) != LL_OK)
        strbuf_puts(out, "\xEF\xBF\xBD");
    notes_fini(&quiet);
}

/* One "=?charset?Q?text?=" at the beginning of text: its length, 0 when it is none. */
static size_t put_word(const char *text, size_t length, struct strbuf *out)
{
    char charset[40];
    if (length < 8 || text[0] != '=' || text[1] != '?')
        return 0;
    const char *second = memchr(text + 2, '?', length - 2);
    if (!second || (size_t)(second - text) + 3 >= length || second[2] != '?')
        return 0;
    const char *from = second + 3, *end = from;
    while (end + 1 < text + length && !(end[0] == '?' && end[1] == '='))
        end++;
    size_t name = strcspn(text + 2, "?*");
    if (end + 1 >= text + length || name == 0 || name >= sizeof charset)
        return 0;
    snprintf(charset, sizeof charset, "%.*s", (int)name, text + 2);
    struct strbuf bytes = {0};
    if ((second[1] | 0x20) == 'b')
        base64_decode(from, (size_t)(end - from), &bytes);
    else
        decode_quoted(from, (size_t)(end - from), true, &bytes);
    put_any(strbuf_text(&bytes), bytes.length, encoding_is_known(charset) ? charset : NULL, out);
    strbuf_fini(&bytes);
    return (size_t)(end + 2 - text);
}

void mime_decode_words(const char *text, size_t length, struct strbuf *out)
{
    bool after_word = false;
    for (size_t at = 0; at < length;) {
        size_t blanks = 0;
        while (at + blanks < length && (text[at + blanks] == ' ' || text[at + blanks] == '\t'))
            blanks++;
        size_t before = out->length;
        if (blanks && !after_word)
            strbuf_putc(out, ' ');
        size_t word = put_word(text + at + blanks, length - at - blanks, out);
        if (word) { /* blanks between two encoded words are not part of the text */
            at += blanks + word;
            after_word = true;
            continue;
        }
        strbuf_truncate(out, before);
        if (blanks)
            strbuf_putc(out, ' ');
        at += blanks;
        size_t start = at;
        while (at < length && text[at] != ' ' && text[at] != '\t' &&
               (at == start || text[at] != '=' || at + 1 >= length || text[at + 1] != '?'))
            at++;
        if (utf8_valid(text + start, at - start))
            strbuf_append(out, text + start, at - start);
        else
            put_any(text + start, at - start, NULL, out);
        after_word = false;
    }
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* Where the next boundary line begins, from `at` on. *ret_after: the line behind it; *ret_last: "--" follows.
 */
static size_t find_boundary(const struct mime_part *whole, const char *boundary, size_t at, size_t *ret_after,
                            bool *ret_last)
{
    size_t n = strlen(boundary), length = whole->body_length;
    const char *body = whole->body;
    for (size_t end; at < length; at = end + 1) {
        end = line_end(body, length, at);
        if (end - at < n + 2 || body[at] != '-' || body[at + 1] != '-' ||
            memcmp(body + at + 2, boundary, n) != 0)
            continue;
        *ret_last = end - at >= n + 4 && body[at + n + 2] == '-' && body[at + n + 3] == '-';
        *ret_after = end + 1 < length ? end + 1 : length;
        return at;
    }
    *ret_last = true;
    *ret_after = length;
    return length;
}

bool mime_next(const struct mime_part *whole, const char *boundary, size_t *at, const char **ret,
               size_t *ret_length)
{
    size_t after;
    bool last;
    if (*at == 0) {
        find_boundary(whole, boundary, 0, &after, &last);
        if (last)
            return false;
        *at = after;
    }
    if (*at >= whole->body_length)
        return false;
    size_t end = find_boundary(whole, boundary, *at, &after, &last);
    *ret = whole->body + *at;
    *ret_length = end - *at;
    while (*ret_length && ((*ret)[*ret_length - 1] == '\n' || (*ret)[*ret_length - 1] == '\r') &&
           end < whole->body_length)
        --*ret_length;
    *at = last ? whole->body_length : after;
    return true;
}
