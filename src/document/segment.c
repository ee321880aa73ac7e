/* Text to spans: paragraphs, headings and their sections, sentences. Linear in the text.
 * SPDX-License-Identifier: Apache-2.0 */
#include "document/segment.h"

#include <limits.h>
#include <string.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/mem.h"
#include "document/outline.h"
#include "document/sentence.h"

enum { CHECK_BYTES = 1 << 18, LEVELS = 6, LIST_LINE = 72 /* bytes of a line of a list */ };

struct segmenter {
    struct ll_document *document;
    const char *text;
    struct doc_file *file;
    struct outline outline;
    enum structure structure;
    const struct mark_list *marks;
    size_t next_mark;
    int ranks[LEVELS + 1]; /* of marks by their level, where headings are guessed too */
    bool fences_done;      /* no closing fence follows any more */
    bool failed;
    const ll_run *run;
};

/* ---- paragraphs ------------------------------------------------------------------------------ */

static void add_paragraph(struct segmenter *s, size_t first, size_t last, enum paragraph_kind kind)
{
    struct ll_document *d = s->document;
    if (last <= first)
        return;
    if (!mem_grow((void **)&d->paragraphs, &d->paragraph_capacity, d->paragraph_count + 1,
                  sizeof *d->paragraphs)) {
        s->failed = true;
        return;
    }
    d->paragraphs[d->paragraph_count++] = (struct doc_paragraph){first, last, 0, kind};
}

/* first, last: the heading's lines. The title's range lies inside. */
static void add_heading(struct segmenter *s, size_t first, size_t last, const struct heading *heading,
                        size_t title_base)
{
    struct outline_entry entry = {s->document->paragraph_count, heading->rank, title_base + heading->first,
                                  title_base + heading->last, heading->title_like};
    add_paragraph(s, first, last, PARAGRAPH_HEADING);
    if (!outline_add(&s->outline, &entry))
        s->failed = true;
}

static size_t line_end(const struct segmenter *s, size_t at, size_t last)
{
    const char *newline = memchr(s->text + at, '\n', last - at);
    return newline ? (size_t)(newline - s->text) : last;
}

static bool is_blank(const struct segmenter *s, size_t first, size_t last)
{
    for (size_t i = first; i < last; i++)
        if (s->text[i] != ' ' && s->text[i] != '\t')
            return false;
    return true;
}

/* Lines that lead to a page number, most of the block. */
static bool is_contents_block(const struct segmenter *s, size_t first, size_t last)
{
    size_t lines = 0, leading = 0;
    for (size_t at = first, end; at < last && lines < 400; at = end + 1) {
        end = line_end(s, at, last);
        size_t tail = end;
        while (tail > at && s->text[tail - 1] >= '0' && s->text[tail - 1] <= '9')
            tail--;
        leading += tail < end && tail > at + 2 && (s->text[tail - 1] == '.' || s->text[tail - 1] == ' ') &&
                   (s->text[tail - 2] == '.' || s->text[tail - 2] == ' ');
        lines++;
    }
    return lines >= 3 && leading * 10 >= lines * 6;
}

/* "Rent April 900 euros" above "Rent May 950 euros": each line says something of its own. Wrapped prose has
 * lines that run on in small letters and ends with a stop; verses have their stops and commas. */
static bool is_list(const struct segmenter *s, size_t first, size_t last)
{
    size_t end = line_end(s, first, last);
    if (end >= last || s->structure == STRUCTURE_MARKDOWN || s->file->kind == KIND_PDF)
        return false;
    for (size_t at = first; at < last; at = end + 1) {
        size_t start = at, tail;
        end = line_end(s, at, last);
        for (tail = end; tail > at && strchr(" \t", s->text[tail - 1]);)
            tail--;
        while (start < tail && strchr(" \t", s->text[start]))
            start++;
        if (start == tail || tail - start > LIST_LINE || (s->text[start] >= 'a' && s->text[start] <= 'z') ||
            strchr(",;-", s->text[tail - 1]) || sentence_is_closed(s->text + start, tail - start))
            return false;
    }
    return true;
}

static void add_prose(struct segmenter *s, size_t first, size_t last)
{
    enum paragraph_kind kind = is_contents_block(s, first, last) ? PARAGRAPH_CONTENTS : PARAGRAPH_PROSE;
    add_paragraph(s, first, last,
                  kind == PARAGRAPH_PROSE && is_list(s, first, last) ? PARAGRAPH_LINES : kind);
}

