/* Whether a generated sentence may stand: its words, numbers and names must be in the text it rests on.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* memmem */
#include "document/check.h"

#include <string.h>

#include "document/figures.h"

enum {
    RUN = 6,
    LEAST_WORDS = 4,
    MOST_LOCATED = 64, /* different words of a claim looked for */
    MOST_FIGURES = 64, /* numbers of one sentence */
};

/* ---- runs of words --------------------------------------------------------------------------- */

/* Calls for each run of RUN words with its hash; stops when fn returns false. */
static bool each_run(const char *text, size_t length, bool (*fn)(void *context, uint64_t key), void *context)
{
    struct words walk = words_of(text, length);
    struct word word;
    uint64_t last[RUN] = {0};
    for (size_t count = 1; words_next(&walk, &word); count++) {
        uint64_t key = 0;
        last[count % RUN] = word.exact;
        for (size_t i = 1; i <= RUN; i++)
            key = (key ^ last[(count + i) % RUN]) * 0x9E3779B97F4A7C15u;
        if (count >= RUN && !fn(context, key))
            return false;
    }
    return true;
}

static bool add_run(void *context, uint64_t key)
{
    return word_set_add(context, key);
}

static bool has_run(void *context, uint64_t key)
{
    return word_set_has(context, key);
}

static bool lacks_run(void *context, uint64_t key)
{
    return !word_set_has(context, key);
}

/* ---- loading --------------------------------------------------------------------------------- */

/* A text has more numbers than a sentence: they are taken a stretch at a time, cut between words. */
static bool load_figures(struct checker *c)
{
    struct figure figures[MOST_FIGURES];
    for (size_t at = 0, next; at < c->length; at = next) {
        size_t count = figures_list(c->text + at, c->length - at, figures, MOST_FIGURES);
        size_t held = count < MOST_FIGURES ? count : MOST_FIGURES;
        for (size_t i = 0; i < held; i++)
            if (!word_set_add(&c->figures, figures[i].key))
                return false;
        next = count <= MOST_FIGURES ? c->length : at + figures[held - 1].last;
    }
    return true;
}

bool check_load(struct checker *c, const char *text, size_t length, const char *instruction)
{
    struct words walk = words_of(text, length);
    struct word word;
    word_set_clear(&c->stems);
    word_set_clear(&c->exact);
    word_set_clear(&c->figures);
    word_set_clear(&c->runs);
    word_set_clear(&c->instruction);
    c->text = text;
    c->length = length;
    while (words_next(&walk, &word)) {
        uint64_t digit = words_digit_of(word.exact);
        if (!word_set_add(&c->stems, word.hash) || !word_set_add(&c->exact, word.exact) ||
            (digit && !word_set_add(&c->exact, digit)))
            return false;
    }
    if (!load_figures(c))
        return false;
    return each_run(text, length, add_run, &c->runs) &&
           each_run(instruction, strlen(instruction), add_run, &c->instruction);
}

void check_fini(struct checker *c)
{
    word_set_fini(&c->stems);
    word_set_fini(&c->exact);
    word_set_fini(&c->figures);
    word_set_fini(&c->runs);
    word_set_fini(&c->instruction);
    *c = (struct checker){0};
}

/* ---- talk about the text --------------------------------------------------------------------- */

/* Folds to lower-case words with single blanks, a blank at both ends. */
static size_t fold(const char *text, size_t length, char *out, size_t cap)
{
    struct words walk = words_of(text, length);
    struct word word;
    size_t used = 0;
    out[used++] = ' ';
    while (words_next(&walk, &word) && used + (word.last - word.first) + 2 < cap) {
        for (size_t i = word.first; i < word.last; i++)
            out[used++] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] + 32 : text[i]);
        out[used++] = ' ';
    }
    out[used] = '\0';
    return used;
}

static bool text_has_phrase(const struct checker *c, const char *phrase)
{
    size_t length = strlen(phrase) - 2; /* without its blanks */
    for (size_t i = 0; i + length <= c->length; i++) {
        size_t k = 0;
        while (k < length) {
            char a = c->text[i + k];
            a = (char)(a >= 'A' && a <= 'Z' ? a + 32 : a == '\n' ? ' ' : a);
            if (a != phrase[k + 1])
                break;
            k++;
        }
        if (k == length)
            return true;
    }
    return false;
}

