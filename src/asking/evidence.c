/* Which sentence of the windows answers a question, or that none does.
 * SPDX-License-Identifier: Apache-2.0 */
#include "asking/evidence.h"

#include <string.h>

#include "asking/row.h"
#include "document/check.h"
#include "document/claim.h"
#include "document/proof.h"
#include "document/prompt.h"
#include "document/sentence.h"

/* Set on tests/bench/quality with the facts marked "tune"; judged on the others. */
static const double name_weight = 0.4, reply_weight = 0.35, kind_weight = 0.15, rank_cost = 0.01,
                    least_name_share = 0.5, plain_share = 0.65, least_reply = 0.45, close_enough = 0.9,
                    reply_held = 0.8;

enum { MOST_QUOTES = 3, PATH_SHOWN = 120, MOST_NEW = 32 };

struct candidate {
    size_t window, passage, sentence;
    double value, share, name_share, other_share, reply;
    bool kind;
};

/* ---- the reply ------------------------------------------------------------------------------- */

/* The words of a reply that the question does not hold. */
struct reply {
    const char *text;
    size_t length;
    uint64_t hashes[MOST_NEW], exact[MOST_NEW];
    double weights[MOST_NEW];
    size_t count;
    double weight;
};

/* The first sentence only: small models go on with what nobody asked. */
static void read_reply(const struct evidence_job *job, const struct strbuf *output, struct reply *ret)
{
    const char *text = strbuf_text(output);
    size_t at = 0;
    while (at < output->length && strchr(" \n\t", text[at]))
        at++;
    *ret = (struct reply){.text = text + at, .length = sentence_length(text + at, output->length - at)};
    const char *newline = memchr(ret->text, '\n', ret->length);
    if (newline)
        ret->length = (size_t)(newline - ret->text);
    struct words walk = words_of(ret->text, ret->length);
    struct word word;
    while (ret->count < MOST_NEW && words_next(&walk, &word)) {
        if (word.common || question_holds(job->question, &word))
            continue;
        ret->hashes[ret->count] = word.hash;
        ret->exact[ret->count] = word.exact;
        ret->weights[ret->count] = terms_rarity(job->terms, word.hash);
        ret->weight += ret->weights[ret->count++];
    }
}

/* 0 … 1: how much of what is new in the reply stands in the text. */
static double reply_share(const struct reply *reply, const char *text, size_t length)
{
    bool held[MOST_NEW] = {false};
    struct words walk = words_of(text, length);
    struct word word;
    double met = 0;
    while (words_next(&walk, &word))
        for (size_t i = 0; i < reply->count; i++)
            held[i] |= word.hash == reply->hashes[i] || word.exact == reply->exact[i];
    for (size_t i = 0; i < reply->count; i++)
        met += held[i] ? reply->weights[i] : 0;
    return reply->weight > 0 ? met / reply->weight : 0;
}

/* Whether every number of the reply stands in the text, those of the question too: the figure of one row with
 * the year of another is no answer. */
static bool reply_numbers_stand(const struct reply *reply, const char *text, size_t length)
{
    struct words walk = words_of(reply->text, reply->length);
    struct word word, there;
    while (words_next(&walk, &word)) {
        if (!word.number)
            continue;
        struct words source = words_of(text, length);
        bool stands = false;
        while (!stands && words_next(&source, &there))
            stands = there.exact == word.exact;
        if (!stands)
            return false;
    }
    return true;
}

/* ---- candidates ------------------------------------------------------------------------------ */

static struct candidate weigh(const struct evidence_job *job, size_t window, size_t sentence,
                              const struct reply *reply)
{
    const struct doc_sentence *s = &job->document->sentences[sentence];
    const char *text = job->document->text.text + s->first;
    struct question_match match;
    struct candidate c = {window, job->ranked[window].passage, sentence, 0, 0, 0, 0, 0, false};
    ranking_match(job->ranking, job->question, c.passage, sentence, &match);
    c.share = question_share(job->question, &match);
    c.name_share = question_name_share(job->question, &match);
    c.other_share = question_other_share(job->question, &match);
    c.reply = reply_share(reply, text, s->last - s->first);
    struct strbuf path = {0};
    document_path(job->document, document_section(job->document, s->first), PATH_SHOWN, &path);
    c.kind = question_answered(job->question, text, s->last - s->first, strbuf_text(&path));
    strbuf_fini(&path);
    double trusted = reply_numbers_stand(reply, text, s->last - s->first) ? c.reply : 0;
    c.value = c.share + name_weight * c.name_share + reply_weight * trusted +
              kind_weight * (c.kind ? 1.0 : 0.0) - rank_cost * (double)(window < 10 ? window : 10);
    enum paragraph_kind kind = job->document->paragraphs[s->paragraph].kind;
    if (kind == PARAGRAPH_HEADING || kind == PARAGRAPH_CONTENTS || row_is_head(job->document, sentence))
        c.value *= 0.5;
    return c;
}

