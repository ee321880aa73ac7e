/* The best quotations of a window: sentences of prose, lines of logs, words of comments.
 * SPDX-License-Identifier: Apache-2.0 */
#include "document/pick.h"

#include <string.h>

#include "document/comment.h"
#include "document/keysentence.h"
#include "document/logline.h"
#include "document/sentence.h"
#include "document/tally.h"

enum { MOST_LOG_LINES = 24, MOST_COMMENTS = 8, LEAST_WORDS = 4 };

static const double opening_comment = 3.0, focused_line = 8.0, counted_score = 30.0, least_score = 0.01;

bool pick_is_of_lines(const struct doc_file *file)
{
    return file->kind == KIND_LOG || file->kind == KIND_TABLE || file->kind == KIND_CODE ||
           file->kind == KIND_JSON || file->kind == KIND_JSONL;
}

/* ---- the best few ------------------------------------------------------------------------------ */

struct pick {
    size_t first, last; /* bytes of the document */
    size_t text;        /* of a log: where the line itself begins; of a comment: place in the scratch text */
    size_t length;      /* of a comment's text */
    double score;
    uint64_t group;
};

struct picks {
    struct pick items[MOST_LOG_LINES];
    size_t count, most;
};

/* Best first; of one group only the best. */
static void keep(struct picks *p, struct pick new)
{
    size_t at = p->count;
    for (size_t i = 0; i < p->count; i++)
        if (new.group && p->items[i].group == new.group) {
            if (p->items[i].score >= new.score)
                return;
            memmove(&p->items[i], &p->items[i + 1], (p->count - i - 1) * sizeof new);
            at = --p->count;
            break;
        }
    while (at > 0 && p->items[at - 1].score < new.score)
        at--;
    if (at >= p->most)
        return;
    p->count += p->count < p->most;
    memmove(&p->items[at + 1], &p->items[at], (p->count - 1 - at) * sizeof new);
    p->items[at] = new;
}

static void sort_by_place(struct picks *p)
{
    for (size_t i = 1; i < p->count; i++)
        for (size_t k = i; k > 0 && p->items[k - 1].first > p->items[k].first; k--) {
            struct pick moved = p->items[k];
            p->items[k] = p->items[k - 1];
            p->items[k - 1] = moved;
        }
}

/* ---- logs -------------------------------------------------------------------------------------- */

static bool pick_log(const struct ll_document *d, const struct terms *terms, const struct window *w,
                     size_t index, struct claim_list *out)
{
    struct picks picks = {.most = MOST_LOG_LINES};
    for (size_t i = document_sentence(d, w->first); i < d->sentence_count && d->sentences[i].first < w->last;
         i++) {
        const struct doc_sentence *s = &d->sentences[i];
        const char *text = d->text.text + s->first;
        struct logline line;
        logline_read(text, s->last - s->first, &line);
        double score = logline_score(&line) *
                       (1.0 + focused_line * (double)terms_focus(terms, text, s->last - s->first));
        keep(&picks, (struct pick){s->first, s->last, 0, 0, score, line.shape});
    }
    sort_by_place(&picks);
    for (size_t i = 0; i < picks.count; i++) {
        const struct pick *p = &picks.items[i];
        struct claim claim = {.window = index,
                              .first = p->first,
                              .last = p->last,
                              .support = 1.0f,
                              .score = (float)p->score,
                              .quoted = true,
                              .borne = true,
                              .line = true,
                              .group = p->group};
        if (!claim_add(out, d->text.text + p->first, p->last - p->first, &claim))
            return false;
    }
    return true;
}

/* ---- code -------------------------------------------------------------------------------------- */

static bool is_legal_notice(const char *text, size_t length)
{
    static const char *const words[] = {"opyright", "icense", "WARRANT", "warrant"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t n = strlen(words[i]);
        for (size_t at = 0; at + n <= length; at++)
            if (memcmp(text + at, words[i], n) == 0)
                return true;
    }
    return false;
}