/* A title and its underline at the start of a block; returns where the rest begins, or first. */
static size_t take_underlined(struct segmenter *s, size_t first, size_t last)
{
    size_t end = line_end(s, first, last), under_end;
    int level;
    if (end >= last)
        return first;
    under_end = line_end(s, end + 1, last);
    if (!heading_underline(s->text + end + 1, under_end - end - 1, end - first, &level))
        return first;
    struct heading heading = {HEADING_MARKDOWN + level - 1, 0, end - first, level == 1};
    if (s->structure != STRUCTURE_MARKDOWN && !heading_numbered(s->text + first, end - first, &heading))
        heading = (struct heading){HEADING_CAPITALS + level - 1, 0, end - first, level == 1};
    while (heading.first < heading.last && s->text[first + heading.first] == ' ')
        heading.first++;
    add_heading(s, first, under_end, &heading, first);
    return under_end < last ? under_end + 1 : last;
}

static bool holds_words(const char *text, size_t length)
{
    size_t letters = 0;
    for (size_t i = 0; i < length; i++)
        letters += (text[i] | 0x20) >= 'a' && (text[i] | 0x20) <= 'z';
    return letters >= 3;
}

/* "CHAPTER I." and its title on the next line are one heading. */
static bool take_chapter(struct segmenter *s, size_t first, size_t last)
{
    struct heading heading;
    size_t end = line_end(s, first, last);
    if (end >= last || line_end(s, end + 1, last) < last || last - end > 80 ||
        strchr(".,;", s->text[last - 1]) || !holds_words(s->text + end + 1, last - end - 1) ||
        !heading_alone(s->text + first, end - first, &heading) || heading.rank >= HEADING_CAPITALS)
        return false;
    heading.last = last - first;
    add_heading(s, first, last, &heading, first);
    return true;
}

/* Blocks of a PDF seldom have the blank line after a heading: a heading may open a block, or follow a
 * line at which a sentence ended. */
static void add_pdf_block(struct segmenter *s, size_t first, size_t last)
{
    size_t start = first;
    bool may_open = true;
    for (size_t at = first, end; at < last; at = end + 1) {
        struct heading heading;
        end = line_end(s, at, last);
        size_t below = end < last ? line_end(s, end + 1, last) : end;
        if (may_open && end < last &&
            heading_opening(s->text + at, end - at, s->text + end + 1, below - end - 1, &heading)) {
            add_prose(s, start, at > start ? at - 1 : start);
            add_heading(s, at, end, &heading, at);
            start = end + 1;
            continue;
        }
        may_open = sentence_is_closed(s->text + at, end - at);
    }
    add_prose(s, start, last);
}

/* Cells of one line: those between TABs or between "|"; 0: it is no row. */
static size_t count_cells(const struct segmenter *s, size_t at, size_t end)
{
    size_t tabs = 0, bars = 0;
    while (at < end && (s->text[at] == ' ' || s->text[at] == '\t'))
        at++;
    bool barred = at < end && s->text[at] == '|';
    for (; at < end; at++) {
        tabs += s->text[at] == '\t';
        bars += s->text[at] == '|';
    }
    return barred ? bars : tabs ? tabs + 1 : 0;
}

/* Two lines at least, all of equally many cells. */
static bool is_table(const struct segmenter *s, size_t first, size_t last)
{
    size_t cells = 0, rows = 0;
    for (size_t at = first, end; at < last; at = end + 1, rows++) {
        end = line_end(s, at, last);
        size_t here = count_cells(s, at, end);
        if (here < 2 || (rows && here != cells))
            return false;
        cells = here;
    }
    return rows > 1;
}

static void add_block(struct segmenter *s, size_t first, size_t last)
{
    struct heading heading;
    if (is_table(s, first, last)) {
        add_paragraph(s, first, last, PARAGRAPH_LINES);
        return;
    }
    if (s->structure == STRUCTURE_MARKED) {
        add_prose(s, first, last);
        return;
    }
    size_t rest = take_underlined(s, first, last);
    if (rest > first) {
        if (rest < last)
            add_block(s, rest, last);
        return;
    }
    bool single = line_end(s, first, last) >= last;
    if (s->structure == STRUCTURE_MARKDOWN) {
        add_prose(s, first, last);
    } else if (single && heading_alone(s->text + first, last - first, &heading)) {
        add_heading(s, first, last, &heading, first);
    } else if (!single && take_chapter(s, first, last)) {
        return;
    } else if (!single && s->file->kind == KIND_PDF) {
        add_pdf_block(s, first, last);
    } else {
        add_prose(s, first, last);
    }
}

/* ---- lines ----------------------------------------------------------------------------------- */

