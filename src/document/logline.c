/* Lines of logs: how much each one tells, which of them say the same, and what the whole log holds.
 * SPDX-License-Identifier: Apache-2.0 */
#include "document/logline.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/hash.h"
#include "base/mem.h"

enum { SHAPE_BYTES = 512, LOOK = 400 /* bytes of a line in which its level stands */ };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_' || (unsigned char)c >= 0x80;
}

/* ---- one line --------------------------------------------------------------------------------- */

/* A word that holds a digit is "#": times, addresses, identifiers. */
static uint64_t shape_of(const char *line, size_t length)
{
    char shape[SHAPE_BYTES];
    size_t used = 0;
    for (size_t i = 0; i < length && used < SHAPE_BYTES;) {
        size_t first = i;
        bool digit = false;
        while (i < length && is_word(line[i]))
            digit |= is_digit(line[i++]);
        if (i == first) {
            shape[used++] = line[i++];
        } else if (digit) {
            if (used == 0 || shape[used - 1] != '#')
                shape[used++] = '#';
        } else {
            for (size_t k = first; k < i && used < SHAPE_BYTES; k++)
                shape[used++] = line[k];
        }
    }
    return hash_bytes(shape, used, 11) | 1;
}

static bool holds_word(const char *line, size_t length, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= length; i++)
        if ((line[i] | 0x20) == word[0] && strncasecmp(line + i, word, n) == 0 &&
            (i == 0 || !is_word(line[i - 1])))
            return true;
    return false;
}

static enum severity severity_of(const char *line, size_t length)
{
    static const struct {
        const char *word;
        enum severity severity;
    } words[] = {
        {"fatal", SEVERITY_FATAL},         {"panic", SEVERITY_FATAL},       {"critical", SEVERITY_FATAL},
        {"emerg", SEVERITY_FATAL},         {"segfault", SEVERITY_FATAL},    {"crash", SEVERITY_FATAL},
        {"out of memory", SEVERITY_FATAL}, {"error", SEVERITY_ERROR},       {"exception", SEVERITY_ERROR},
        {"traceback", SEVERITY_ERROR},     {"severe", SEVERITY_ERROR},      {"fail", SEVERITY_ERROR},
        {"warn", SEVERITY_WARNING},        {"denied", SEVERITY_WARNING},    {"refused", SEVERITY_WARNING},
        {"timeout", SEVERITY_WARNING},     {"timed out", SEVERITY_WARNING}, {"invalid", SEVERITY_WARNING}};
    static const char *const calm[] = {"info", "debug", "trace", "notice"};
    size_t look = length < LOOK ? length : LOOK;
    enum severity severity = SEVERITY_NONE;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (words[i].severity > severity && holds_word(line, look, words[i].word))
            severity = words[i].severity;
    /* "INFO retry after timeout", "0 errors": the line's own level knows better. */
    for (size_t i = 0; i < sizeof calm / sizeof calm[0] && severity; i++)
        if (holds_word(line, look < 60 ? look : 60, calm[i]))
            severity = severity == SEVERITY_FATAL ? SEVERITY_WARNING : SEVERITY_NONE;
    return severity;
}

static size_t read_count(const char *line, size_t length, size_t at, size_t *ret)
{
    *ret = 0;
    while (at < length && is_digit(line[at]) && *ret < SIZE_MAX / 100)
        *ret = *ret * 10 + (size_t)(line[at++] - '0');
    return at;
}

void logline_read(const char *line, size_t length, struct logline *ret)
{
    static const char opening[] = "[line ", first_of[] = ", first of ", like[] = " like it] ";
    *ret = (struct logline){0};
    size_t at = 0;
    if (length > 8 && memcmp(line, opening, 6) == 0) {
        at = read_count(line, length, 6, &ret->number);
        if (at + 11 < length && memcmp(line + at, first_of, 11) == 0) {
            at = read_count(line, length, at + 11, &ret->count);
            at = at + 10 <= length && memcmp(line + at, like, 10) == 0 ? at + 10 : 0;
        } else {
            at = at + 2 <= length && memcmp(line + at, "] ", 2) == 0 ? at + 2 : 0;
        }
        if (!at)
            ret->number = ret->count = 0;
    }
    ret->text = at;
    ret->severity = severity_of(line + at, length - at);
    ret->shape = shape_of(line + at, length - at);
}

