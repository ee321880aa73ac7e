/* Whether the sentences that a claim cites bear it out: every number and every name of it must stand there.
 * SPDX-License-Identifier: Apache-2.0 */
#include "document/proof.h"

#include <string.h>
#include <strings.h>

#include "document/check.h"
#include "document/figures.h"
#include "readers/words.h"

enum {
    MOST_FIGURES = 24, /* of one sentence; more make a table's row */
    MOST_WORDS = 160,  /* of one sentence */
    REACH = 3,         /* sentences between those cited; farther ones are not cited together */
    BEFORE = 2,        /* sentences in which a name may stand before "he" or "it" */
};

/* A stretch of text taken apart. */
struct reading_of {
    const char *text;
    struct word words[MOST_WORDS];
    size_t word_count;
    struct figure figures[MOST_FIGURES];
    size_t figure_count;
};

static void take_apart(const char *text, size_t length, struct reading_of *ret)
{
    struct words walk = words_of(text, length);
    ret->text = text;
    ret->word_count = 0;
    while (ret->word_count < MOST_WORDS && words_next(&walk, &ret->words[ret->word_count]))
        ret->word_count++;
    ret->figure_count = figures_list(text, length, ret->figures, MOST_FIGURES);
    if (ret->figure_count > MOST_FIGURES)
        ret->figure_count = MOST_FIGURES;
}

/* ---- numbers ---------------------------------------------------------------------------------- */

static bool is_figure_word(const struct reading_of *r, size_t word)
{
    for (size_t i = 0; i < r->figure_count; i++)
        if (r->words[word].first >= r->figures[i].first && r->words[word].last <= r->figures[i].last)
            return true;
    return r->words[word].number;
}

/* A capital inside a sentence makes a name; at its beginning, only before another one ("Anna Weber"). */
static bool is_name(const struct reading_of *claim, size_t w)
{
    const struct word *word = &claim->words[w];
    if (!word->capital || word->number || word->common || is_figure_word(claim, w))
        return false;
    return w > 0 || (claim->word_count > 1 && claim->words[1].capital && !claim->words[1].common);
}

/* A clause ends at a comma, a semicolon, a colon or a bracket before a blank. */
static bool clause_ends(const struct reading_of *r, size_t word)
{
    for (size_t i = r->words[word].last; word + 1 < r->word_count && i < r->words[word + 1].first; i++)
        if (r->text[i] && strchr(",;:()", r->text[i]))
            return true;
    return word + 1 >= r->word_count;
}

static void clause_of(const struct reading_of *r, size_t word, size_t *ret_first, size_t *ret_last)
{
    *ret_first = word;
    while (*ret_first > 0 && !clause_ends(r, *ret_first - 1))
        --*ret_first;
    *ret_last = word;
    while (!clause_ends(r, *ret_last))
        ++*ret_last;
}

static bool same_word(const struct word *a, const struct word *b)
{
    return a->hash == b->hash || a->exact == b->exact;
}

static bool holds_word(const struct reading_of *r, const struct word *word)
{
    for (size_t i = 0; i < r->word_count; i++)
        if (same_word(&r->words[i], word))
            return true;
    return false;
}

/* Words between a word and the nearest number with this key, or with any other one; SIZE_MAX: none. */
static size_t nearest(const struct reading_of *r, const struct word *word, uint64_t key, bool other)
{
    size_t best = SIZE_MAX;
    for (size_t w = 0; w < r->word_count; w++) {
        if (!same_word(&r->words[w], word))
            continue;
        for (size_t i = 0; i < r->figure_count; i++) {
            size_t at = r->figures[i].word, apart = at > w ? at - w : w - at;
            if ((r->figures[i].key != key) == other && apart < best)
                best = apart;
        }
    }
    return best;
}

/* The telling word next to a number of the claim must not stand nearer to another number in the text. */
static bool belongs_to_other(const struct reading_of *source, const struct reading_of *claim,
                             const struct figure *figure, bool before)
{
    size_t first, last;
    clause_of(claim, figure->word, &first, &last);
    for (size_t w = figure->word; before ? w-- > first : ++w <= last;) {
        const struct word *word = &claim->words[w];
        if (is_figure_word(claim, w) || (!before && word->first < figure->last))
            continue;
        if (word->common)
            continue;
        return nearest(source, word, figure->key, true) < nearest(source, word, figure->key, false);
    }
    return false;
}