/* The first sentence of a comment stands for it: the rest is detail. */
static void weigh_comment(const struct ll_document *d, const struct terms *terms,
                          const struct comment *comment, size_t base, bool opening, struct strbuf *scratch,
                          struct picks *picks)
{
    size_t start = scratch->length;
    comment_text(d->text.text + base, comment, scratch);
    if (scratch->failed || scratch->length == start)
        return;
    const char *text = scratch->text + start;
    size_t length = sentence_length(text, scratch->length - start);
    const char *paragraph = memchr(text, '\n', length);
    length = paragraph ? (size_t)(paragraph - text) : length;
    struct words walk = words_of(text, length);
    struct word word;
    size_t words = 0;
    while (words_next(&walk, &word))
        words++;
    if (words < LEAST_WORDS || is_legal_notice(text, length))
        return;
    double score = keysentence_score(terms, text, length) * (opening ? opening_comment : 1.0);
    keep(picks, (struct pick){base + comment->first, base + comment->last, start, length, score, 0});
}

static bool pick_code(const struct ll_document *d, const struct terms *terms, const struct window *w,
                      size_t index, size_t most, struct claim_list *out)
{
    struct strbuf scratch = {0};
    struct picks picks = {.most = most < MOST_COMMENTS ? most : MOST_COMMENTS};
    struct comment comment;
    const struct doc_file *file = document_file(d, w->first);
    size_t length = w->last - w->first, seen = 0;
    for (size_t at = 0; comment_next(d->text.text + w->first, length, at, &comment); at = comment.last)
        weigh_comment(d, terms, &comment, w->first, w->first == file->first && seen++ == 0, &scratch, &picks);
    sort_by_place(&picks);
    bool room = !scratch.failed;
    for (size_t i = 0; room && i < picks.count; i++) {
        const struct pick *p = &picks.items[i];
        size_t last = p->last;
        while (last > p->first && d->text.text[last - 1] == '\n')
            last--;
        struct claim claim = {.window = index,
                              .first = p->first,
                              .last = last,
                              .support = 1.0f,
                              .score = (float)p->score,
                              .quoted = true,
                              .borne = true};
        room = claim_add(out, scratch.text + p->text, p->length, &claim);
    }
    strbuf_fini(&scratch);
    return room;
}

/* Code without a word of comment is known by what it defines. */
static bool pick_heads(const struct ll_document *d, const struct window *w, size_t index, size_t most,
                       struct claim_list *out)
{
    bool room = true;
    size_t added = 0;
    for (size_t i = document_sentence(d, w->first);
         room && added < most && i < d->sentence_count && d->sentences[i].first < w->last; i++) {
        const struct doc_sentence *s = &d->sentences[i];
        if (d->paragraphs[s->paragraph].kind != PARAGRAPH_HEADING)
            continue;
        struct claim claim = {.window = index,
                              .first = s->first,
                              .last = s->last,
                              .support = 1.0f,
                              .score = (float)least_score,
                              .quoted = true,
                              .borne = true,
                              .line = true};
        room = claim_add(out, d->text.text + s->first, s->last - s->first, &claim);
        added++;
    }
    return room;
}

/* ---- the choice -------------------------------------------------------------------------------- */

bool pick_claims(const struct ll_document *d, const struct terms *terms, const struct window *w, size_t index,
                 size_t most, struct claim_list *out)
{
    const struct doc_file *file = document_file(d, w->first);
    size_t before = out->count;
    if (file->kind == KIND_LOG)
        return pick_log(d, terms, w, index, out);
    if (file->kind == KIND_CODE) {
        if (!pick_code(d, terms, w, index, most, out) ||
            (out->count == before && !pick_heads(d, w, index, most, out)))
            return false;
        if (out->count > before)
            return true;
    }
    if (!keysentence_pick(d, terms, w, index, most, out))
        return false;
    /* A row says nothing of its table. */
    for (size_t i = before; pick_is_of_lines(file) && i < out->count; i++) {
        out->items[i].score = (float)least_score;
        out->items[i].line = true;
    }
    return true;
}

bool pick_counted(const struct ll_document *d, const struct doc_file *file, size_t index,
                  struct claim_list *out)
{
    struct strbuf text = {0};
    struct claim claim = {.window = index,
                          .first = file->first,
                          .last = file->last,
                          .support = 1.0f,
                          .score = (float)counted_score,
                          .borne = true,
                          .counted = true};
    bool room = true;
    if (file->kind == KIND_LOG)
        room = logline_describe(d, file, &text);
    else if (file->kind == KIND_TABLE)
        room = tally_describe(d, file, &text);
    if (room && text.length)
        room = claim_add(out, strbuf_text(&text), text.length, &claim);
    strbuf_fini(&text);
    return room;
}
