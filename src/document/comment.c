/* What source code says of itself: its comments and documentation strings.
 * SPDX-License-Identifier: Apache-2.0 */
#include "document/comment.h"

#include <string.h>

struct line { /* without its blanks at both ends */
    const char *text;
    size_t length, next; /* next: where the next line begins */
};

static struct line line_at(const char *text, size_t length, size_t at)
{
    const char *newline = memchr(text + at, '\n', length - at);
    size_t end = newline ? (size_t)(newline - text) : length;
    struct line line = {.next = newline ? end + 1 : length};
    while (at < end && (text[at] == ' ' || text[at] == '\t'))
        at++;
    while (end > at && (text[end - 1] == ' ' || text[end - 1] == '\t' || text[end - 1] == '\r'))
        end--;
    line.text = text + at;
    line.length = end - at;
    return line;
}

static bool begins(const struct line *line, const char *mark)
{
    size_t n = strlen(mark);
    return line->length >= n && memcmp(line->text, mark, n) == 0;
}

/* Bytes of the mark of a line that is comment from its beginning: "// ", "# ", "-- ", ";; "; 0: it is none.
 */
static size_t line_mark(const struct line *line)
{
    static const char *const marks[] = {"//", "#", "--", ";;", "'''"};
    for (size_t i = 0; i + 1 < sizeof marks / sizeof marks[0]; i++) {
        size_t n = strlen(marks[i]);
        if (!begins(line, marks[i]))
            continue;
        while (n < line->length && (line->text[n] == marks[i][0] || (i == 0 && line->text[n] == '!')))
            n++;
        return n == line->length || line->text[n] == ' ' || line->text[n] == '\t' ? n : 0; /* no "#include" */
    }
    return 0;
}

/* What closes a block that begins with this line; NULL: none begins. */
static const char *block_close(const struct line *line)
{
    return begins(line, "/*") ? "*/" : begins(line, "\"\"\"") ? "\"\"\"" : begins(line, "'''") ? "'''" : NULL;
}

static bool closes(const struct line *line, size_t from, const char *close)
{
    size_t n = strlen(close);
    for (size_t i = from; i + n <= line->length; i++)
        if (memcmp(line->text + i, close, n) == 0)
            return true;
    return false;
}

bool comment_next(const char *text, size_t length, size_t at, struct comment *ret)
{
    for (struct line line; at < length; at = line.next) {
        line = line_at(text, length, at);
        const char *close = block_close(&line);
        size_t opening = close ? strlen(close) : 0;
        if (!close && !line_mark(&line))
            continue;
        ret->first = at;
        if (!close) {
            while (line.next < length) {
                struct line below = line_at(text, length, line.next);
                if (!line_mark(&below))
                    break;
                line = below;
            }
        }
        while (close && !closes(&line, opening, close) && line.next < length) {
            line = line_at(text, length, line.next);
            opening = 0;
        }
        ret->last = line.next;
        return true;
    }
    return false;
}

/* The words of one line of a comment. */
static struct line bare(struct line line)
{
    static const char *const marks[] = {"/**", "/*", "*/", "\"\"\"", "'''", "*"};
    size_t mark = line_mark(&line);
    for (size_t i = 0; i < sizeof marks / sizeof marks[0] && !mark; i++)
        mark = begins(&line, marks[i]) ? strlen(marks[i]) : 0;
    line.text += mark;
    line.length -= mark;
    static const char *const closers[] = {"*/", "\"\"\"", "'''"};
    for (size_t i = 0; i < sizeof closers / sizeof closers[0]; i++) {
        size_t n = strlen(closers[i]);
        if (line.length >= n && memcmp(line.text + line.length - n, closers[i], n) == 0)
            line.length -= n;
    }
    while (line.length && strchr(" \t*", line.text[line.length - 1]))
        line.length--;
    while (line.length && (*line.text == ' ' || *line.text == '\t')) {
        line.text++;
        line.length--;
    }
    return line;
}

void comment_text(const char *text, const struct comment *comment, struct strbuf *out)
{
    bool blank = false;
    size_t start = out->length;
    for (size_t at = comment->first; at < comment->last;) {
        struct line line = line_at(text, comment->last, at);
        at = line.next;
        line = bare(line);
        if (!line.length || begins(&line, "SPDX-")) {
            blank = out->length > start;
            continue;
        }
        if (out->length > start)
            strbuf_puts(out, blank ? "\n\n" : " ");
        strbuf_append(out, line.text, line.length);
        blank = false;
    }
}