static bool is_fence(const struct segmenter *s, size_t first, size_t last, char *ret_mark)
{
    while (first < last && s->text[first] == ' ')
        first++;
    if (last - first < 3 || (s->text[first] != '`' && s->text[first] != '~'))
        return false;
    *ret_mark = s->text[first];
    return s->text[first + 1] == s->text[first] && s->text[first + 2] == s->text[first];
}

/* End of the fenced block that begins at `first`, or 0 when nothing closes it. */
static size_t fence_end(struct segmenter *s, size_t first, char mark)
{
    size_t last = s->file->last;
    for (size_t at = line_end(s, first, last) + 1, end; at < last; at = end + 1) {
        char other;
        end = line_end(s, at, last);
        if (is_fence(s, at, end, &other) && other == mark)
            return end;
    }
    s->fences_done = true;
    return 0;
}

/* What the words of a marked line say of its rank; 0: nothing. */
static int guessed_rank(const struct segmenter *s, const struct reading_mark *mark)
{
    struct heading heading;
    size_t first = s->file->first + mark->first, end = line_end(s, first, s->file->first + mark->last);
    bool met = heading_alone(s->text + first, end - first, &heading) && heading.rank != HEADING_CAPITALS;
    return met ? heading.rank : 0;
}

/* Where the reader's marks stand among guessed headings ("3.2 Results"), a level takes the rank of those of
 * its own marks whose words tell it; other levels go between. */
static void rank_levels(struct segmenter *s)
{
    for (size_t i = 0; i < s->marks->count; i++) {
        const struct reading_mark *mark = &s->marks->items[i];
        int rank = mark->kind == MARK_HEADING && mark->level <= LEVELS ? guessed_rank(s, mark) : 0;
        int *level = &s->ranks[rank ? mark->level : 0];
        *level = rank && (!*level || rank < *level) ? rank : *level;
    }
    int known = 1;
    while (known <= LEVELS && !s->ranks[known])
        known++;
    for (int level = known - 1; level >= 1; level--) {
        int usual = HEADING_CAPITALS + level, below = level < LEVELS ? s->ranks[level + 1] : INT_MAX;
        s->ranks[level] = usual < below ? usual : below - 1;
    }
    for (int level = known + 1; level <= LEVELS; level++)
        if (!s->ranks[level])
            s->ranks[level] = s->ranks[level - 1] + 1;
}

static int rank_of_mark(const struct segmenter *s, const struct reading_mark *mark)
{
    if (s->structure == STRUCTURE_MARKED)
        return HEADING_MARKDOWN + mark->level - 1;
    int rank = guessed_rank(s, mark);
    return rank ? rank : s->ranks[mark->level <= LEVELS ? mark->level : LEVELS];
}

/* Lines that the reader has marked; returns where they end, 0 when there is no mark at this line. */
static size_t take_marked_lines(struct segmenter *s, size_t at, size_t *block)
{
    static const enum paragraph_kind kinds[] = {
        [MARK_HEADING] = PARAGRAPH_HEADING, [MARK_CODE] = PARAGRAPH_CODE, [MARK_LINES] = PARAGRAPH_LINES};
    size_t base = s->file->first;
    while (s->next_mark < s->marks->count && base + s->marks->items[s->next_mark].first < at)
        s->next_mark++; /* begins inside of a line: no mark of lines */
    const struct reading_mark *mark = s->next_mark < s->marks->count ? &s->marks->items[s->next_mark] : NULL;
    if (!mark || base + mark->first != at || mark->last <= mark->first || base + mark->last > s->file->last)
        return 0;
    s->next_mark++;
    if (*block != SIZE_MAX)
        add_block(s, *block, at - 1);
    *block = SIZE_MAX;
    if (mark->kind == MARK_HEADING) {
        struct heading heading = {rank_of_mark(s, mark), mark->title, mark->title_end, mark->level == 1};
        add_heading(s, at, base + mark->last, &heading, base);
    } else {
        add_paragraph(s, at, base + mark->last, kinds[mark->kind]);
    }
    return base + mark->last;
}

/* A line that is a span by itself; returns its end, 0 when it is an ordinary line. */
static size_t take_special_line(struct segmenter *s, size_t at, size_t end, size_t *block)
{
    struct heading heading;
    char mark;
    size_t marked = s->structure != STRUCTURE_MARKDOWN && s->marks ? take_marked_lines(s, at, block) : 0;
    if (marked || s->structure != STRUCTURE_MARKDOWN)
        return marked;
    bool fence = !s->fences_done && is_fence(s, at, end, &mark);
    size_t close = fence ? fence_end(s, at, mark) : 0;
    bool title = !close && heading_atx(s->text + at, end - at, &heading);
    if (!close && !title)
        return 0;
    if (*block != SIZE_MAX)
        add_block(s, *block, at - 1);
    *block = SIZE_MAX;
    if (close)
        add_paragraph(s, at, close, PARAGRAPH_CODE);
    else
        add_heading(s, at, end, &heading, at);
    return close ? close : end;
}

