/* Where sentences end.
 * SPDX-License-Identifier: Apache-2.0 */
#include "document/sentence.h"

#include <string.h>
#include <utf8proc.h>

#include "base/utf8.h"

enum { LOOK_BACK = 256 /* bytes searched for a character border */ };

static const char abbreviations[] = " mr mrs ms dr prof st sr jr vs cf eg ie e.g i.e al fig figs eq eqs sec "
                                    "secs ch chap vol vols pp no nos inc ltd "
                                    "co corp gen col capt lt sgt rev hon gov sen rep pres messrs mme mlle "
                                    "jan feb mar apr jun jul aug sep sept oct nov "
                                    "dec approx dept est ed eds ph.d m.d b.a m.a a.m p.m u.s u.k art arts "
                                    "para paras app ref refs cit ibid op viz "
                                    "bzw usw z.b d.h nr abb bd hrsg ca evtl ggf inkl mme m. ";

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0x80;
}

/* Marks that end a sentence with no blank after them. */
static bool is_wide_stop(int32_t c)
{
    return c == 0x3002 || c == 0xFF01 || c == 0xFF1F || c == 0xFF61;
}

static bool is_stop(int32_t c)
{
    return c == '.' || c == '!' || c == '?' || c == 0x2026 || c == 0x0964 || c == 0x0965 || c == 0x061F ||
           c == 0x06D4 || c == 0x1362 || c == 0x17D4 || is_wide_stop(c);
}

static bool is_closer(int32_t c)
{
    return c == '"' || c == '\'' || c == ')' || c == ']' || c == 0x2019 || c == 0x201D || c == 0xBB ||
           c == 0x203A || c == 0x300D || c == 0x300F || c == 0xFF09 || c == '*' || c == '_';
}

/* ---- words before a full stop ---------------------------------------------------------------- */

static bool is_abbreviation(const char *word, size_t length)
{
    char padded[16];
    if (length == 0 || length + 3 > sizeof padded)
        return false;
    padded[0] = ' ';
    for (size_t i = 0; i < length; i++)
        padded[i + 1] = (char)(word[i] >= 'A' && word[i] <= 'Z' ? word[i] + 32 : word[i]);
    padded[length + 1] = ' ';
    padded[length + 2] = '\0';
    return strstr(abbreviations, padded) != NULL;
}

/* "J.", "Mr.", "U.S.", and "3." as the number of a list item stand before more of their sentence. */
static bool stop_belongs_to_word(const char *text, size_t stop)
{
    size_t start = stop;
    while (start > 0 && !is_space(text[start - 1]) && stop - start < 16 && text[start - 1] != '(' &&
           text[start - 1] != '"')
        start--;
    size_t length = stop - start;
    const char *word = text + start;
    if (length == 1 && word[0] >= 'A' && word[0] <= 'Z' && word[0] != 'I')
        return true;
    bool number = length > 0;
    for (size_t i = 0; i < length; i++)
        number &= is_digit(word[i]) || word[i] == '.';
    if (number && (start == 0 || text[start - 1] == '\n'))
        return true;
    return is_abbreviation(word, length);
}

/* ---- after a full stop ----------------------------------------------------------------------- */

static size_t skip_closers(const char *text, size_t length, size_t at)
{
    size_t step;
    while (at < length) {
        int32_t code = utf8_decode(text + at, length - at, &step);
        if (!is_closer(code) && !is_stop(code))
            break;
        at += step;
    }
    return at;
}

static bool begins_sentence(const char *text, size_t length)
{
    size_t at = 0, step;
    while (at < length && is_space(text[at]))
        at++;
    if (at >= length)
        return true;
    int32_t code = utf8_decode(text + at, length - at, &step);
    if (code < 0x80)
        return !(code >= 'a' && code <= 'z') && code != ',' && code != ';' && code != ')';
    return utf8proc_category(code) != UTF8PROC_CATEGORY_LL;
}

static bool ends_here(const char *text, size_t length, size_t stop, int32_t code, size_t after)
{
    if (is_wide_stop(code))
        return true;
    if (after < length && !is_space(text[after]))
        return false;
    if (code == '.' && after == stop + 1 && stop_belongs_to_word(text, stop))
        return after >= length;
    return begins_sentence(text + after, length - after);
}

/* "- item", "* item", "• item", "1. item", "(a) item" at the start of a line. */
static bool begins_item(const char *line, size_t length)
{
    size_t at = 0;
    while (at < length && (line[at] == ' ' || line[at] == '\t'))
        at++;
    if (at + 2 < length && (line[at] == '-' || line[at] == '*' || line[at] == '+') && line[at + 1] == ' ')
        return true;
    if (at + 4 < length && memcmp(line + at, "\xE2\x80\xA2", 3) == 0)
        return true;
    bool bracket = at < length && line[at] == '(';
    at += bracket;
    size_t start = at;
    while (at < length && at - start < 3 && is_digit(line[at]))
        at++;
    if (bracket && at == start && at < length && is_letter((unsigned char)line[at]))
        at++;
    return at > start && at + 1 < length &&
           (bracket ? line[at] == ')' : line[at] == '.' || line[at] == ')') && line[at + 1] == ' ';
}

