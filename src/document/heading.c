/* Which lines are headings: Markdown marks, "CHAPTER n", numbers, capitals, centred titles.
 * SPDX-License-Identifier: Apache-2.0 */
#include "document/heading.h"

#include <string.h>

#include "base/utf8.h"

enum { LONGEST = 90, LONGEST_CAPITALS = 70, CENTRED_INDENT = 12 };

struct line { /* trimmed */
    const char *text;
    size_t first, last;
};

static struct line trim(const char *text, size_t length)
{
    struct line line = {text, 0, length};
    while (line.first < line.last && (text[line.first] == ' ' || text[line.first] == '\t'))
        line.first++;
    while (line.last > line.first && (text[line.last - 1] == ' ' || text[line.last - 1] == '\t'))
        line.last--;
    return line;
}

static bool upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

bool heading_atx(const char *text, size_t length, struct heading *ret)
{
    struct line line = trim(text, length);
    size_t hashes = 0;
    while (line.first + hashes < line.last && text[line.first + hashes] == '#')
        hashes++;
    if (line.first > 3 || hashes == 0 || hashes > 6 || line.first + hashes >= line.last ||
        text[line.first + hashes] != ' ')
        return false;
    size_t first = line.first + hashes, last = line.last;
    while (last > first && text[last - 1] == '#')
        last--;
    struct line title = trim(text + first, last - first);
    ret->rank = HEADING_MARKDOWN + (int)hashes - 1;
    ret->first = first + title.first;
    ret->last = first + title.last;
    ret->title_like = hashes == 1;
    return ret->last > ret->first;
}

bool heading_underline(const char *text, size_t length, size_t title_length, int *ret_level)
{
    struct line line = trim(text, length);
    if (line.last - line.first < 3 ||
        (text[line.first] != '=' && text[line.first] != '-' && text[line.first] != '~'))
        return false;
    for (size_t i = line.first; i < line.last; i++)
        if (text[i] != text[line.first])
            return false;
    *ret_level = text[line.first] == '=' ? 1 : 2;
    size_t under = line.last - line.first;
    return title_length > 0 && title_length <= LONGEST && under * 2 >= title_length &&
           under <= title_length * 2 + 8;
}

/* ---- kinds of plain headings ----------------------------------------------------------------- */

/* Contents lists lead to their page numbers with dots or wide gaps. */
static bool is_contents_line(const struct line *line)
{
    size_t dots = 0;
    for (size_t i = line->first; i + 1 < line->last; i++)
        dots += line->text[i] == '.' && (line->text[i + 1] == '.' || line->text[i + 1] == ' ') &&
                i > line->first && (line->text[i - 1] == '.' || line->text[i - 1] == ' ');
    return dots >= 2;
}

static bool word_equals(const char *word, size_t length, const char *lower_name)
{
    if (length != strlen(lower_name))
        return false;
    for (size_t i = 0; i < length; i++)
        if ((word[i] | 0x20) != lower_name[i])
            return false;
    return upper(word[0]);
}

static bool is_numeral(const char *word, size_t length)
{
    static const char *const names[] = {"one",   "two",    "three", "four",   "five",   "six",
                                        "seven", "eight",  "nine",  "ten",    "eleven", "twelve",
                                        "first", "second", "third", "fourth", "fifth",  "last"};
    size_t digits = 0, romans = 0;
    while (length && strchr(".:,-", word[length - 1]))
        length--;
    for (size_t i = 0; i < length; i++) {
        digits += digit(word[i]) || word[i] == '.';
        romans += strchr("IVXLCDM", word[i]) != NULL;
    }
    if (length && (digits == length || romans == length || (length == 1 && upper(word[0]))))
        return true;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (word_equals(word, length, names[i]))
            return true;
    return false;
}

static bool is_chapter(const struct line *line, int *ret_rank)
{
    static const struct {
        const char *name;
        int rank;
    } words[] = {
        {"part", HEADING_PART},        {"book", HEADING_PART},           {"volume", HEADING_PART},
        {"chapter", HEADING_CHAPTER},  {"appendix", HEADING_CHAPTER},    {"kapitel", HEADING_CHAPTER},
        {"chapitre", HEADING_CHAPTER}, {"article", HEADING_CHAPTER + 1}, {"section", HEADING_CHAPTER + 2},
        {"act", HEADING_CHAPTER},      {"scene", HEADING_CHAPTER + 1},   {"canto", HEADING_CHAPTER},
        {"stave", HEADING_CHAPTER},    {"letter", HEADING_CHAPTER},
    };
    const char *text = line->text + line->first;
    size_t length = line->last - line->first, word = 0;
    while (word < length && text[word] != ' ')
        word++;
    size_t next = word;
    while (next < length && text[next] == ' ')
        next++;
    size_t end = next;
    while (end < length && text[end] != ' ')
        end++;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (word_equals(text, word, words[i].name) && end > next && is_numeral(text + next, end - next)) {
            *ret_rank = words[i].rank;
            while (end < length && text[end] == ' ')
                end++;
            if (end < length && is_numeral(text + end, length - end))
                return false; /* "Appendix A A.1": columns of a contents list */
            char last = text[length - 1];
            return end == length || (last != ',' && last != ';' && (last != '.' || length < 50));
        }
    return false;
}

