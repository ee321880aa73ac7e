/* Cuts a document into windows: at files, headings, paragraphs, sentences, words, characters.
 * SPDX-License-Identifier: Apache-2.0 */
#include "document/chunk.h"

#include <string.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "document/sentence.h"

enum {
    CHECK_SENTENCES = 256,
    MOST_OVERLAP = 2, /* sentences */
    FULL_LINE = 40,   /* bytes; a line as long as this may have been broken because it was full */
};

/* Sentences tile the text: number i reaches from the end of the one before to its own end. */
struct chunker {
    const struct chunking *job;
    const struct ll_document *document;
    uint64_t *before;         /* [sentence_count + 1]: tokens of all sentences before */
    struct token_list tokens; /* scratch */
    struct strbuf text;       /* scratch */
    struct window_list *windows;
    size_t room; /* tokens of text in a window, path and seams left out */
    ll_error *error;
};

void window_list_fini(struct window_list *list)
{
    mem_free(list->items);
    *list = (struct window_list){0};
}

/* ---- counting -------------------------------------------------------------------------------- */

static ll_status count_tokens(struct chunker *c, const char *text, size_t length, size_t *ret)
{
    if (!c->job->llm) {
        *ret = length / 4 + (length > 0);
        return LL_OK;
    }
    c->tokens.count = 0;
    LL_TRY(c->job->llm->encode_text(c->job->llm->self, text, length, &c->tokens, c->error));
    *ret = c->tokens.count;
    return LL_OK;
}

static ll_status check(const struct chunker *c, size_t done)
{
    const ll_run *run = c->job->run;
    if (run && cancel_requested(run->cancel))
        return error_set(c->error, LL_CANCELLED, "plan", "planning was cancelled");
    ll_progress progress = {LL_CHUNKING, done, c->document->text.length, NULL};
    if (run && run->on_progress)
        run->on_progress(run->user, &progress);
    return LL_OK;
}

static ll_status count_sentences(struct chunker *c)
{
    const struct ll_document *d = c->document;
    size_t at = 0, tokens;
    c->before = mem_new(d->sentence_count + 1, sizeof *c->before);
    if (!c->before)
        return error_nomem(c->error, "plan", (d->sentence_count + 1) * sizeof *c->before);
    for (size_t i = 0; i < d->sentence_count; i++) {
        if (i % CHECK_SENTENCES == 0)
            LL_TRY(check(c, at));
        size_t last = i + 1 < d->sentence_count ? d->sentences[i].last : d->text.length;
        LL_TRY(count_tokens(c, d->text.text + at, last - at, &tokens));
        c->before[i + 1] = c->before[i] + tokens;
        at = last;
    }
    return LL_OK;
}

static uint64_t section_tokens(const struct chunker *c, const struct doc_section *section)
{
    return c->before[document_sentence(c->document, section->last)] -
           c->before[document_sentence(c->document, section->first)];
}

/* ---- text of a window ------------------------------------------------------------------------ */

/* A line break inside a sentence is where a line was full, not a mark of the author's: small models copy
 * such breaks and lose the thread. Breaks after short lines (verses, tables) stay. */
static bool is_soft_break(const struct ll_document *d, const struct doc_sentence *s, size_t at)
{
    const char *text = d->text.text;
    if (at <= s->first || at >= s->last || d->paragraphs[s->paragraph].kind != PARAGRAPH_PROSE)
        return false;
    size_t start = at;
    while (start > 0 && text[start - 1] != '\n' && at - start < FULL_LINE)
        start--;
    return at - start >= FULL_LINE;
}

static void put_unwrapped(const struct ll_document *d, size_t first, size_t last, struct strbuf *out)
{
    const char *text = d->text.text;
    size_t sentence = document_sentence(d, first), from = first;
    for (size_t at = first; at < last; at++) {
        if (text[at] != '\n')
            continue;
        while (sentence < d->sentence_count && d->sentences[sentence].last <= at)
            sentence++;
        if (sentence == d->sentence_count || !is_soft_break(d, &d->sentences[sentence], at))
            continue;
        strbuf_append(out, text + from, at - from);
        strbuf_putc(out, ' ');
        while (at + 1 < last && (text[at + 1] == ' ' || text[at + 1] == '\t'))
            at++;
        from = at + 1;
    }
    if (from < last)
        strbuf_append(out, text + from, last - from);
}