/* ---- cuts ------------------------------------------------------------------------------------ */

static bool is_character_border(const char *text, size_t length, size_t at)
{
    size_t start = at > LOOK_BACK ? at - LOOK_BACK : 0, step;
    while (start < at && ((unsigned char)text[start] & 0xC0) == 0x80)
        start++;
    int32_t state = 0, before = -1;
    bool border = true;
    for (size_t i = start; i <= at && i < length; i += step) {
        int32_t code = utf8_decode(text + i, length - i, &step);
        border = before < 0 || code < 0 || utf8proc_grapheme_break_stateful(before, code, &state);
        if (i == at)
            return border;
        before = code;
    }
    return at >= length;
}

size_t sentence_cut(const char *text, size_t length, size_t limit)
{
    if (limit >= length)
        return length;
    for (size_t at = limit; at > limit / 2; at--)
        if (is_space(text[at]) && !is_space(text[at - 1]))
            return at;
    for (size_t at = limit; at > 0 && limit - at < LOOK_BACK; at--)
        if (((unsigned char)text[at] & 0xC0) != 0x80 && is_character_border(text, length, at))
            return at;
    size_t whole = utf8_whole(text, limit), step;
    if (whole)
        return whole;
    (void)utf8_decode(text, length, &step);
    return step;
}

static size_t cut_long(const char *text, size_t length)
{
    for (size_t at = SENTENCE_MAX - 1; at > SENTENCE_MAX / 2; at--)
        if ((text[at] == ';' || text[at] == ':' || text[at] == ',') && is_space(text[at + 1]))
            return at + 1;
    return sentence_cut(text, length, SENTENCE_MAX);
}

size_t sentence_length(const char *text, size_t length)
{
    size_t step, most = length < SENTENCE_MAX + 1 ? length : SENTENCE_MAX + 1;
    for (size_t i = 0; i < most; i += step) {
        unsigned char c = (unsigned char)text[i];
        step = 1;
        if (c == '\n' && i > 0 && begins_item(text + i + 1, length - i - 1))
            return i;
        if (c != '.' && c != '!' && c != '?' && c < 0x80)
            continue;
        int32_t code = utf8_decode(text + i, length - i, &step);
        if (!is_stop(code))
            continue;
        size_t after = skip_closers(text, length, i + step);
        if (ends_here(text, length, i, code, after) && after <= SENTENCE_MAX)
            return after;
    }
    return length <= SENTENCE_MAX ? length : cut_long(text, length);
}

/* "3.", "3.2.", "3)", "(a)", "(iv)" and the blank after it; 0 when there is none. */
static size_t number_length(const char *text, size_t length)
{
    size_t at = 0, marks = 0;
    bool bracket = length > 0 && text[0] == '(';
    at += bracket;
    if (bracket)
        while (at < length && at < 5 && is_letter((unsigned char)text[at]) && (unsigned char)text[at] < 0x80)
            at++;
    while (at < length && at < 12 &&
           (is_digit(text[at]) || (!bracket && marks < 5 && text[at] == '.' && at > 0))) {
        marks += text[at] == '.';
        at++;
    }
    if (at < length && text[at] == ')' && at > (size_t)bracket) {
        at++;
        marks++;
    }
    bool ends = at > 0 && (text[at - 1] == '.' || text[at - 1] == ')');
    return ends && marks > 0 && at < length && is_space(text[at]) ? at + 1 : 0;
}

size_t sentence_marker(const char *text, size_t length)
{
    size_t at = 0;
    for (;;) {
        size_t before = at;
        while (at < length && strchr(" \n\t-*#>|", text[at]))
            at++;
        if (at + 3 < length && memcmp(text + at, "\xE2\x80\xA2", 3) == 0)
            at += 3;
        if (at == before)
            break;
    }
    at += number_length(text + at, length - at);
    while (at < length && is_space(text[at]))
        at++;
    return at < length ? at : 0;
}

bool sentence_is_closed(const char *text, size_t length)
{
    while (length > 0) {
        size_t at = length - 1, step;
        while (at > 0 && ((unsigned char)text[at] & 0xC0) == 0x80)
            at--;
        int32_t code = utf8_decode(text + at, length - at, &step);
        if (is_stop(code))
            return true;
        if (!is_closer(code))
            return false;
        length = at;
    }
    return false;
}