static bool has_figure(const struct reading_of *r, uint64_t key)
{
    for (size_t i = 0; i < r->figure_count; i++)
        if (r->figures[i].key == key)
            return true;
    return false;
}

/* Whether the stretch says of this number what the claim says: same number, same words about it. */
static bool says_number(const struct reading_of *source, const struct reading_of *claim,
                        const struct figure *figure, bool translated)
{
    size_t first, last, content = 0, found = 0;
    if (!has_figure(source, figure->key))
        return false;
    if (translated)
        return true;
    clause_of(claim, figure->word, &first, &last);
    for (size_t w = first; w <= last && w < claim->word_count; w++) {
        if (claim->words[w].common || is_figure_word(claim, w) || is_name(claim, w))
            continue; /* names are looked for on their own */
        content++;
        found += holds_word(source, &claim->words[w]);
    }
    return found * 4 >= content * 3 && !belongs_to_other(source, claim, figure, true) &&
           !belongs_to_other(source, claim, figure, false);
}

/* ---- names ------------------------------------------------------------------------------------ */

/* "She", "it": somebody named before is meant. */
static bool points_back(const char *text, size_t length)
{
    static const char *const pronouns[] = {"he",  "she", "it",    "they", "his",
                                           "her", "its", "their", "him",  "them"};
    struct words walk = words_of(text, length);
    struct word word;
    while (words_next(&walk, &word))
        for (size_t i = 0; i < sizeof pronouns / sizeof pronouns[0]; i++)
            if (word.last - word.first == strlen(pronouns[i]) &&
                strncasecmp(text + word.first, pronouns[i], word.last - word.first) == 0)
                return true;
    return false;
}

static bool text_holds(const char *text, size_t length, const struct word *word)
{
    struct words walk = words_of(text, length);
    struct word other;
    while (words_next(&walk, &other))
        if (same_word(&other, word))
            return true;
    return false;
}

/* ---- a cited text ----------------------------------------------------------------------------- */

bool proof_holds(const char *text, size_t text_length, const char *claim_text, size_t length,
                 size_t *ret_first, size_t *ret_last)
{
    struct reading_of claim, source;
    take_apart(claim_text, length, &claim);
    take_apart(text, text_length, &source);
    for (size_t i = 0; i < claim.figure_count; i++) {
        const struct figure *f = &claim.figures[i];
        if (f->weak || (has_figure(&source, f->key) && !belongs_to_other(&source, &claim, f, true) &&
                        !belongs_to_other(&source, &claim, f, false)))
            continue;
        *ret_first = f->first;
        *ret_last = f->last;
        return false;
    }
    for (size_t w = 0; w < claim.word_count; w++)
        if (is_name(&claim, w) && !text_holds(text, text_length, &claim.words[w])) {
            *ret_first = claim.words[w].first;
            *ret_last = claim.words[w].last;
            return false;
        }
    return true;
}

/* ---- a document ------------------------------------------------------------------------------- */

struct proving {
    const struct ll_document *document;
    size_t first, last; /* of the window */
    const struct reading_of *claim;
    bool translated;
    struct proof *proof;
};

static size_t sentences_between(const struct ll_document *d, size_t a, size_t b)
{
    size_t low = document_sentence(d, a < b ? a : b), high = document_sentence(d, a < b ? b : a);
    return high - low;
}

/* Takes a sentence in among those cited when it stands near them. */
static bool cite(struct proving *p, const struct doc_sentence *s)
{
    struct proof *proof = p->proof;
    if (s->first >= proof->first && s->last <= proof->last)
        return true;
    if (sentences_between(p->document, s->first, s->first < proof->first ? proof->first : proof->last - 1) >
        REACH)
        return false;
    proof->first = s->first < proof->first ? s->first : proof->first;
    proof->last = s->last > proof->last ? s->last : proof->last;
    return true;
}

