/* Frames drawn around plain text with asterisks, hashes or bars.
 * SPDX-License-Identifier: Apache-2.0 */
#include "readers/frame.h"

#include <stdbool.h>
#include <string.h>

enum { LEAST_LINES = 3, LEAST_WIDTH = 8 };

/* A line between the blanks around it. */
struct line {
    size_t first, last, end; /* end: of the line itself */
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct line line_at(const char *text, size_t length, size_t at)
{
    const char *newline = memchr(text + at, '\n', length - at);
    struct line line = {.first = at, .end = newline ? (size_t)(newline - text) : length};
    line.last = line.end;
    while (line.first < line.last && is_blank(text[line.first]))
        line.first++;
    while (line.last > line.first && is_blank(text[line.last - 1]))
        line.last--;
    return line;
}

/* "*****", "|-----|": nothing but marks. */
static bool is_rule(const char *text, const struct line *line)
{
    for (size_t i = line->first; i < line->last; i++)
        if (!strchr("*#|+-=_", text[i]))
            return false;
    return true;
}

/* "*  words  *"; the mark, or 0. */
static char mark_of(const char *text, const struct line *line)
{
    char mark = line->last - line->first >= LEAST_WIDTH ? text[line->first] : '\0';
    if (!mark || !strchr("*#|", mark) || text[line->last - 1] != mark)
        return '\0';
    bool rule = is_rule(text, line),
         apart = is_blank(text[line->first + 1]) && is_blank(text[line->last - 2]);
    bool inside = memchr(text + line->first + 1, mark, line->last - line->first - 2) != NULL;
    return rule || (apart && !inside) ? mark : '\0';
}

static void blank_out(char *text, const struct line *line)
{
    if (is_rule(text, line))
        memset(text + line->first, ' ', line->last - line->first);
    text[line->first] = text[line->last - 1] = ' ';
}

/* Where the lines framed like the one at `at` end, and how many they are. Bytes are not columns: beside
 * letters of several bytes a line may look wider than its frame. */
static size_t frame_end(const char *text, size_t length, size_t at, char mark, size_t *ret_lines)
{
    size_t indent = line_at(text, length, at).first - at;
    for (*ret_lines = 0; at < length; ++*ret_lines) {
        struct line line = line_at(text, length, at);
        if (line.first - at != indent || mark_of(text, &line) != mark)
            break;
        at = line.end + (line.end < length);
    }
    return at;
}

void frame_remove(char *text, size_t length)
{
    for (size_t at = 0, next; at < length; at = next) {
        struct line line = line_at(text, length, at);
        char mark = mark_of(text, &line);
        size_t lines = 0;
        next = mark ? frame_end(text, length, at, mark, &lines) : line.end + (line.end < length);
        for (; lines >= LEAST_LINES && at < next; at = line.end + 1) {
            line = line_at(text, length, at);
            blank_out(text, &line);
        }
    }
}