static bool is_meta(const struct checker *c, const char *sentence, size_t length)
{
    static const char *const never[] = {" as an ai ",
                                        " language model ",
                                        " i am ",
                                        " i'm ",
                                        " i can ",
                                        " i will ",
                                        " i have ",
                                        " smollm ",
                                        " hugging face ",
                                        " assistant ",
                                        " summarize ",
                                        " summarise ",
                                        " summarized ",
                                        " summarises ",
                                        " summarizes ",
                                        " in summary ",
                                        " here is ",
                                        " here are ",
                                        " three sentences ",
                                        " 3 sentences ",
                                        " sure "};
    static const char *const unless_there[] = {
        " the text ",         " this text ",      " the passage ",   " this passage ",    " the summary ",
        " this summary ",     " summary ",        " the article ",   " this article ",    " the author ",
        " the paragraph ",    " this paragraph ", " the excerpt ",   " the document ",    " this document ",
        " the section ",      " this section ",   " the chapter ",   " the provided ",    " the given ",
        " text above ",       " above text ",     " text provided ", " the reader ",      " the writer ",
        " the essay ",        " the speaker ",    " described as ",  " is described ",    " are described ",
        " it describes ",     " it explains ",    " it discusses ",  " it provides ",     " it includes ",
        " it also includes ", " is a section ",   " is a document ", " is a legal term ", " the notes "};
    char folded[2048];
    fold(sentence, length, folded, sizeof folded);
    for (size_t i = 0; i < sizeof never / sizeof never[0]; i++)
        if (strstr(folded, never[i]) && !(i >= 3 && i <= 6 && text_has_phrase(c, never[i])))
            return true;
    for (size_t i = 0; i < sizeof unless_there / sizeof unless_there[0]; i++)
        if (strstr(folded, unless_there[i]) && !text_has_phrase(c, unless_there[i]))
            return true;
    return false;
}

static bool is_broken(const char *sentence, size_t length)
{
    size_t quotes = 0, marks = 0, open = 0, close = 0, arrows = 0;
    for (size_t i = 0; i < length; i++) {
        quotes += sentence[i] == '"';
        arrows += sentence[i] == '>' || sentence[i] == '<';
        open += sentence[i] == '(' || sentence[i] == '[';
        close += sentence[i] == ')' || sentence[i] == ']';
        marks += sentence[i] != '\0' && strchr("{}<>|\\`=#~^_*", sentence[i]) != NULL;
    }
    unsigned char first = length ? (unsigned char)sentence[0] : 0;
    /* "Grants > 2.4." is the heading path above the text, " * " the frame around it. */
    bool framed = memmem(sentence, length, " * ", 3) || memmem(sentence, length, " | ", 3);
    return arrows || framed || quotes % 2 != 0 || open != close || marks * 20 > length ||
           (first >= 'a' && first <= 'z') || (length && sentence[length - 1] == ':');
}

/* "a product but also a product": three words, two of them telling, that come again. */
static bool repeats_itself(const char *sentence, size_t length)
{
    struct word_set seen = {0};
    struct words walk = words_of(sentence, length);
    struct word word, last[3] = {{0}};
    bool again = false;
    for (size_t count = 0; !again && words_next(&walk, &word); count++) {
        last[0] = last[1];
        last[1] = last[2];
        last[2] = word;
        if (count < 2 || last[0].common + last[1].common + last[2].common > 1)
            continue;
        uint64_t key = (last[0].exact * 31 ^ last[1].exact) * 0x9E3779B97F4A7C15u ^ last[2].exact;
        again = word_set_has(&seen, key);
        (void)word_set_add(&seen, key);
    }
    word_set_fini(&seen);
    return again;
}

/* ---- the sentence ---------------------------------------------------------------------------- */

