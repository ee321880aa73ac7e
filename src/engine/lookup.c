/* Drafts what a text says next from what it has said before (n-gram lookup).
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine/lookup.h"

#include "base/mem.h"

enum { GRAM = 3, FIRST_LENGTH = 4, MOST_PAUSE = 32, LEAST_SLOTS = 1 << 10, MOST_SLOTS = 1 << 20 };

struct lookup {
    uint32_t *places; /* [slots] by an n-gram's hash: where its latest occurrence ends, 0: nowhere */
    size_t slots, read;
    size_t length;       /* of the next draft */
    size_t pause, rests; /* drafts left out after a wrong one, and how many of them still are */
};

struct lookup *lookup_open(size_t context)
{
    struct lookup *lookup = mem_new(1, sizeof *lookup);
    if (!lookup)
        return NULL;
    lookup->slots = LEAST_SLOTS;
    while (lookup->slots < MOST_SLOTS && lookup->slots / 2 < context)
        lookup->slots *= 2;
    lookup->length = FIRST_LENGTH;
    lookup->places = mem_new(lookup->slots, sizeof *lookup->places);
    if (lookup->places)
        return lookup;
    mem_free(lookup);
    return NULL;
}

void lookup_close(struct lookup *lookup)
{
    if (!lookup)
        return;
    mem_free(lookup->places);
    mem_free(lookup);
}

/* Grams that share a slot push each other out: a draft is lost, never wrong. */
static uint32_t *slot_of(const struct lookup *lookup, const ll_token *gram)
{
    uint64_t hash = 0;
    for (int i = 0; i < GRAM; i++)
        hash = (hash ^ (uint32_t)gram[i]) * 0x9E3779B97F4A7C15u;
    return &lookup->places[(hash >> 32) & (lookup->slots - 1)];
}

static bool same_gram(const ll_token *a, const ll_token *b)
{
    for (int i = 0; i < GRAM; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

/* Notes the grams that end before `count`, which leaves the last one to be looked up. */
static void read_on(struct lookup *lookup, const ll_token *tokens, size_t count)
{
    for (size_t end = lookup->read < GRAM ? GRAM : lookup->read; end < count; end++)
        *slot_of(lookup, tokens + end - GRAM) = (uint32_t)end;
    if (count > lookup->read)
        lookup->read = count;
}

size_t lookup_draft(struct lookup *lookup, const ll_token *tokens, size_t count, size_t most, ll_token *out)
{
    if (count <= GRAM || count > UINT32_MAX)
        return 0;
    read_on(lookup, tokens, count);
    const ll_token *gram = tokens + count - GRAM;
    size_t place = *slot_of(lookup, gram), wanted = lookup->length < most ? lookup->length : most;
    if (place < GRAM || !same_gram(tokens + place - GRAM, gram))
        return 0;
    if (lookup->rests > 0) {
        lookup->rests--;
        return 0;
    }
    for (size_t i = 0; i < wanted; i++) /* a draft may go on into itself, as repetitions do */
        out[i] = place + i < count ? tokens[place + i] : out[place + i - count];
    return wanted;
}

void lookup_learn(struct lookup *lookup, size_t drafted, size_t kept)
{
    if (kept == drafted)
        lookup->length = 2 * drafted < LOOKUP_MOST ? 2 * drafted : LOOKUP_MOST;
    else
        lookup->length = kept + 1;
    if (kept > 0)
        lookup->pause = 0;
    else if (lookup->pause < MOST_PAUSE)
        lookup->pause = 2 * lookup->pause + 1;
    lookup->rests = lookup->pause;
}
