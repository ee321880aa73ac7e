/* JSON laid out as lines of "name: value" for reading; numbers stay as they are written.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A parser of its own, since a library's numbers come back rounded and of names given twice only one. */
#include "readers/json.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "readers/blob.h"
#include "readers/reader.h"

enum { DEEPEST = 256, INDENT = 2, ORIGIN_EVERY = 64 /* bytes between places kept */ };

struct layout {
    const char *text;
    size_t length, at;
    struct strbuf *out;
    struct reading *origins; /* of what is laid out; NULL: not wanted */
    size_t last_origin;
    bool failed;
    char open[DEEPEST]; /* '{' or '[' */
    size_t depth, most;
};

static void skip_blanks(struct layout *l)
{
    while (l->at < l->length && strchr(" \t\r\n", l->text[l->at]) && l->text[l->at])
        l->at++;
}

static bool take(struct layout *l, char c)
{
    skip_blanks(l);
    if (l->at >= l->length || l->text[l->at] != c)
        return false;
    l->at++;
    return true;
}

/* ---- strings and scalars --------------------------------------------------------------------- */

static bool read_hex(const struct layout *l, size_t at, int32_t *ret)
{
    *ret = 0;
    if (at + 4 > l->length)
        return false;
    for (size_t i = at; i < at + 4; i++) {
        char c = l->text[i];
        int value = c >= '0' && c <= '9'                     ? c - '0'
                    : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                             : -1;
        if (value < 0)
            return false;
        *ret = *ret << 4 | value;
    }
    return true;
}

/* After "\u": surrogates in pairs become one character, lone ones U+FFFD, zero is left out. */
static bool read_unicode(struct layout *l, struct strbuf *out)
{
    int32_t code, low;
    char utf8[4];
    if (!read_hex(l, l->at, &code))
        return false;
    l->at += 4;
    if (code >= 0xD800 && code < 0xDC00 && l->at + 6 <= l->length && l->text[l->at] == '\\' &&
        l->text[l->at + 1] == 'u' && read_hex(l, l->at + 2, &low) && low >= 0xDC00 && low < 0xE000) {
        code = 0x10000 + ((code & 0x3FF) << 10) + (low & 0x3FF);
        l->at += 6;
    }
    if (code)
        strbuf_append(out, utf8, utf8_encode(code, utf8));
    return true;
}

static bool read_escape(struct layout *l, struct strbuf *out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/ \n\n\n\t";
    if (l->at >= l->length)
        return false;
    char c = l->text[l->at++];
    if (c == 'u')
        return read_unicode(l, out);
    const char *found = c ? strchr(from, c) : NULL;
    if (!found)
        return false;
    strbuf_putc(out, to[found - from]);
    return true;
}

static bool read_string(struct layout *l, struct strbuf *out)
{
    if (!take(l, '"'))
        return false;
    while (l->at < l->length) {
        size_t first = l->at;
        while (l->at < l->length && l->text[l->at] != '"' && l->text[l->at] != '\\')
            l->at++;
        strbuf_append(out, l->text + first, l->at - first);
        if (l->at >= l->length)
            return false;
        if (l->text[l->at++] == '"')
            return true;
        if (!read_escape(l, out))
            return false;
    }
    return false;
}

static bool put_string(struct layout *l)
{
    struct strbuf value = {0};
    bool good = read_string(l, &value);
    if (value.length >= BLOB_LEAST)
        blob_fold(strbuf_text(&value), value.length, l->out);
    else
        strbuf_append(l->out, strbuf_text(&value), value.length);
    strbuf_fini(&value);
    return good;
}

static bool put_scalar(struct layout *l)
{
    skip_blanks(l);
    if (l->at < l->length && l->text[l->at] == '"')
        return put_string(l);
    size_t first = l->at;
    while (l->at < l->length && l->text[l->at] &&
           strchr("+-.0123456789abcdefghijklmnopqrstuvwxyzEINT", l->text[l->at]))
        l->at++;
    size_t n = l->at - first;
    const char *word = l->text + first;
    bool number = n && n < 1000 && (word[0] == '-' || (word[0] >= '0' && word[0] <= '9'));
    if (!number && !(n == 4 && memcmp(word, "true", 4) == 0) && !(n == 5 && memcmp(word, "false", 5) == 0) &&
        !(n == 4 && memcmp(word, "null", 4) == 0) && !(n == 3 && memcmp(word, "NaN", 3) == 0))
        return false;
    strbuf_append(l->out, word, n);
    return true;
}

/* ---- values ---------------------------------------------------------------------------------- */

static void indent(struct layout *l, size_t depth)
{
    for (size_t i = 0; i < depth * INDENT && i < 40; i++)
        strbuf_putc(l->out, ' ');
}