static bool prove_number(struct proving *p, const struct figure *figure)
{
    const struct ll_document *d = p->document;
    for (size_t i = document_sentence(d, p->first); i < d->sentence_count && d->sentences[i].first < p->last;
         i++) {
        const struct doc_sentence *s = &d->sentences[i];
        struct reading_of source;
        take_apart(d->text.text + s->first, s->last - s->first, &source);
        if (says_number(&source, p->claim, figure, p->translated) && cite(p, s))
            return true;
    }
    return false;
}

/* Share of the telling words around a name that stand in a sentence; names and numbers are looked for on
 * their own. */
static bool says_rest(const struct reading_of *source, const struct reading_of *claim, size_t name)
{
    size_t first, last, content = 0, found = 0;
    clause_of(claim, name, &first, &last);
    for (int whole = 0; whole < 2 && content == 0; whole++) { /* a clause of names only: all of the claim */
        for (size_t w = whole ? 0 : first; w <= last && w < claim->word_count; w++) {
            if (claim->words[w].common || is_figure_word(claim, w) || is_name(claim, w))
                continue;
            content++;
            found += holds_word(source, &claim->words[w]);
        }
        last = claim->word_count;
    }
    return found * 2 >= content;
}

static bool stands_before(const struct proving *p, size_t sentence, const struct word *name, size_t *ret)
{
    const struct ll_document *d = p->document;
    for (size_t i = 1; i <= BEFORE && i <= sentence; i++) {
        const struct doc_sentence *s = &d->sentences[sentence - i];
        if (s->first < p->first || d->paragraphs[s->paragraph].kind == PARAGRAPH_HEADING)
            return false;
        *ret = sentence - i;
        if (text_holds(d->text.text + s->first, s->last - s->first, name))
            return true;
    }
    return false;
}

/* A sentence that says the rest and holds the name, or points back to it. */
static bool prove_name(struct proving *p, size_t w)
{
    const struct ll_document *d = p->document;
    const struct word *name = &p->claim->words[w];
    for (size_t i = document_sentence(d, p->first); i < d->sentence_count && d->sentences[i].first < p->last;
         i++) {
        const struct doc_sentence *s = &d->sentences[i];
        const char *text = d->text.text + s->first;
        size_t length = s->last - s->first, before;
        bool here = text_holds(text, length, name);
        struct reading_of source;
        take_apart(text, length, &source);
        if (!(here && p->translated) && !says_rest(&source, p->claim, w))
            continue;
        if (here && cite(p, s))
            return true;
        if (points_back(text, length) && stands_before(p, i, name, &before) && cite(p, s) &&
            cite(p, &d->sentences[before]))
            return true;
    }
    return false;
}

static void mark_absent(struct proof *proof, size_t first, size_t last)
{
    if (proof->borne) {
        proof->absent_first = first;
        proof->absent_last = last;
    }
    proof->borne = false;
}

/* What stands in the headings above names what a section speaks of. */
static bool stands_in_path(const struct ll_document *d, size_t byte, const struct word *name)
{
    struct strbuf path = {0};
    size_t section = document_section(d, byte);
    document_path(d, section, 400, &path);
    bool found = text_holds(strbuf_text(&path), path.length, name);
    const struct doc_section *root = &d->sections[document_file(d, byte)->section];
    found = found || text_holds(d->titles.text + root->title, root->title_length, name);
    strbuf_fini(&path);
    return found;
}

void proof_find(const struct ll_document *document, size_t first, size_t last, const char *claim_text,
                size_t length, bool translated, struct proof *ret)
{
    struct reading_of claim;
    struct proving p = {document, first, last, &claim, translated, ret};
    *ret = (struct proof){.borne = true};
    take_apart(claim_text, length, &claim);
    check_locate(document, first, last, claim_text, length, &ret->first, &ret->last);
    for (size_t i = 0; i < claim.figure_count; i++)
        if (!claim.figures[i].weak && !prove_number(&p, &claim.figures[i]))
            mark_absent(ret, claim.figures[i].first, claim.figures[i].last);
    for (size_t w = 0; w < claim.word_count; w++)
        if (is_name(&claim, w) && !prove_name(&p, w) &&
            !stands_in_path(document, ret->first, &claim.words[w]))
            mark_absent(ret, claim.words[w].first, claim.words[w].last);
}
