/* Rows of tables: the headings of their columns, and the cell that a question asks for.
 * SPDX-License-Identifier: Apache-2.0 */
#include "asking/row.h"

#include <string.h>

enum { MOST_CELLS = 64, YEAR_FIRST = 1000, YEAR_LAST = 2999 };

struct cell { /* bytes of the document, blanks left out */
    size_t first, last;
};

/* ---- cells ----------------------------------------------------------------------------------- */

static void push_cell(const char *text, size_t first, size_t last, struct cell *out, size_t *count)
{
    while (first < last && strchr(" *_`", text[first]))
        first++;
    while (last > first && strchr(" *_`", text[last - 1]))
        last--;
    if (*count < MOST_CELLS)
        out[*count] = (struct cell){first, last};
    ++*count;
}

/* 0: not a row; more than MOST_CELLS: too wide to be looked at. */
static size_t split(const struct ll_document *d, size_t sentence, struct cell out[MOST_CELLS])
{
    const struct doc_sentence *s = &d->sentences[sentence];
    const char *text = d->text.text;
    size_t count = 0, first = s->first, last = s->last;
    if (d->paragraphs[s->paragraph].kind != PARAGRAPH_LINES)
        return 0;
    bool barred = text[first] == '|';
    char mark = barred ? '|' : '\t';
    first += barred;
    last -= barred && last > first && text[last - 1] == '|';
    for (size_t at = first; at < last; at++)
        if (text[at] == mark) {
            push_cell(text, first, at, out, &count);
            first = at + 1;
        }
    if (count || barred)
        push_cell(text, first, last, out, &count);
    return count;
}

/* "1,350", "12 %" are figures; a year may head a column. */
static bool is_figure(const char *text, const struct cell *cell)
{
    size_t digits = 0, others = 0;
    unsigned value = 0;
    for (size_t i = cell->first; i < cell->last; i++) {
        bool digit = text[i] >= '0' && text[i] <= '9';
        digits += digit;
        others += !digit;
        value = digit && value < 100000 ? value * 10 + (unsigned)(text[i] - '0') : value;
    }
    bool year = digits == 4 && others == 0 && value >= YEAR_FIRST && value <= YEAR_LAST;
    return digits > others && !year;
}

/* "--- | ---" below the headings of Markdown. */
static bool is_rule(const char *text, const struct cell *cells, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t at = cells[i].first; at < cells[i].last; at++)
            if (!strchr("-:= ", text[at]))
                return false;
    return true;
}

static bool can_head(const struct ll_document *d, size_t sentence, struct cell out[MOST_CELLS],
                     size_t *ret_count)
{
    *ret_count = split(d, sentence, out);
    if (*ret_count < 2 || *ret_count > MOST_CELLS || is_rule(d->text.text, out, *ret_count))
        return false;
    for (size_t i = 0; i < *ret_count; i++)
        if (is_figure(d->text.text, &out[i]))
            return false;
    return true;
}

static size_t first_of_paragraph(const struct ll_document *d, size_t sentence)
{
    return document_sentence(d, d->paragraphs[d->sentences[sentence].paragraph].first);
}

bool row_find_head(const struct ll_document *d, size_t sentence, size_t *ret_head)
{
    struct cell cells[MOST_CELLS], heads[MOST_CELLS];
    size_t count = split(d, sentence, cells), head_count;
    if (count < 2 || count > MOST_CELLS)
        return false;
    *ret_head = first_of_paragraph(d, sentence);
    return *ret_head < sentence && can_head(d, *ret_head, heads, &head_count) && head_count == count;
}

bool row_is_head(const struct ll_document *d, size_t sentence)
{
    struct cell cells[MOST_CELLS];
    size_t count;
    return first_of_paragraph(d, sentence) == sentence && can_head(d, sentence, cells, &count) &&
           sentence + 1 < d->sentence_count &&
           d->sentences[sentence + 1].paragraph == d->sentences[sentence].paragraph;
}

/* ---- the cell asked for ---------------------------------------------------------------------- */

static double met(const struct question *q, const char *text, const struct cell *cell)
{
    struct question_match match;
    double sum = 0;
    question_match(q, text + cell->first, cell->last - cell->first, &match);
    for (size_t i = 0; i < q->count; i++)
        sum += (double)match.held[i] * q->words[i].weight;
    return sum;
}

/* The column whose heading meets the question and whose cell says something new; `count`: none alone. */
static size_t find_column(const struct question *q, const char *text, const struct cell *cells,
                          const struct cell *heads, size_t count)
{
    size_t best = count;
    double best_met = 0;
    bool alone = false;
    for (size_t i = 0; i < count; i++) {
        double here = met(q, text, &heads[i]);
        if (cells[i].last == cells[i].first || met(q, text, &cells[i]) > 0 || here <= 0 || here < best_met)
            continue;
        alone = here > best_met;
        best = i;
        best_met = here;
    }
    return alone ? best : count;
}

/* The cell by which the question names the row. */
static size_t find_key(const struct question *q, const char *text, const struct cell *cells, size_t count)
{
    size_t best = count;
    double best_met = 0;
    for (size_t i = 0; i < count; i++) {
        double here = met(q, text, &cells[i]);
        if (here > best_met) {
            best = i;
            best_met = here;
        }
    }
    return best;
}

static void put(const char *text, const struct cell *cell, struct strbuf *out)
{
    strbuf_append(out, text + cell->first, cell->last - cell->first);
}

bool row_answer(const struct ll_document *d, const struct question *q, size_t sentence, struct strbuf *out)
{
    struct cell cells[MOST_CELLS], heads[MOST_CELLS];
    size_t head, count;
    const char *text = d->text.text;
    if (!row_find_head(d, sentence, &head))
        return false;
    count = split(d, sentence, cells);
    (void)split(d, head, heads);
    size_t key = find_key(q, text, cells, count), column = find_column(q, text, cells, heads, count);
    if (key == count || column == count)
        return false;
    put(text, &cells[key], out);
    strbuf_puts(out, ", ");
    put(text, &heads[column], out);
    strbuf_puts(out, ": ");
    put(text, &cells[column], out);
    return true;
}