/* "name: " of a member, "- " of an element, in front of the next value. */
static bool put_label(struct layout *l)
{
    skip_blanks(l);
    if (l->origins && l->out->length - l->last_origin >= ORIGIN_EVERY) {
        l->failed |= !reading_origin(l->origins, l->out->length, l->at);
        l->last_origin = l->out->length;
    }
    indent(l, l->depth - 1);
    if (l->open[l->depth - 1] == '[') {
        strbuf_putc(l->out, '-');
        return true;
    }
    bool good = put_string(l) && take(l, ':');
    strbuf_putc(l->out, ':');
    return good;
}

/* A value that holds others opens a level; empty ones are closed at once. */
static bool put_value(struct layout *l)
{
    skip_blanks(l);
    char c = l->at < l->length ? l->text[l->at] : '\0';
    if (c != '{' && c != '[') {
        if (l->depth)
            strbuf_putc(l->out, ' ');
        bool good = put_scalar(l);
        strbuf_putc(l->out, '\n');
        return good;
    }
    l->at++;
    if (take(l, c == '{' ? '}' : ']')) {
        strbuf_puts(l->out, l->depth ? (c == '{' ? " {}\n" : " []\n") : (c == '{' ? "{}\n" : "[]\n"));
        return true;
    }
    if (l->depth)
        strbuf_putc(l->out, '\n');
    if (l->depth >= l->most)
        return false;
    l->open[l->depth++] = c;
    return put_label(l);
}

bool json_lay_out(const char *text, size_t length, size_t depth, size_t *at, struct strbuf *out,
                  struct reading *origins)
{
    struct layout l = {.text = text, .length = length, .at = *at, .out = out, .origins = origins};
    l.last_origin = out->length;
    l.most = depth < DEEPEST ? depth : DEEPEST;
    size_t before, most = out->length + 16 * length + 65536;
    do {
        before = l.depth;
        if (!put_value(&l) || l.failed)
            return false;
        if (out->length > most) /* a file of brackets becomes one of blanks */
            return false;
        if (l.depth > before)
            continue;
        while (l.depth) {
            if (take(&l, ',')) {
                if (!put_label(&l))
                    return false;
                break;
            }
            if (!take(&l, l.open[l.depth - 1] == '{' ? '}' : ']'))
                return false;
            l.depth--;
        }
    } while (l.depth);
    *at = l.at;
    return true;
}

bool json_is_plausible(const char *text, size_t length, bool lines)
{
    size_t at = strspn(text, " \t\r\n"), whole = 0, seen = 0;
    if (!lines) {
        size_t next = at + 1 < length ? at + 1 + strspn(text + at + 1, " \t\r\n") : length;
        return at < length && next < length &&
               ((text[at] == '{' && (text[next] == '"' || text[next] == '}')) ||
                (text[at] == '[' && text[next] && strchr("{[\"]-0123456789tfn", text[next])));
    }
    while (at < length && seen < 20) {
        size_t end = at + strcspn(text + at, "\n");
        size_t last = end;
        while (last > at && strchr(" \t\r", text[last - 1]))
            last--;
        bool cut = end >= length; /* the look ends inside of this line */
        if (last > at && !cut) {
            whole += text[at] == '{' && text[last - 1] == '}';
            seen++;
        }
        at = end + 1;
    }
    return seen >= 2 && whole == seen;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* LL_NOT_FOUND: it is no JSON. */
static ll_status lay_out_all(struct input *input, const struct strbuf *text, struct strbuf *out)
{
    size_t at = 0, values = 0;
    const char *all = strbuf_text(text);
    struct reading *origins = text->length == input->length ? input->reading : NULL;
    while (at < text->length) {
        at += strspn(all + at, " \t\r\n");
        if (at >= text->length)
            break;
        if (values++)
            strbuf_putc(out, '\n');
        if (values % 1024 == 0)
            LL_TRY(input_check(input));
        if (origins && !reading_origin(origins, out->length, at))
            return error_nomem(input->error, "json", out->length);
        if (!json_lay_out(all, text->length, 4 * input->allowance->limits.depth, &at, out, origins) ||
            (values > 1 && input->reading->kind != KIND_JSONL))
            return LL_NOT_FOUND;
    }
    return values > 0 ? LL_OK : LL_NOT_FOUND;
}

ll_status read_json(struct input *input)
{
    struct reading *reading = input->reading;
    struct strbuf text = {0};
    LL_TRY(input_decode(input, &text));
    ll_status status = lay_out_all(input, &text, &reading->text);
    if (status == LL_NOT_FOUND) {
        status = LL_OK;
        reading->origins.count = 0;
        notes_add(reading->notes, "%s is not whole JSON, or nested too deeply, and was read as text",
                  reading->name);
        strbuf_fini(&reading->text);
        reading->text = text;
        text = (struct strbuf){0};
    }
    strbuf_fini(&text);
    LL_TRY(status);
    struct reading_mark mark = {0, reading->text.length, MARK_LINES, 0, 0, 0};
    if (reading->text.failed || (mark.last && !reading_mark(reading, &mark)))
        return error_nomem(input->error, "json", reading->text.length);
    return LL_OK;
}