/* Whether the text lacks a number of the sentence, in digits or in words. */
static bool lacks_number(const struct checker *c, const char *sentence, size_t length)
{
    struct figure figures[MOST_FIGURES];
    size_t count = figures_list(sentence, length, figures, MOST_FIGURES);
    for (size_t i = 0; i < count && i < MOST_FIGURES; i++)
        if (!figures[i].weak && !word_set_has(&c->figures, figures[i].key))
            return true;
    return count > MOST_FIGURES; /* no sentence */
}

/* "…, which was a significant investment": a part of a sentence of which no word is in the text. */
static bool adds_a_clause(const struct checker *c, const char *sentence, size_t length)
{
    struct words walk = words_of(sentence, length);
    struct word word;
    size_t content = 0, found = 0, before = 0;
    while (words_next(&walk, &word)) {
        for (size_t i = before; i < word.first; i++)
            if (strchr(",;:()", sentence[i]) && sentence[i]) {
                if (content >= 2 && found == 0)
                    return true;
                content = found = 0;
            }
        before = word.last;
        content += !word.common;
        found += !word.common && (word_set_has(&c->stems, word.hash) || word_set_has(&c->exact, word.exact));
    }
    return content >= 2 && found == 0;
}

enum check_verdict check_sentence(const struct checker *c, const char *sentence, size_t length,
                                  float *ret_support)
{
    struct words walk = words_of(sentence, length);
    struct word word;
    size_t words = 0, content = 0, found = 0;
    bool name = false;
    while (words_next(&walk, &word)) {
        bool there = word_set_has(&c->stems, word.hash) || word_set_has(&c->exact, word.exact);
        bool first = words++ == 0;
        if (!word.number && word.capital && !first && !there)
            name = true;
        if (word.common)
            continue;
        content++;
        found += there;
    }
    *ret_support = content ? (float)found / (float)content : 0.0f;
    if (words < LEAST_WORDS || content < 2)
        return CHECK_SHORT;
    if (is_broken(sentence, length) || repeats_itself(sentence, length))
        return CHECK_BROKEN;
    if (is_meta(c, sentence, length))
        return CHECK_META;
    if (!each_run(sentence, length, lacks_run, (void *)(uintptr_t)&c->instruction))
        return CHECK_ECHO;
    if (lacks_number(c, sentence, length))
        return CHECK_NUMBER;
    if (name)
        return CHECK_NAME;
    return found * 5 >= content * 4 && !adds_a_clause(c, sentence, length) ? CHECK_GOOD : CHECK_WORDS;
}

bool check_is_quoted(const struct checker *c, const char *sentence, size_t length)
{
    return words_count(sentence, length) >= RUN &&
           each_run(sentence, length, has_run, (void *)(uintptr_t)&c->runs);
}

/* Words that turn what a sentence says: left out or put in, they make another sentence of it. */
static const char *const denials[] = {" not ",     " no ",      " never ",   " none ",   " nor ", " cannot ",
                                      " without ", " neither ", " nothing ", " nobody ", NULL};
static const char *const permissions[] = {" may ", " can ", " could ", " might ", " would ", NULL};
static const char *const duties[] = {" must ",     " shall ", " should ", " ought ",
                                     " required ", " need ",  NULL};
static const char *const conditions[] = {" if ",   " unless ",    " provided ", " except ",
                                         " only ", " otherwise ", NULL};

static bool holds_any(const char *folded, const char *const *words)
{
    for (; *words; words++)
        if (strstr(folded, *words))
            return true;
    return false;
}

static bool denies(const char *folded)
{
    return holds_any(folded, denials) || strstr(folded, "n't ") != NULL;
}

/* Whether the claim may, must or does what the text may, must or does. */
static bool keeps_mood(const char *text, const char *claim)
{
    bool bound = holds_any(text, permissions) || holds_any(text, duties) || strstr(text, " cannot ");
    bool claimed = holds_any(claim, permissions) || holds_any(claim, duties) || strstr(claim, " cannot ");
    if (bound != claimed || (holds_any(claim, duties) && !holds_any(text, duties)))
        return false;
    return holds_any(claim, conditions) || !holds_any(text, conditions);
}