static size_t keep_best(struct candidate *best, size_t count, struct candidate new)
{
    size_t at = count;
    while (at > 0 && best[at - 1].value < new.value)
        at--;
    for (size_t i = 0; i < count; i++) /* passages overlap by a sentence */
        if (best[i].sentence == new.sentence && i < at)
            return count;
    if (at >= MOST_QUOTES)
        return count;
    count += count < MOST_QUOTES;
    for (size_t i = count - 1; i > at; i--)
        best[i] = best[i - 1];
    best[at] = new;
    return count;
}

static size_t find_candidates(const struct evidence_job *job, struct candidate *best)
{
    size_t count = 0;
    const struct window *passages = ranking_passages(job->ranking, &(size_t){0});
    const struct ll_document *d = job->document;
    for (size_t w = 0; w < job->count; w++) {
        struct reply reply;
        const struct window *p = &passages[job->ranked[w].passage];
        read_reply(job, &job->answer->windows[w].reply, &reply);
        for (size_t i = document_sentence(d, p->first);
             i < d->sentence_count && d->sentences[i].first < p->last; i++)
            count = keep_best(best, count, weigh(job, w, i, &reply));
    }
    return count;
}

/* ---- the verdict ----------------------------------------------------------------------------- */

static void put_word(const struct evidence_job *job, const struct question_word *w, struct strbuf *out)
{
    strbuf_puts(out, "“");
    strbuf_append(out, job->question->text + w->first, w->last - w->first);
    strbuf_puts(out, "”");
}

/* The first word of the question that the documents hold in no form. */
static const struct question_word *unknown_word(const struct question *q)
{
    const struct question_word *worst = NULL;
    for (size_t i = 0; i < q->count; i++)
        if (!q->words[i].shape && !q->words[i].known && (!worst || q->words[i].weight > worst->weight))
            worst = &q->words[i];
    return worst;
}

/* What was looked for and is not there, in words for the one who asked. */
static void put_missing(const struct evidence_job *job, const struct question_word *w)
{
    struct strbuf *reason = &job->answer->reason;
    const struct question_word *unknown = unknown_word(job->question);
    w = unknown ? unknown : w;
    if (!w) {
        strbuf_puts(reason, "no sentence says this");
        return;
    }
    strbuf_puts(reason, w->known ? "no sentence says of this what is asked: " : "nothing is said of ");
    put_word(job, w, reason);
    strbuf_puts(reason, w->known ? " stands elsewhere only" : "");
}

static const char *wanted_kind(const struct question *q)
{
    return q->wants == WANTS_NAME    ? "a name is asked for, and the sentences that fit hold none"
           : q->wants == WANTS_PLACE ? "a place is asked for, and the sentences that fit hold none"
           : q->wants == WANTS_AGE   ? "an age is asked for, and no sentence that fits tells one"
                                   : "a number or a time is asked for, and the sentences that fit hold none";
}

/* Whether the best sentence is no answer; the reason is set then. What is asked of a thing must be met by the
 * sentence itself, or, of a thing that is named, by a reply that took its words from there: a sentence that
 * only names the thing will be found for every question about it. */
static bool refuses(const struct evidence_job *job, const struct candidate *best, size_t count)
{
    const struct question *q = job->question;
    struct question_match match;
    if (count == 0) {
        put_missing(job, NULL);
        return true;
    }
    ranking_match(job->ranking, q, best->passage, best->sentence, &match);
    bool named = best->name_share >= least_name_share;
    bool replied = best->reply >= least_reply && question_names(q);
    if (!named || (best->other_share < plain_share && !replied)) {
        put_missing(job, question_unmet(q, &match));
        return true;
    }
    if (!best->kind)
        strbuf_puts(&job->answer->reason, wanted_kind(q));
    return !best->kind;
}