double logline_score(const struct logline *line)
{
    static const double of_severity[] = {1, 3, 9, 12};
    double score = of_severity[line->severity];
    if (line->count) /* what a log is full of tells what it is of */
        score *= 1.0 + 0.15 * log((double)line->count);
    return score;
}

/* ---- the whole log ---------------------------------------------------------------------------- */

struct kind_of_line {
    uint64_t shape; /* 0: free */
    size_t count;
    enum severity severity;
    bool told; /* the reader has counted it */
};

struct census {
    struct kind_of_line *slots;
    size_t count, capacity;
};

static struct kind_of_line *slot_of(struct kind_of_line *slots, size_t capacity, uint64_t shape)
{
    size_t at = shape & (capacity - 1);
    while (slots[at].shape && slots[at].shape != shape)
        at = (at + 1) & (capacity - 1);
    return &slots[at];
}

static bool grow(struct census *c)
{
    size_t capacity = c->capacity ? c->capacity * 2 : 256;
    struct kind_of_line *slots = mem_new(capacity, sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; i < c->capacity; i++)
        if (c->slots[i].shape)
            *slot_of(slots, capacity, c->slots[i].shape) = c->slots[i];
    mem_free(c->slots);
    c->slots = slots;
    c->capacity = capacity;
    return true;
}

static bool count_line(struct census *c, const struct logline *line)
{
    if (c->count * 2 >= c->capacity && !grow(c))
        return false;
    struct kind_of_line *kind = slot_of(c->slots, c->capacity, line->shape);
    c->count += kind->shape == 0;
    kind->shape = line->shape;
    kind->severity = line->severity;
    if (line->count)
        *kind = (struct kind_of_line){line->shape, line->count, line->severity, true};
    else
        kind->count += !kind->told;
    return true;
}

static void put_number(struct strbuf *out, size_t number)
{
    if (number >= 1000) {
        put_number(out, number / 1000);
        strbuf_printf(out, ",%03zu", number % 1000);
    } else {
        strbuf_printf(out, "%zu", number);
    }
}

static void put_counted(struct strbuf *out, size_t number, const char *one, const char *many)
{
    put_number(out, number);
    strbuf_printf(out, " %s", number == 1 ? one : many);
}

static void put_census(const struct census *c, struct strbuf *out)
{
    size_t lines = 0, most = 0, of[SEVERITY_FATAL + 1] = {0};
    for (size_t i = 0; i < c->capacity; i++) {
        const struct kind_of_line *kind = &c->slots[i];
        if (!kind->shape)
            continue;
        lines += kind->count;
        of[kind->severity] += kind->count;
        most = kind->count > most ? kind->count : most;
    }
    put_counted(out, lines, "line", "lines");
    strbuf_puts(out, ": ");
    if (of[SEVERITY_FATAL] + of[SEVERITY_ERROR] + of[SEVERITY_WARNING] == 0)
        strbuf_puts(out, "none speaks of trouble");
    const char *between = "";
    static const char *const one[] = {"", "warning", "error", "fatal"}, *const many[] = {"", "warnings",
                                                                                         "errors", "fatal"};
    for (int s = SEVERITY_FATAL; s > SEVERITY_NONE; s--)
        if (of[s]) {
            strbuf_puts(out, between);
            put_counted(out, of[s], one[s], many[s]);
            between = ", ";
        }
    strbuf_puts(out, "; ");
    put_counted(out, c->count, "kind of line", "kinds of lines");
    if (most > 1) {
        strbuf_puts(out, ", the commonest ");
        put_counted(out, most, "time", "times");
    }
    strbuf_puts(out, ".");
}

bool logline_describe(const struct ll_document *d, const struct doc_file *file, struct strbuf *out)
{
    struct census census = {0};
    bool room = true;
    for (size_t i = document_sentence(d, file->first);
         room && i < d->sentence_count && d->sentences[i].first < file->last; i++) {
        const struct doc_sentence *s = &d->sentences[i];
        struct logline line;
        logline_read(d->text.text + s->first, s->last - s->first, &line);
        room = count_line(&census, &line);
    }
    if (room)
        put_census(&census, out);
    mem_free(census.slots);
    return room && !out->failed;
}