void window_text(const struct ll_document *d, const struct window *w, struct strbuf *out)
{
    size_t first = w->text_first, last = w->last, start = out->length;
    const char *text = d->text.text;
    while (last > first && strchr(" \t\n", text[last - 1]))
        last--;
    while (first < last && text[first] == '\n')
        first++;
    if (w->path)
        document_path(d, w->section, WINDOW_PATH_MAX, out);
    if (out->length > start)
        strbuf_puts(out, "\n\n");
    put_unwrapped(d, first, last, out);
}

static ll_status count_window(struct chunker *c, struct window *w)
{
    strbuf_clear(&c->text);
    window_text(c->document, w, &c->text);
    if (c->text.failed)
        return error_nomem(c->error, "plan", c->text.length);
    return count_tokens(c, strbuf_text(&c->text), c->text.length, &w->tokens);
}

/* ---- borders --------------------------------------------------------------------------------- */

/* What begins at sentence i (> 0): how good a place for a cut. */
enum strength { CUT_LINE, CUT_SENTENCE, CUT_PARAGRAPH, CUT_HEADING /* + depth counted from the deepest */ };

static int strength_at(const struct chunker *c, size_t i)
{
    const struct ll_document *d = c->document;
    const struct doc_sentence *s = &d->sentences[i];
    const struct doc_paragraph *p = &d->paragraphs[s->paragraph];
    if (s->paragraph == d->sentences[i - 1].paragraph)
        return p->kind != PARAGRAPH_PROSE && p->kind != PARAGRAPH_HEADING ? CUT_LINE : CUT_SENTENCE;
    if (p->kind == PARAGRAPH_HEADING)
        return CUT_HEADING + (d->sections[p->section].level < 16 ? 16 - d->sections[p->section].level : 0);
    /* A heading stays with its first paragraph. */
    return d->paragraphs[s->paragraph - 1].kind == PARAGRAPH_HEADING ? CUT_LINE : CUT_PARAGRAPH;
}

/* A section too large for one window begins at sentence i, or one has just ended there. */
static bool borders_large(const struct chunker *c, size_t i)
{
    const struct ll_document *d = c->document;
    const struct doc_paragraph *now = &d->paragraphs[d->sentences[i].paragraph];
    if (now->kind != PARAGRAPH_HEADING || d->sentences[i].paragraph == d->sentences[i - 1].paragraph)
        return false;
    if (section_tokens(c, &d->sections[now->section]) > c->room)
        return true;
    size_t at = d->paragraphs[d->sentences[i - 1].paragraph].section;
    while (d->sections[at].parent != at && d->sections[at].last <= d->sentences[i].first) {
        if (section_tokens(c, &d->sections[at]) > c->room)
            return true;
        at = d->sections[at].parent;
    }
    return false;
}

/* First sentence after `start` where a window must close; `end` when there is none. */
static size_t forced_close(const struct chunker *c, size_t start, size_t end)
{
    for (size_t i = start + 1; i < end; i++)
        if (c->before[i] - c->before[start] >= c->room / 6 && borders_large(c, i))
            return i;
    return end;
}

static uint64_t content_hash(const struct chunker *c, size_t i)
{
    const struct doc_sentence *s = &c->document->sentences[i];
    return hash_bytes(c->document->text.text + s->first, s->last - s->first, 0x6C6F6E67);
}

/* ---- pieces of a range ------------------------------------------------------------------------ */

/* Where pieces of at most a window's room begin, in order. */
struct cuts {
    size_t *items;
    size_t count, capacity;
};

/* How many places in (first, last) have at least this strength. */
static size_t count_places(const struct chunker *c, size_t first, size_t last, int least)
{
    size_t count = 0;
    for (size_t i = first + 1; i < last; i++)
        count += strength_at(c, i) >= least;
    return count;
}

/* The cut of (first, last) that everything else is cut around: of the middle half of its paragraphs (where
 * it has none: sentences, lines) the highest heading, else the one whose content hashes lowest. Counted in
 * paragraphs, not tokens: a sentence more or less moves no cut. SIZE_MAX: there is no place. */
static size_t middle_cut(const struct chunker *c, size_t first, size_t last)
{
    int least = CUT_PARAGRAPH;
    size_t places = 0, seen = 0, best = SIZE_MAX;
    int best_strength = -1;
    uint64_t best_hash = 0;
    while (least >= CUT_LINE && (places = count_places(c, first, last, least)) == 0)
        least--;
    for (size_t i = first + 1; i < last && places; i++) {
        int strength = strength_at(c, i);
        if (strength < least)
            continue;
        size_t place = seen++;
        if (places > 3 && (place < places / 4 || place >= places - places / 4))
            continue;
        uint64_t hash = content_hash(c, i);
        if (strength > best_strength || (strength == best_strength && hash < best_hash)) {
            best = i;
            best_strength = strength;
            best_hash = hash;
        }
    }
    return best;
}