static ll_status check(struct segmenter *s, size_t at, ll_error *error)
{
    if (s->run && cancel_requested(s->run->cancel))
        return error_set(error, LL_CANCELLED, "document", "reading was cancelled");
    if (s->failed)
        return error_nomem(error, "document", s->document->text.length);
    ll_progress progress = {LL_CHUNKING, at, s->document->text.length, NULL};
    if (s->run && s->run->on_progress)
        s->run->on_progress(s->run->user, &progress);
    return LL_OK;
}

static ll_status find_paragraphs(struct segmenter *s, ll_error *error)
{
    size_t block = SIZE_MAX, last = s->file->last, next_check = s->file->first, block_end = 0;
    for (size_t at = s->file->first, end; at < last; at = end + 1) {
        if (at >= next_check) {
            LL_TRY(check(s, at, error));
            next_check = at + CHECK_BYTES;
        }
        end = line_end(s, at, last);
        size_t special = take_special_line(s, at, end, &block);
        if (special) {
            end = special;
            continue;
        }
        bool blank = is_blank(s, at, end);
        if (blank && block != SIZE_MAX) {
            add_block(s, block, block_end);
            block = SIZE_MAX;
        } else if (!blank) {
            block = block == SIZE_MAX ? at : block;
            block_end = end;
        }
    }
    if (block != SIZE_MAX)
        add_block(s, block, block_end);
    return check(s, last, error);
}

/* ---- sentences ------------------------------------------------------------------------------- */

static void add_sentence(struct segmenter *s, size_t first, size_t last, size_t paragraph)
{
    struct ll_document *d = s->document;
    while (first < last && strchr(" \t\n", s->text[first]))
        first++;
    while (last > first && strchr(" \t\n", s->text[last - 1]))
        last--;
    if (last == first)
        return;
    if (!mem_grow((void **)&d->sentences, &d->sentence_capacity, d->sentence_count + 1,
                  sizeof *d->sentences)) {
        s->failed = true;
        return;
    }
    d->sentences[d->sentence_count++] = (struct doc_sentence){first, last, paragraph};
}

static size_t piece_length(const struct segmenter *s, const struct doc_paragraph *p, size_t at)
{
    size_t left = p->last - at;
    if (p->kind == PARAGRAPH_PROSE)
        return sentence_length(s->text + at, left);
    size_t line = line_end(s, at, p->last) - at;
    line += line < left;
    return line > SENTENCE_MAX ? sentence_cut(s->text + at, left, SENTENCE_MAX) : line;
}

static ll_status find_sentences(struct segmenter *s, size_t first_paragraph, ll_error *error)
{
    struct ll_document *d = s->document;
    size_t next_check = 0;
    for (size_t p = first_paragraph; p < d->paragraph_count; p++) {
        const struct doc_paragraph *paragraph = &d->paragraphs[p];
        for (size_t at = paragraph->first, length; at < paragraph->last; at += length) {
            if (at >= next_check) {
                LL_TRY(check(s, at, error));
                next_check = at + CHECK_BYTES;
            }
            length = piece_length(s, paragraph, at);
            length += length == 0; /* a terminator list can be wrong; progress must not be */
            add_sentence(s, at, at + length, p);
        }
    }
    return check(s, s->file->last, error);
}

ll_status segment_file(struct ll_document *document, struct doc_file *file, const struct mark_list *marks,
                       const char *title, const char *name, const ll_run *run, ll_error *error)
{
    struct segmenter s = {.document = document,
                          .text = document->text.text,
                          .file = file,
                          .structure = kind_structure(file->kind),
                          .marks = marks,
                          .run = run};
    size_t first_paragraph = document->paragraph_count;
    if (marks && s.structure == STRUCTURE_GUESSED)
        rank_levels(&s);
    ll_status status = find_paragraphs(&s, error);
    if (status == LL_OK && !outline_build(&s.outline, document, file, first_paragraph, title, name))
        status = error_nomem(error, "document", document->text.length);
    if (status == LL_OK)
        status = find_sentences(&s, first_paragraph, error);
    outline_fini(&s.outline);
    return status;
}