/* Whether the reply may stand as the answer beside its sentence: of the names and numbers in it all stand in
 * the question or in the sentence that is quoted. */
static bool reply_stands(const struct evidence_job *job, const struct candidate *best,
                         const struct reply *reply)
{
    const struct ll_document *d = job->document;
    const struct window *p = &ranking_passages(job->ranking, &(size_t){0})[best->passage];
    const struct doc_sentence *s = &d->sentences[best->sentence];
    struct checker checker = {0};
    struct strbuf cited = {0};
    float support = 0;
    size_t first, last;
    if (reply->count == 0 || best->reply < reply_held || reply->length == 0)
        return false;
    bool stands = check_load(&checker, d->text.text + p->first, p->last - p->first, "");
    if (stands) {
        enum check_verdict verdict = check_sentence(&checker, reply->text, reply->length, &support);
        stands = verdict == CHECK_GOOD || (verdict == CHECK_SHORT && support >= 1.0f);
    }
    check_fini(&checker);
    strbuf_append(&cited, d->text.text + s->first, s->last - s->first);
    strbuf_printf(&cited, "\n%s", job->question->text);
    stands = stands && !cited.failed &&
             proof_holds(strbuf_text(&cited), cited.length, reply->text, reply->length, &first, &last);
    strbuf_fini(&cited);
    return stands && question_answered(job->question, reply->text, reply->length, "year");
}

static void put_quote(struct evidence_job *job, const struct candidate *c)
{
    struct ll_answer *answer = job->answer;
    const struct doc_sentence *s = &job->document->sentences[c->sentence];
    struct answer_quote *q = &answer->quotes[answer->quote_count++];
    *q = (struct answer_quote){s->first, s->last, c->window, (float)c->share, {0}};
    document_path(job->document, document_section(job->document, s->first), PATH_SHOWN, &q->path);
}

/* Blanks of the source folded, as a person reads it. */
static void put_folded(const char *text, size_t length, struct strbuf *out)
{
    bool blank = false;
    for (size_t i = 0; i < length; i++) {
        if (strchr(" \n\t", text[i]) && text[i]) {
            blank = out->length > 0;
            continue;
        }
        if (blank)
            strbuf_putc(out, ' ');
        blank = false;
        strbuf_putc(out, text[i]);
    }
}

/* A cell under its heading, both quoted: nothing that a reply could add. */
static bool put_cell(struct evidence_job *job, const struct candidate *best)
{
    struct ll_answer *answer = job->answer;
    struct candidate head = *best;
    if (!row_answer(job->document, job->question, best->sentence, &answer->text) ||
        !row_find_head(job->document, best->sentence, &head.sentence))
        return false;
    answer->found = true;
    put_quote(job, best);
    put_quote(job, &head);
    strbuf_puts(&answer->reason, "the cell of the row quoted that stands under this heading");
    return true;
}

static void put_answer(struct evidence_job *job, const struct candidate *best, size_t count)
{
    struct ll_answer *answer = job->answer;
    const char *source = job->document->text.text;
    struct reply reply;
    if (put_cell(job, best))
        return;
    read_reply(job, &answer->windows[best->window].reply, &reply);
    answer->found = true;
    put_quote(job, best);
    answer->generated = reply_stands(job, best, &reply);
    const struct answer_quote *first = &answer->quotes[0];
    if (answer->generated)
        put_folded(reply.text, reply.length, &answer->text);
    else
        put_folded(source + first->first, first->last - first->first, &answer->text);
    strbuf_puts(&answer->reason, answer->generated
                                     ? "the reply's words, numbers and names stand in the sentence quoted"
                                     : "no reply of the model could be checked against the sentence quoted");
    for (size_t i = 1; i < count; i++) {
        const struct doc_sentence *s = &job->document->sentences[best[i].sentence];
        if (best[i].value >= best->value * close_enough && best[i].sentence != best->sentence &&
            !claim_repeats(source + first->first, first->last - first->first, source + s->first,
                           s->last - s->first))
            put_quote(job, &best[i]);
    }
}

bool evidence_decide(struct evidence_job *job)
{
    struct candidate best[MOST_QUOTES];
    struct ll_answer *answer = job->answer;
    size_t count = find_candidates(job, best);
    if (refuses(job, best, count)) {
        strbuf_puts(&answer->text, "Not in the document.");
    } else {
        put_answer(job, best, count);
    }
    return !answer->text.failed && !answer->reason.failed;
}