static ll_status push_cut(struct chunker *c, struct cuts *cuts, size_t sentence)
{
    if (!mem_grow((void **)&cuts->items, &cuts->capacity, cuts->count + 1, sizeof *cuts->items))
        return error_nomem(c->error, "plan", (cuts->count + 1) * sizeof *cuts->items);
    cuts->items[cuts->count++] = sentence;
    return LL_OK;
}

/* Halves [first, last) until every piece fits or is one sentence. The stack holds ends still to be done: no
 * deeper than there are sentences. */
static ll_status cut_range(struct chunker *c, size_t first, size_t last, uint64_t room, struct cuts *out)
{
    struct cuts ends = {0};
    ll_status status = push_cut(c, &ends, last);
    while (status == LL_OK && ends.count) {
        size_t end = ends.items[ends.count - 1], middle = SIZE_MAX;
        if (c->before[end] - c->before[first] > room)
            middle = middle_cut(c, first, end);
        if (middle != SIZE_MAX) {
            status = push_cut(c, &ends, middle);
            continue;
        }
        status = push_cut(c, out, first);
        first = end;
        ends.count--;
    }
    mem_free(ends.items);
    return status;
}

/* Neighbours that fit together are one piece; a heading of higher rank keeps them apart when both are
 * worth a window of their own. */
static void join_small(const struct chunker *c, struct cuts *cuts, size_t last, uint64_t room)
{
    size_t kept = 0;
    for (size_t i = 0; i < cuts->count; i++) {
        size_t end = i + 1 < cuts->count ? cuts->items[i + 1] : last;
        uint64_t own = c->before[end] - c->before[cuts->items[i]];
        uint64_t together = kept ? c->before[end] - c->before[cuts->items[kept - 1]] : 0;
        bool apart = kept && strength_at(c, cuts->items[i]) >= CUT_HEADING && own * 2 > room &&
                     (together - own) * 2 > room;
        if (kept && together <= room && !apart)
            continue;
        cuts->items[kept++] = cuts->items[i];
    }
    cuts->count = kept;
}

/* ---- windows --------------------------------------------------------------------------------- */

static ll_status push(struct chunker *c, const struct window *w)
{
    struct window_list *list = c->windows;
    if (!mem_grow((void **)&list->items, &list->capacity, list->count + 1, sizeof *list->items))
        return error_nomem(c->error, "plan", (list->count + 1) * sizeof *list->items);
    list->items[list->count++] = *w;
    return LL_OK;
}

static size_t start_of(const struct chunker *c, size_t sentence, size_t file_first, size_t first_sentence)
{
    return sentence == first_sentence ? file_first : c->document->sentences[sentence].first;
}

/* Whole sentences before `start` in the same section, at most two. */
static size_t overlap_start(const struct chunker *c, size_t start, size_t lowest)
{
    const struct ll_document *d = c->document;
    size_t section = d->paragraphs[d->sentences[start].paragraph].section, at = start;
    if (d->paragraphs[d->sentences[start].paragraph].kind == PARAGRAPH_HEADING)
        return start;
    while (at > lowest && start - at < MOST_OVERLAP) {
        const struct doc_paragraph *p = &d->paragraphs[d->sentences[at - 1].paragraph];
        if (p->section != section || p->kind != PARAGRAPH_PROSE ||
            c->before[start] - c->before[at - 1] > c->job->overlap)
            break;
        at--;
    }
    return at;
}

static size_t byte_section(const struct chunker *c, size_t sentence)
{
    return c->document->paragraphs[c->document->sentences[sentence].paragraph].section;
}

/* One sentence larger than a window: cut at words or characters until it fits. */
static ll_status split_sentence(struct chunker *c, size_t sentence, size_t first)
{
    const struct ll_document *d = c->document;
    size_t last = d->sentences[sentence].last;
    for (size_t at = first; at < last;) {
        struct window w = {.first = at,
                           .text_first = at,
                           .section = byte_section(c, sentence),
                           .path = c->job->tokens >= WINDOW_WITH_PATH};
        size_t length = last - at;
        for (;;) {
            w.last = at + length;
            LL_TRY(count_window(c, &w));
            if (w.tokens <= c->job->tokens || length <= 1)
                break;
            size_t guess = (size_t)((double)length * (double)c->job->tokens / (double)w.tokens);
            size_t shorter =
                sentence_cut(d->text.text + at, last - at, guess < length / 2 ? length / 2 : guess);
            if (shorter >= length)
                shorter = sentence_cut(d->text.text + at, last - at, length / 2);
            if (shorter >= length)
                break; /* one character spelt in many tokens */
            length = shorter;
        }
        LL_TRY(push(c, &w));
        at = w.last;
    }
    return LL_OK;
}

