/* A sentence of a summary and the place in the document that it rests on.
 * SPDX-License-Identifier: Apache-2.0 */
#include "document/claim.h"

#include "base/mem.h"
#include "base/strbuf.h"
#include "readers/words.h"

enum { RUN = 5 };

bool claim_add(struct claim_list *list, const char *text, size_t length, const struct claim *rest)
{
    struct strbuf copy = {0};
    bool blank = false;
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if (c == ' ' || c == '\n' || c == '\t') {
            blank = copy.length > 0;
            continue;
        }
        if (blank)
            strbuf_putc(&copy, ' ');
        blank = false;
        strbuf_putc(&copy, c);
    }
    struct claim claim = *rest;
    claim.text = strbuf_take(&copy, &claim.length);
    if (!claim.text ||
        !mem_grow((void **)&list->items, &list->capacity, list->count + 1, sizeof *list->items)) {
        mem_free(claim.text);
        return false;
    }
    claim.words = words_count(claim.text, claim.length);
    list->items[list->count++] = claim;
    return true;
}

void claim_list_fini(struct claim_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        mem_free(list->items[i].text);
    mem_free(list->items);
    *list = (struct claim_list){0};
}

/* Hashes of each run of RUN words (of all words when there are fewer). */
static size_t hash_runs(const char *text, size_t length, struct word_set *runs)
{
    struct words walk = words_of(text, length);
    struct word word;
    uint64_t last[RUN] = {0};
    size_t count = 0;
    while (words_next(&walk, &word)) {
        last[count++ % RUN] = word.hash;
        uint64_t key = 0;
        for (size_t i = 0; i < RUN && count >= RUN; i++)
            key = (key ^ last[(count + i) % RUN]) * 0x9E3779B97F4A7C15u;
        if (count >= RUN)
            (void)word_set_add(runs, key);
    }
    uint64_t all = 0;
    for (size_t i = 0; i < count && count < RUN; i++)
        all = (all ^ last[i]) * 0x9E3779B97F4A7C15u;
    if (count < RUN)
        (void)word_set_add(runs, all);
    return count;
}

/* Runs of both, runs of the shorter one, runs of either. */
struct comparison {
    size_t shared, least, all;
};

static struct comparison compare(const char *a, size_t a_length, const char *b, size_t b_length)
{
    struct word_set first = {0}, second = {0};
    struct comparison c = {0};
    (void)hash_runs(a, a_length, &first);
    (void)hash_runs(b, b_length, &second);
    for (size_t i = 0; i < first.capacity; i++)
        c.shared += first.slots[i] && word_set_has(&second, first.slots[i]);
    c.least = first.count < second.count ? first.count : second.count;
    c.all = first.count + second.count - c.shared;
    word_set_fini(&first);
    word_set_fini(&second);
    return c;
}

bool claim_repeats(const char *a, size_t a_length, const char *b, size_t b_length)
{
    struct comparison c = compare(a, a_length, b, b_length);
    return c.shared * 5 >= c.all * 4;
}

bool claim_overlaps(const char *a, size_t a_length, const char *b, size_t b_length)
{
    struct comparison c = compare(a, a_length, b, b_length);
    return c.shared > 0 && c.shared * 2 >= c.least;
}

bool claim_supported(const struct claim *claim)
{
    return claim->quoted || claim->counted || (claim->borne && claim->support >= CLAIM_SUPPORTED);
}