static bool is_small_word(const char *word, size_t length)
{
    static const char small[] =
        " about above after along among being below between their there these those under "
        "until where which while within without your ";
    char padded[12];
    if (length <= 4)
        return true;
    if (length > 8)
        return false;
    padded[0] = ' ';
    memcpy(padded + 1, word, length);
    padded[length + 1] = ' ';
    padded[length + 2] = '\0';
    return strstr(small, padded) != NULL;
}

/* Every word of five letters or more, but for a few, begins with a capital, a digit or a mark. */
static bool is_title_case(const char *text, size_t length, size_t *ret_words)
{
    size_t words = 0;
    for (size_t at = 0; at < length;) {
        size_t end = at;
        while (end < length && text[end] != ' ')
            end++;
        if (end > at) {
            words++;
            if (lower(text[at]) && !is_small_word(text + at, end - at))
                return false;
        }
        at = end + 1;
    }
    *ret_words = words;
    return words > 0;
}

/* "3.2.1 Title", "4. Title", "A.1 Title", "IV. Title": depth is the count of parts. */
static bool is_numbered(const struct line *line, int *ret_depth, size_t *ret_title)
{
    const char *text = line->text;
    size_t at = line->first;
    int parts = 0;
    bool dot = false;
    while (at < line->last && parts < 6) {
        size_t start = at;
        if (parts == 0 && upper(text[at]) && at + 1 < line->last && text[at + 1] == '.')
            at++;
        while (at < line->last && digit(text[at]) && at - start < 3)
            at++;
        if (at == start)
            break;
        parts++;
        dot = at < line->last && text[at] == '.';
        at += dot;
        if (!dot)
            break;
    }
    size_t gap = at;
    while (at < line->last && text[at] == ' ')
        at++;
    *ret_depth = parts;
    *ret_title = at;
    return parts > 0 && at > gap && at < line->last && (dot || parts > 1 || line->first == 0);
}

static bool is_numbered_heading(const struct line *line, struct heading *ret)
{
    int depth;
    size_t title, words;
    if (!is_numbered(line, &depth, &title))
        return false;
    const char *text = line->text;
    char begin = text[title], end = text[line->last - 1];
    if (!upper(begin) && begin != '"' && begin != '\'' && (unsigned char)begin < 0x80)
        return false;
    size_t length = line->last - title;
    bool titled = is_title_case(text + title, length, &words);
    if (strchr(",;:!", end) || (end == '?' && depth < 2) || (end == '.' && !(titled && words <= 10)) ||
        (!titled && length > 60))
        return false;
    *ret = (struct heading){HEADING_NUMBERED + depth, line->first, line->last, false};
    return true;
}

static bool is_capitals(const struct line *line, struct heading *ret)
{
    size_t letters = 0, others = 0, words = 1;
    bool code = false;
    for (size_t i = line->first; i < line->last; i++) {
        if (lower(line->text[i]) || (unsigned char)line->text[i] >= 0x80)
            return false;
        letters += upper(line->text[i]);
        words += line->text[i] == ' ' && line->text[i - 1] != ' ';
        others += !upper(line->text[i]) && line->text[i] != ' ';
        code |= line->text[i] != '\0' && strchr("_[]{}=<>$%\\", line->text[i]) != NULL;
    }
    char end = line->text[line->last - 1];
    if (code || letters < 4 || others * 3 > letters || line->last - line->first > LONGEST_CAPITALS ||
        words > 10 || strchr(".,;!?|", end))
        return false;
    *ret = (struct heading){HEADING_CAPITALS, line->first, line->last, true};
    return true;
}

static bool is_centred(const struct line *line, struct heading *ret)
{
    size_t words, length = line->last - line->first;
    if (line->first < CENTRED_INDENT || length > 60 || strchr(".,;:!?)]", line->text[line->last - 1]) ||
        !upper(line->text[line->first]) || !is_title_case(line->text + line->first, length, &words) ||
        words > 10)
        return false;
    *ret = (struct heading){HEADING_CAPITALS, line->first, line->last, true};
    return true;
}

static bool is_chapter_heading(const struct line *line, struct heading *ret)
{
    int rank;
    if (!is_chapter(line, &rank))
        return false;
    *ret = (struct heading){rank, line->first, line->last, false};
    return true;
}

static bool is_candidate(const struct line *line)
{
    return line->last > line->first + 2 && line->last - line->first <= LONGEST && !is_contents_line(line);
}

bool heading_numbered(const char *text, size_t length, struct heading *ret)
{
    struct line line = trim(text, length);
    return is_candidate(&line) && is_numbered_heading(&line, ret);
}

bool heading_alone(const char *text, size_t length, struct heading *ret)
{
    struct line line = trim(text, length);
    return is_candidate(&line) && (is_chapter_heading(&line, ret) || is_numbered_heading(&line, ret) ||
                                   is_capitals(&line, ret) || is_centred(&line, ret));
}

bool heading_opening(const char *text, size_t length, const char *next, size_t next_length,
                     struct heading *ret)
{
    struct line line = trim(text, length), below = trim(next, next_length);
    struct heading other;
    if (!is_candidate(&line))
        return false;
    if (is_capitals(&line, ret) || is_chapter_heading(&line, ret))
        return true;
    /* A list item goes on in lower case or is followed by the next item; a heading is not. */
    return is_numbered_heading(&line, ret) && text[line.last - 1] != '.' && below.last > below.first &&
           !lower(next[below.first]) && (!is_numbered_heading(&below, &other) || other.rank > ret->rank);
}