/* [start, end) as one window, in two when counting the assembled text shows that it is too much. */
static ll_status add_window(struct chunker *c, size_t start, size_t end, size_t file_first,
                            size_t first_sentence)
{
    const struct ll_document *d = c->document;
    size_t overlap = overlap_start(c, start, first_sentence);
    struct window w = {.first = start_of(c, start, file_first, first_sentence),
                       .last = d->sentences[end - 1].last,
                       .section = byte_section(c, start),
                       .path = c->job->tokens >= WINDOW_WITH_PATH};
    w.text_first = overlap == start ? w.first : d->sentences[overlap].first;
    LL_TRY(count_window(c, &w));
    if (w.tokens > c->job->tokens && overlap != start) {
        w.text_first = w.first;
        LL_TRY(count_window(c, &w));
    }
    if (w.tokens <= c->job->tokens)
        return push(c, &w);
    size_t middle = middle_cut(c, start, end);
    if (middle == SIZE_MAX)
        return split_sentence(c, start, w.first);
    LL_TRY(add_window(c, start, middle, file_first, first_sentence));
    return add_window(c, middle, end, file_first, first_sentence);
}

/* A range that no window may leave: what stands between the borders of large sections. */
static ll_status add_range(struct chunker *c, size_t start, size_t end, size_t file_first,
                           size_t first_sentence)
{
    struct cuts cuts = {0};
    ll_status status = cut_range(c, start, end, c->room, &cuts);
    join_small(c, &cuts, end, c->room);
    for (size_t i = 0; status == LL_OK && i < cuts.count; i++) {
        if (i % 16 == 0)
            status = check(c, c->document->sentences[cuts.items[i]].first);
        if (status == LL_OK)
            status = add_window(c, cuts.items[i], i + 1 < cuts.count ? cuts.items[i + 1] : end, file_first,
                                first_sentence);
    }
    mem_free(cuts.items);
    return status;
}

static ll_status chunk_file(struct chunker *c, const struct doc_file *file)
{
    size_t first = document_sentence(c->document, file->first),
           end = document_sentence(c->document, file->last);
    for (size_t start = first, stop; start < end; start = stop) {
        stop = forced_close(c, start, end);
        LL_TRY(add_range(c, start, stop, file->first, first));
    }
    return LL_OK;
}

/* Blanks between windows belong to the one before, so that the ranges meet. */
static void close_gaps(struct window_list *list, size_t length)
{
    for (size_t i = 0; i + 1 < list->count; i++)
        list->items[i].last = list->items[i + 1].first;
    if (list->count)
        list->items[list->count - 1].last = length;
}

static ll_status one_window(struct chunker *c)
{
    struct window w = {.last = c->document->text.length, .section = c->document->files[0].section};
    LL_TRY(count_window(c, &w));
    return push(c, &w);
}

static ll_status chunk_all(struct chunker *c)
{
    LL_TRY(count_sentences(c));
    if (c->job->whole)
        return one_window(c);
    for (size_t i = 0; i < c->document->file_count; i++)
        LL_TRY(chunk_file(c, &c->document->files[i]));
    close_gaps(c->windows, c->document->text.length);
    return LL_OK;
}

ll_status chunk_make(const struct chunking *job, struct window_list *ret, uint64_t *ret_tokens,
                     ll_error *error)
{
    struct chunker c = {.job = job, .document = job->document, .windows = ret, .error = error};
    if (!job->whole && job->tokens < WINDOW_LEAST)
        return error_set(error, LL_ARGUMENT, "plan", "windows of %zu tokens are too small; %d is the least",
                         job->tokens, (int)WINDOW_LEAST);
    size_t path = job->tokens >= WINDOW_WITH_PATH ? WINDOW_PATH_MAX / 4 : 2;
    c.room = job->tokens > path ? job->tokens - path : 1;
    ll_status status = chunk_all(&c);
    if (status == LL_OK)
        *ret_tokens = c.before[c.document->sentence_count];
    mem_free(c.before);
    token_list_fini(&c.tokens);
    strbuf_fini(&c.text);
    if (status != LL_OK)
        window_list_fini(ret);
    return status;
}
