/* Logs: lines that say the same but for numbers are folded into the first, the last and their count.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lines of a shape seen at most RARE times stay, and of those that warn the first TROUBLE ones of each shape.
 * Errors are never folded for a number that differs: only where all but the time in front is the same. Each
 * line that stays carries its number. Memory: the text and one entry a shape. */
#include "readers/log.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "readers/reader.h"

enum { RARE = 3, TROUBLE = 10, SHAPE_BYTES = 512, WHOLE_LINES = 200, MOST_SHAPES = 1 << 20 };

struct shape {
    uint64_t hash; /* 0: free */
    size_t count, shown, last_line;
};

struct folder {
    const char *text;
    size_t length;
    struct shape *shapes; /* open addressing; NULL: too many different shapes */
    size_t count, capacity;
};

/* ---- lines ----------------------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
    return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

static bool is_word(char c)
{
    return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_' || (unsigned char)c >= 0x80;
}

enum weight { ORDINARY, WARNING, ERROR };

static const struct {
    const char *word;
    enum weight weight;
    bool whole; /* else it also begins longer words: "errors", "failed" */
} grave_words[] = {
    {"error", ERROR, false},     {"fatal", ERROR, false},    {"panic", ERROR, false},
    {"critical", ERROR, false},  {"severe", ERROR, true},    {"exception", ERROR, false},
    {"traceback", ERROR, false}, {"segfault", ERROR, false}, {"emerg", ERROR, true},
    {"alert", ERROR, true},      {"crit", ERROR, true},      {"err", ERROR, true},
    {"crash", WARNING, false},   {"warn", WARNING, false},   {"fail", WARNING, false},
    {"denied", WARNING, true},   {"refused", WARNING, true}, {"timeout", WARNING, true},
};

static bool is_grave(const char *text, size_t length, size_t k)
{
    const char *word = grave_words[k].word;
    size_t n = strlen(word);
    return n <= length && strncasecmp(text, word, n) == 0 &&
           (!grave_words[k].whole || n == length || !is_word(text[n]));
}

static enum weight weight_of(const char *line, size_t length)
{
    size_t look = length < 400 ? length : 400;
    enum weight weight = ORDINARY;
    for (size_t i = 0; i < look; i++) {
        char c = (char)(line[i] | 0x20);
        if (c < 'a' || c > 'w' || (i && is_word(line[i - 1])) || !strchr("efpcsatwdr", c))
            continue;
        for (size_t k = 0; k < sizeof grave_words / sizeof grave_words[0] && weight != ERROR; k++)
            if (grave_words[k].word[0] == c && grave_words[k].weight > weight &&
                is_grave(line + i, look - i, k))
                weight = grave_words[k].weight;
    }
    return weight;
}

/* A word that holds a digit, or is long and of hexadecimal letters only, is one "#": times, addresses,
 * identifiers. */
static uint64_t masked_shape(const char *line, size_t length)
{
    char shape[SHAPE_BYTES];
    size_t used = 0;
    for (size_t i = 0; i < length && used < SHAPE_BYTES;) {
        size_t first = i;
        bool digit = false, hex = true;
        while (i < length && is_word(line[i])) {
            digit |= is_digit(line[i]);
            hex &= is_hex(line[i]);
            i++;
        }
        if (i == first) {
            shape[used++] = line[i++];
        } else if (digit || (hex && i - first >= 8)) {
            if (used == 0 || shape[used - 1] != '#')
                shape[used++] = '#';
        } else {
            for (size_t k = first; k < i && used < SHAPE_BYTES; k++)
                shape[used++] = line[k];
        }
    }
    return hash_bytes(shape, used, 7) | 1;
}

