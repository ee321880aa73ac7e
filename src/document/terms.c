/* How telling each word of a document is: counts, and the weight that follows from them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "document/terms.h"

#include <math.h>
#include <string.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/mem.h"

#define ONCE 0.15 /* of its weight has a word that comes once: it may be chance, or what matters */

static struct term *slot_of(struct term *slots, size_t capacity, uint64_t hash)
{
    size_t at = hash & (capacity - 1);
    while (slots[at].hash && slots[at].hash != hash)
        at = (at + 1) & (capacity - 1);
    return &slots[at];
}

static bool grow(struct terms *terms)
{
    size_t capacity = terms->capacity ? terms->capacity * 2 : 1024;
    struct term *slots = mem_new(capacity, sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; i < terms->capacity; i++)
        if (terms->slots[i].hash)
            *slot_of(slots, capacity, terms->slots[i].hash) = terms->slots[i];
    mem_free(terms->slots);
    terms->slots = slots;
    terms->capacity = capacity;
    return true;
}

static bool add(struct terms *terms, uint64_t hash, uint32_t sentence)
{
    hash += hash == 0;
    if (terms->count * 2 >= terms->capacity && !grow(terms))
        return false;
    struct term *term = slot_of(terms->slots, terms->capacity, hash);
    terms->count += term->hash == 0;
    term->hash = hash;
    term->count++;
    term->sentences += term->last != sentence + 1;
    term->last = sentence + 1;
    return true;
}

static bool learn_focus(struct terms *terms, const char *focus)
{
    struct words walk = words_of(focus, strlen(focus));
    struct word word;
    while (words_next(&walk, &word))
        if (!word.common && !word_set_add(&terms->focus, word.hash))
            return false;
    return true;
}

/* Of its words in their order, as a key beside those of single words. */
static uint64_t sentence_key(const char *text, size_t length)
{
    struct words walk = words_of(text, length);
    struct word word;
    uint64_t key = 0x73656E74;
    while (words_next(&walk, &word))
        key = (key ^ word.exact) * 0x9E3779B97F4A7C15u;
    return key;
}

ll_status terms_count(const struct ll_document *d, const char *focus, const ll_run *run, struct terms *terms,
                      ll_error *error)
{
    bool room = !focus || learn_focus(terms, focus);
    terms->sentences = d->sentence_count;
    for (size_t i = 0; i < d->sentence_count && room; i++) {
        const struct doc_sentence *s = &d->sentences[i];
        struct words walk = words_of(d->text.text + s->first, s->last - s->first);
        struct word word;
        if (i % 1024 == 0 && run && cancel_requested(run->cancel))
            return error_set(error, LL_CANCELLED, "summary", "the summary was cancelled");
        while (room && words_next(&walk, &word))
            room = word.common || add(terms, word.hash, (uint32_t)i);
        room = room && add(terms, sentence_key(d->text.text + s->first, s->last - s->first), (uint32_t)i);
    }
    return room ? LL_OK : error_nomem(error, "summary", terms->capacity * sizeof *terms->slots);
}

double terms_weight(const struct terms *terms, const struct word *word)
{
    uint64_t hash = word->hash + (word->hash == 0);
    if (word->common || !terms->capacity)
        return 0;
    const struct term *term = slot_of(terms->slots, terms->capacity, hash);
    if (!term->hash)
        return 0;
    double weight = log(1.0 + term->count) * log(1.0 + (double)terms->sentences / (1.0 + term->sentences));
    return term->count < 2 && terms->sentences > 8 ? weight * ONCE : weight;
}

static const struct term *find(const struct terms *terms, uint64_t hash)
{
    return terms->capacity ? slot_of(terms->slots, terms->capacity, hash + (hash == 0)) : NULL;
}

double terms_rarity(const struct terms *terms, uint64_t hash)
{
    const struct term *term = find(terms, hash);
    return log(1.0 + (double)terms->sentences / (1.0 + (term ? (double)term->sentences : 0.0)));
}

size_t terms_said(const struct terms *terms, const char *sentence, size_t length)
{
    const struct term *term = find(terms, sentence_key(sentence, length));
    return term ? term->count : 0;
}

bool terms_holds(const struct terms *terms, uint64_t hash)
{
    const struct term *term = find(terms, hash);
    return term && term->hash != 0;
}

size_t terms_focus(const struct terms *terms, const char *text, size_t length)
{
    struct words walk = words_of(text, length);
    struct word word;
    struct word_set met = {0};
    while (terms->focus.count && words_next(&walk, &word))
        if (word_set_has(&terms->focus, word.hash))
            (void)word_set_add(&met, word.hash);
    size_t count = met.count;
    word_set_fini(&met);
    return count;
}

void terms_fini(struct terms *terms)
{
    mem_free(terms->slots);
    word_set_fini(&terms->focus);
    *terms = (struct terms){0};
}