bool check_rests_on(const char *text, size_t length, const char *claim, size_t claim_length)
{
    struct word_set there = {0};
    struct words walk = words_of(text, length);
    struct word word;
    size_t content = 0, found = 0, words = 0;
    bool subject = false;
    for (; words_next(&walk, &word); words++)
        (void)word_set_add(&there, word.hash);
    walk = words_of(claim, claim_length);
    while (words_next(&walk, &word)) {
        bool held = word_set_has(&there, word.hash);
        if (!word.common && content++ == 0)
            subject = held;
        found += !word.common && held;
    }
    word_set_fini(&there);
    if (!subject || found * 10 < content * 7)
        return false;
    char folded_text[4096], folded_claim[2048];
    fold(text, length, folded_text, sizeof folded_text);
    fold(claim, claim_length, folded_claim, sizeof folded_claim);
    if (!keeps_mood(folded_text, folded_claim))
        return false;
    bool denied = denies(folded_claim), in_text = denies(folded_text);
    /* A long stretch may deny something else. */
    return denied ? in_text : !in_text || words > 2 * words_count(claim, claim_length);
}

/* ---- where it comes from --------------------------------------------------------------------- */

static size_t list_words(const char *claim, size_t length, uint64_t *hashes)
{
    struct words walk = words_of(claim, length);
    struct word word;
    size_t count = 0;
    while (count < MOST_LOCATED && words_next(&walk, &word)) {
        bool seen = word.common;
        for (size_t i = 0; i < count && !seen; i++)
            seen = hashes[i] == word.hash;
        if (!seen)
            hashes[count++] = word.hash;
    }
    return count;
}

/* Which of the words the sentence holds, as bits. */
static uint64_t words_held(const char *text, size_t length, const uint64_t *hashes, size_t count,
                           size_t *ret_words)
{
    struct words walk = words_of(text, length);
    struct word word;
    uint64_t held = 0;
    *ret_words = 0;
    while (words_next(&walk, &word)) {
        ++*ret_words;
        for (size_t i = 0; i < count && !word.common; i++)
            if (hashes[i] == word.hash)
                held |= (uint64_t)1 << i;
    }
    return held;
}

struct best {
    size_t sentence;
    double value;
    uint64_t held;
};

/* The sentence with most of the wanted words; of equals the shorter, then the earlier. */
static struct best find_best(const struct ll_document *d, size_t first, size_t last, const uint64_t *hashes,
                             size_t count, uint64_t wanted)
{
    struct best best = {SIZE_MAX, 0, 0};
    for (size_t i = document_sentence(d, first); i < d->sentence_count && d->sentences[i].first < last; i++) {
        size_t words;
        const struct doc_sentence *s = &d->sentences[i];
        uint64_t held =
            words_held(d->text.text + s->first, s->last - s->first, hashes, count, &words) & wanted;
        double value = (double)__builtin_popcountll(held) - 0.004 * (double)words;
        if (held && value > best.value)
            best = (struct best){i, value, held};
    }
    return best;
}

void check_locate(const struct ll_document *d, size_t first, size_t last, const char *claim, size_t length,
                  size_t *ret_first, size_t *ret_last)
{
    uint64_t hashes[MOST_LOCATED];
    size_t count = list_words(claim, length, hashes);
    *ret_first = first;
    *ret_last = last;
    struct best one = find_best(d, first, last, hashes, count, UINT64_MAX);
    if (one.sentence == SIZE_MAX)
        return;
    *ret_first = d->sentences[one.sentence].first;
    *ret_last = d->sentences[one.sentence].last;
    size_t missing = count - (size_t)__builtin_popcountll(one.held);
    if (missing * 5 < count * 2)
        return;
    struct best two = find_best(d, first, last, hashes, count, ~one.held);
    if (two.sentence == SIZE_MAX || __builtin_popcountll(two.held) < 2)
        return;
    const struct doc_sentence *s = &d->sentences[two.sentence];
    *ret_first = s->first < *ret_first ? s->first : *ret_first;
    *ret_last = s->last > *ret_last ? s->last : *ret_last;
}
