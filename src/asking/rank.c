/* The passages of a document in the order in which they are likely to answer a question.
 * SPDX-License-Identifier: Apache-2.0 */
#include "asking/rank.h"

#include <string.h>

#include "asking/fulltext.h"
#include "asking/row.h"
#include "base/cancel.h"
#include "base/error.h"
#include "base/mem.h"

enum {
    PASSAGE = 900,       /* bytes of text, about */
    SHORTEST_LAST = 300, /* bytes; a shorter rest joins the passage before */
    CANDIDATES = 200,    /* passages taken from the index, for words and for likenesses */
    PATH_READ = 200,
};

/* What stands around a sentence counts in part. */
static const double kind_score = 0.3;

static const float before_share = 0.6f, path_share = 0.7f, passage_share = 0.4f, after_share = 0.3f,
                   head_share = 0.9f; /* of a table's columns, for its rows */

struct ranking {
    const struct ll_document *document;
    struct window *passages;
    size_t count, capacity;
    struct fulltext *index;
};

/* ---- passages -------------------------------------------------------------------------------- */

static bool begins_section(const struct ll_document *d, size_t sentence)
{
    const struct doc_sentence *s = &d->sentences[sentence];
    return d->paragraphs[s->paragraph].kind == PARAGRAPH_HEADING &&
           (sentence == 0 || d->sentences[sentence - 1].paragraph != s->paragraph);
}

static bool holds_file_border(const struct ll_document *d, size_t first, size_t last)
{
    return document_file(d, first) != document_file(d, last);
}

/* Closes at a heading when a third is full, else at the end of the sentence that fills it. */
static bool closes_at(const struct ll_document *d, size_t first, size_t sentence)
{
    size_t start = d->sentences[first].first, here = d->sentences[sentence].first;
    if (holds_file_border(d, start, here))
        return true;
    if (here - start >= PASSAGE / 3 && begins_section(d, sentence))
        return true;
    return d->sentences[sentence].last - start > PASSAGE && here - start >= SHORTEST_LAST;
}

static ll_status push_passage(struct ranking *r, size_t first, size_t end, ll_error *error)
{
    const struct ll_document *d = r->document;
    if (!mem_grow((void **)&r->passages, &r->capacity, r->count + 1, sizeof *r->passages))
        return error_nomem(error, "ask", (r->count + 1) * sizeof *r->passages);
    struct window w = {.first = d->sentences[first].first,
                       .last = d->sentences[end - 1].last,
                       .section = document_section(d, d->sentences[first].first),
                       .path = true};
    w.text_first = w.first;
    /* The sentence before says what "it" is. */
    if (first > 0 && d->sentences[first - 1].paragraph == d->sentences[first].paragraph)
        w.text_first = d->sentences[first - 1].first;
    r->passages[r->count++] = w;
    return LL_OK;
}

static ll_status cut_passages(struct ranking *r, ll_error *error)
{
    const struct ll_document *d = r->document;
    size_t first = 0;
    for (size_t i = 1; i < d->sentence_count; i++)
        if (closes_at(d, first, i)) {
            LL_TRY(push_passage(r, first, i, error));
            first = i;
        }
    return d->sentence_count ? push_passage(r, first, d->sentence_count, error) : LL_OK;
}

static ll_status index_passages(struct ranking *r, const ll_run *run, ll_error *error)
{
    struct strbuf text = {0};
    ll_status status = fulltext_open(&r->index, error);
    for (size_t i = 0; status == LL_OK && i < r->count; i++) {
        if (i % 256 == 0 && run && cancel_requested(run->cancel))
            status = error_set(error, LL_CANCELLED, "ask", "the question was cancelled");
        strbuf_clear(&text);
        document_path(r->document, r->passages[i].section, PATH_READ, &text);
        strbuf_putc(&text, '\n');
        strbuf_append(&text, r->document->text.text + r->passages[i].text_first,
                      r->passages[i].last - r->passages[i].text_first);
        if (status == LL_OK)
            status = text.failed ? error_nomem(error, "ask", text.length)
                                 : fulltext_add(r->index, i, strbuf_text(&text), text.length, error);
    }
    strbuf_fini(&text);
    return status;
}

ll_status ranking_open(const struct ll_document *document, const ll_run *run, struct ranking **ret,
                       ll_error *error)
{
    struct ranking *r = mem_new(1, sizeof *r);
    if (!r)
        return error_nomem(error, "ask", sizeof *r);
    r->document = document;
    ll_status status = cut_passages(r, error);
    if (status == LL_OK)
        status = index_passages(r, run, error);
    if (status == LL_OK)
        *ret = r;
    else
        ranking_close(r);
    return status;
}

void ranking_close(struct ranking *r)
{
    if (!r)
        return;
    fulltext_close(r->index);
    mem_free(r->passages);
    mem_free(r);
}

const struct window *ranking_passages(const struct ranking *r, size_t *ret_count)
{
    *ret_count = r->count;
    return r->passages;
}

/* ---- matching -------------------------------------------------------------------------------- */