static bool is_time_word(const char *word, size_t length)
{
    static const char names[] =
        " jan feb mar apr may jun jul aug sep oct nov dec mon tue wed thu fri sat sun ";
    char padded[6] = {' ', 0};
    size_t digits = 0;
    for (size_t i = 0; i < length; i++)
        digits += is_digit(word[i]);
    if (digits)
        return length - digits <= 1;
    for (size_t i = 0; i < length && i < 3; i++)
        padded[i + 1] = (char)(word[i] | 0x20);
    padded[4] = ' ';
    return length == 3 && strstr(names, padded) != NULL;
}

/* Bytes of date, time and numbers in front of what the line says. */
static size_t stamp_length(const char *line, size_t length)
{
    for (size_t i = 0;;) {
        while (i < length && !is_word(line[i]))
            i++;
        size_t first = i;
        while (i < length && is_word(line[i]))
            i++;
        if (i == first || !is_time_word(line + first, i - first))
            return first;
    }
}

static uint64_t shape_of(const char *line, size_t length, enum weight weight)
{
    if (weight != ERROR)
        return masked_shape(line, length);
    size_t stamp = stamp_length(line, length);
    return hash_bytes(line + stamp, length - stamp, 11) | 1;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static bool grow(struct folder *f)
{
    size_t capacity = f->capacity ? f->capacity * 2 : 1024;
    struct shape *bigger = mem_new(capacity, sizeof *bigger);
    if (!bigger)
        return false;
    for (size_t i = 0; i < f->capacity; i++) {
        size_t at = f->shapes[i].hash & (capacity - 1);
        while (f->shapes[i].hash && bigger[at].hash)
            at = (at + 1) & (capacity - 1);
        if (f->shapes[i].hash)
            bigger[at] = f->shapes[i];
    }
    mem_free(f->shapes);
    f->shapes = bigger;
    f->capacity = capacity;
    return true;
}

/* NULL: there are too many; the line then stays as it is. */
static struct shape *find_shape(struct folder *f, uint64_t hash, bool add)
{
    if (add && f->count * 2 >= f->capacity && f->count < MOST_SHAPES && !grow(f))
        return NULL;
    size_t at = hash & (f->capacity - 1);
    while (f->shapes[at].hash && f->shapes[at].hash != hash)
        at = (at + 1) & (f->capacity - 1);
    if (!f->shapes[at].hash) {
        if (!add || f->count >= MOST_SHAPES)
            return NULL;
        f->shapes[at].hash = hash;
        f->count++;
    }
    return &f->shapes[at];
}

static size_t line_end(const struct folder *f, size_t at)
{
    const char *newline = memchr(f->text + at, '\n', f->length - at);
    return newline ? (size_t)(newline - f->text) : f->length;
}

static ll_status count_shapes(struct input *input, struct folder *f)
{
    size_t number = 1;
    if (!grow(f))
        return error_nomem(input->error, "log", f->length);
    for (size_t at = 0, end; at < f->length; at = end + 1, number++) {
        end = line_end(f, at);
        enum weight weight = weight_of(f->text + at, end - at);
        struct shape *shape = find_shape(f, shape_of(f->text + at, end - at, weight), true);
        if (shape) {
            shape->count++;
            shape->last_line = number;
        }
        if (number % 8192 == 0)
            LL_TRY(input_check(input));
    }
    return LL_OK;
}

/* ---- the folded text ------------------------------------------------------------------------- */

struct writing {
    struct reading *reading;
    size_t folded; /* lines */
    bool failed;
};

static void put_line(struct writing *w, const struct folder *f, size_t number, size_t first, size_t last,
                     size_t count)
{
    struct strbuf *out = &w->reading->text;
    if (count > 1)
        strbuf_printf(out, "[line %zu, first of %zu like it] ", number, count);
    else
        strbuf_printf(out, "[line %zu] ", number);
    w->failed |= !reading_origin(w->reading, out->length, first);
    strbuf_append(out, f->text + first, last - first);
    strbuf_putc(out, '\n');
}

static ll_status write_folded(struct input *input, struct folder *f, struct writing *w)
{
    size_t number = 1;
    for (size_t at = 0, end; at < f->length; at = end + 1, number++) {
        end = line_end(f, at);
        enum weight weight = weight_of(f->text + at, end - at);
        struct shape *shape = find_shape(f, shape_of(f->text + at, end - at, weight), false);
        size_t count = shape ? shape->count : 1;
        size_t most = count <= RARE ? RARE : weight == WARNING ? TROUBLE : 1;
        bool last = shape && shape->last_line == number;
        if (end > at && (!shape || shape->shown < most || last)) {
            bool first_of_many = shape && shape->shown == 0 && count > RARE;
            put_line(w, f, number, at, end, first_of_many ? count : 1);
            if (shape)
                shape->shown++;
        } else {
            w->folded += end > at;
        }
        if (number % 8192 == 0)
            LL_TRY(input_check(input));
        if (w->reading->text.failed || w->failed)
            return error_nomem(input->error, "log", f->length);
    }
    return LL_OK;
}

static ll_status fold(struct input *input, const struct strbuf *text)
{
    struct reading *reading = input->reading;
    struct folder f = {.text = strbuf_text(text), .length = text->length};
    struct writing w = {.reading = reading};
    ll_status status = count_shapes(input, &f);
    if (status == LL_OK)
        status = write_folded(input, &f, &w);
    mem_free(f.shapes);
    if (status == LL_OK && w.folded)
        notes_add(reading->notes,
                  "%s is a log: %zu lines that say the same as others but for numbers were folded; with kind "
                  "text each line is read",
                  reading->name, w.folded);
    return status;
}

ll_status read_log(struct input *input)
{
    struct reading *reading = input->reading;
    struct strbuf text = {0};
    size_t lines = 0;
    LL_TRY(input_decode(input, &text));
    for (size_t i = 0; i < text.length && lines <= WHOLE_LINES; i++)
        lines += text.text[i] == '\n';
    ll_status status = LL_OK;
    if (lines > WHOLE_LINES) {
        status = fold(input, &text);
        if (text.length != input->length)
            reading->origins.count = 0;
    } else {
        reading->text = text;
        text = (struct strbuf){0};
    }
    strbuf_fini(&text);
    struct reading_mark mark = {0, reading->text.length, MARK_LINES, 0, 0, 0};
    if (status == LL_OK && mark.last && !reading_mark(reading, &mark))
        status = error_nomem(input->error, "log", mark.last);
    return status;
}

/* ---- what a log looks like ------------------------------------------------------------------- */

/* hh:mm among the first bytes, or a level in brackets or capitals. */
static bool is_stamped(const char *line, size_t length)
{
    static const char *const levels[] = {"INFO", "WARN", "ERROR", "DEBUG", "TRACE", "FATAL", "NOTICE"};
    size_t look = length < 64 ? length : 64;
    for (size_t i = 0; i + 5 <= look; i++)
        if (is_digit(line[i]) && is_digit(line[i + 1]) && line[i + 2] == ':' && is_digit(line[i + 3]) &&
            is_digit(line[i + 4]))
            return true;
    for (size_t k = 0; k < sizeof levels / sizeof levels[0]; k++)
        for (size_t i = 0, n = strlen(levels[k]); i + n <= look; i++)
            if (memcmp(line + i, levels[k], n) == 0 && (i == 0 || !is_word(line[i - 1])))
                return true;
    return false;
}

bool log_is_plausible(const char *text, size_t length, bool named)
{
    size_t lines = 0, stamped = 0;
    for (size_t at = 0, end; at < length && lines < 200; at = end + 1) {
        const char *newline = memchr(text + at, '\n', length - at);
        end = newline ? (size_t)(newline - text) : length;
        if (end == at || text[at] == ' ' || text[at] == '\t') /* continuation lines */
            continue;
        lines++;
        stamped += is_stamped(text + at, end - at);
    }
    return lines >= (named ? 2 : 8) && stamped * 4 >= lines * 3;
}