static void mix(const struct question *q, const struct ll_document *d, size_t first, size_t last, float share,
                struct question_match *match)
{
    struct question_match other;
    if (last <= first)
        return;
    question_match(q, d->text.text + first, last - first, &other);
    for (size_t i = 0; i < q->count; i++)
        if (other.held[i] * share > match->held[i])
            match->held[i] = other.held[i] * share;
}

static void mix_path(const struct question *q, const struct ll_document *d, size_t section,
                     struct question_match *match)
{
    struct question_match other;
    struct strbuf path = {0};
    document_path(d, section, PATH_READ, &path);
    question_match(q, strbuf_text(&path), path.length, &other);
    for (size_t i = 0; i < q->count; i++)
        if (other.held[i] * path_share > match->held[i])
            match->held[i] = other.held[i] * path_share;
    strbuf_fini(&path);
}

void ranking_match(const struct ranking *r, const struct question *q, size_t passage, size_t sentence,
                   struct question_match *ret)
{
    const struct ll_document *d = r->document;
    const struct window *p = &r->passages[passage];
    const struct doc_sentence *s = &d->sentences[sentence];
    size_t head;
    question_match(q, d->text.text + s->first, s->last - s->first, ret);
    if (row_find_head(d, sentence, &head)) { /* the rows beside it say nothing of this one */
        mix(q, d, d->sentences[head].first, d->sentences[head].last, head_share, ret);
        if (head > 0) /* the table's title */
            mix(q, d, d->sentences[head - 1].first, d->sentences[head - 1].last, path_share, ret);
        mix_path(q, d, p->section, ret);
        return;
    }
    if (sentence > 0 && d->sentences[sentence - 1].paragraph == s->paragraph)
        mix(q, d, d->sentences[sentence - 1].first, d->sentences[sentence - 1].last, before_share, ret);
    if (sentence + 1 < d->sentence_count && d->sentences[sentence + 1].paragraph == s->paragraph)
        mix(q, d, d->sentences[sentence + 1].first, d->sentences[sentence + 1].last, after_share, ret);
    mix_path(q, d, p->section, ret);
    mix(q, d, p->text_first, p->last, passage_share, ret);
}

static struct ranked score_passage(const struct ranking *r, const struct question *q, size_t passage)
{
    const struct ll_document *d = r->document;
    const struct window *p = &r->passages[passage];
    struct ranked best = {passage, 0, document_sentence(d, p->first)};
    for (size_t i = best.sentence; i < d->sentence_count && d->sentences[i].first < p->last; i++) {
        struct question_match match;
        ranking_match(r, q, passage, i, &match);
        double score = question_share(q, &match);
        /* A question that says only what kind of thing it wants is led by that. */
        if (!question_has_subject(q) && question_answered(q, d->text.text + d->sentences[i].first,
                                                          d->sentences[i].last - d->sentences[i].first, ""))
            score += kind_score;
        if (score > best.score) {
            best.score = score;
            best.sentence = i;
        }
    }
    return best;
}

/* ---- finding --------------------------------------------------------------------------------- */

/* Of equals the earlier passage. */
static size_t keep_best(struct ranked *out, size_t count, size_t most, struct ranked new)
{
    size_t at = count;
    while (at > 0 && (out[at - 1].score < new.score ||
                      (out[at - 1].score == new.score &&out[at - 1].passage > new.passage)))
        at--;
    if (at >= most)
        return count;
    count += count < most;
    for (size_t i = count - 1; i > at; i--)
        out[i] = out[i - 1];
    out[at] = new;
    return count;
}

static void add_terms(const struct ranking *r, const struct question *q, bool like,
                      struct fulltext_query *query)
{
    for (size_t i = 0; i < q->count; i++) {
        const struct question_word *w = &q->words[i];
        if (!like)
            fulltext_query_add(query, q->text + w->first, w->last - w->first);
        for (size_t k = 0; like && k < w->like_count; k++)
            fulltext_query_add(query, r->document->text.text + w->like[k].first,
                               w->like[k].last - w->like[k].first);
    }
}

static ll_status mark_candidates(struct ranking *r, const struct question *q, bool like, bool *marked,
                                 ll_error *error)
{
    size_t found[CANDIDATES], count = 0;
    struct fulltext_query query = {0};
    add_terms(r, q, like, &query);
    ll_status status = fulltext_find(r->index, &query, found, CANDIDATES, &count, error);
    fulltext_query_fini(&query);
    for (size_t i = 0; status == LL_OK && i < count; i++)
        if (found[i] < r->count)
            marked[found[i]] = true;
    return status;
}

ll_status ranking_find(struct ranking *r, const struct question *q, bool all, size_t most, struct ranked *out,
                       size_t *ret_count, ll_error *error)
{
    size_t count = 0;
    bool *marked = mem_new(r->count, sizeof *marked);
    if (!marked)
        return error_nomem(error, "ask", r->count);
    ll_status status = all ? LL_OK : mark_candidates(r, q, false, marked, error);
    if (status == LL_OK && !all)
        status = mark_candidates(r, q, true, marked, error);
    for (size_t i = 0; status == LL_OK && i < r->count; i++)
        if (all || marked[i])
            count = keep_best(out, count, most, score_passage(r, q, i));
    mem_free(marked);
    if (status == LL_OK)
        *ret_count = count;
    return status;
}
