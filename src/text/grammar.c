/* Compiles grammars: characters to bytes, alternatives to rules, and refuses what could not be run.
 * SPDX-License-Identifier: Apache-2.0 */
#include "text/grammar.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "text/grammar_build.h"

enum { MOST_ROUNDS = 200 };

static const char where[] = "grammar";

/* ---- building ---- */

ll_status grammar_add(struct grammar_build *b, uint32_t rule, const struct grammar_item *items, size_t count)
{
    if (b->item_count + count + 1 > GRAMMAR_MOST_ITEMS)
        return error_set(
            b->error, LL_UNSUPPORTED, where,
            "the grammar is too large: with its repetitions written out it has more than %d items",
            GRAMMAR_MOST_ITEMS);
    if (!mem_grow((void **)&b->items, &b->item_room, b->item_count + count + 1, sizeof *b->items) ||
        !mem_grow((void **)&b->alternatives, &b->alternative_room, b->alternative_count + 1,
                  sizeof *b->alternatives))
        return error_nomem(b->error, where, (b->item_count + count) * sizeof *b->items);
    b->alternatives[b->alternative_count++] = (struct grammar_alternative){rule, (uint32_t)b->item_count};
    if (count > 0)
        memcpy(b->items + b->item_count, items, count * sizeof *items);
    b->item_count += count;
    b->items[b->item_count++] = (struct grammar_item){.kind = GRAMMAR_END};
    return LL_OK;
}

void grammar_build_fini(struct grammar_build *b)
{
    mem_free(b->items);
    mem_free(b->alternatives);
    *b = (struct grammar_build){0};
}

/* ---- characters ---- */

static ll_status add_bytes(struct grammar_build *b, uint32_t rule, uint32_t low, uint32_t high)
{
    struct grammar_item items[4];
    char from[4], to[4];
    size_t length = utf8_encode((int32_t)low, from);
    utf8_encode((int32_t)high, to);
    for (size_t i = 0; i < length; i++)
        items[i] = (struct grammar_item){GRAMMAR_BYTES, (uint8_t)from[i], (uint8_t)to[i], 0};
    return grammar_add(b, rule, items, length);
}

/* Cut where the number of bytes changes, then where only the last bytes run through all they can. */
static ll_status add_range(struct grammar_build *b, uint32_t rule, uint32_t low, uint32_t high)
{
    static const uint32_t last[] = {0x7F, 0x7FF, 0xD7FF, 0xFFFF};
    while (low <= high) {
        uint32_t end = high;
        if (low >= 0xD800 && low <= 0xDFFF) {
            low = 0xE000;
            continue;
        }
        for (size_t i = 0; i < sizeof last / sizeof *last; i++)
            if (low <= last[i] && end > last[i])
                end = last[i];
        int tails = low > 0xFFFF ? 3 : low > 0x7FF ? 2 : low > 0x7F;
        for (int i = tails; i >= 1; i--) {
            uint32_t mask = (1u << (6 * i)) - 1;
            if ((low & ~mask) == (end & ~mask))
                continue;
            if (low & mask)
                end = low | mask;
            else if ((end & mask) != mask)
                end = (end & ~mask) - 1;
        }
        LL_TRY(add_bytes(b, rule, low, end));
        low = end + 1;
    }
    return LL_OK;
}

ll_status grammar_add_characters(struct grammar_build *b, uint32_t rule, const struct grammar_range *ranges,
                                 size_t count)
{
    for (size_t i = 0; i < count; i++)
        LL_TRY(add_range(b, rule, ranges[i].low, ranges[i].high < 0x10FFFF ? ranges[i].high : 0x10FFFF));
    return LL_OK;
}

/* ---- checks ---- */

struct checking {
    const struct grammar_build *build;
    struct grammar *grammar;
    bool *ends;         /* [rules]: some string of terminals comes of it */
    bool *empty;        /* [rules]: the empty one does */
    uint32_t *index;    /* [rules] Tarjan's numbers; 0: not seen */
    uint32_t *low;      /* [rules] */
    uint32_t *stack;    /* [rules] of components */
    bool *stacked;      /* [rules] */
    struct visit *path; /* [rules + 1] */
    size_t stack_count;
    uint32_t next;
};

struct visit { /* one rule on the way down */
    uint32_t rule, alternative, item;
};

static bool sequence_is(const struct grammar_item *item, const bool *rules, bool bytes)
{
    for (; item->kind != GRAMMAR_END; item++)
        if (item->kind == GRAMMAR_RULE ? !rules[item->rule] : !bytes)
            return false;
    return true;
}

/* Grows the set until nothing is added: rules with an alternative of members (and bytes) only. Both ways by
 * turns, so that chains of rules take few rounds; false: too many. */
static bool close_set(const struct grammar_build *b, bool *rules, bool bytes)
{
    for (int round = 0; round < MOST_ROUNDS; round++) {
        bool grown = false;
        for (size_t i = 0; i < b->alternative_count; i++) {
            const struct grammar_alternative *a =
                &b->alternatives[round % 2 ? i : b->alternative_count - 1 - i];
            if (!rules[a->rule] && sequence_is(b->items + a->start, rules, bytes))
                grown = rules[a->rule] = true;
        }
        if (!grown)
            return true;
    }
    return false;
}

/* Alternatives by rule, without those that cannot end. */
static ll_status arrange(struct checking *c, ll_error *error)
{
    const struct grammar_build *b = c->build;
    struct grammar *g = c->grammar;
    g->rules = mem_new(b->rule_count, sizeof *g->rules);
    g->starts = mem_new(b->alternative_count, sizeof *g->starts);
    if (!g->rules || !g->starts)
        return error_nomem(error, where, b->alternative_count * sizeof *g->starts);
    g->rule_count = b->rule_count;
    for (size_t i = 0; i < b->alternative_count; i++)
        if (sequence_is(b->items + b->alternatives[i].start, c->ends, true))
            g->rules[b->alternatives[i].rule].count++;
    for (size_t r = 0; r < b->rule_count; r++) {
        g->rules[r].first = (uint32_t)g->start_count;
        g->start_count += g->rules[r].count;
        g->rules[r].count = 0;
    }
    for (size_t i = 0; i < b->alternative_count; i++)
        if (sequence_is(b->items + b->alternatives[i].start, c->ends, true)) {
            struct grammar_rule *rule = &g->rules[b->alternatives[i].rule];
            g->starts[rule->first + rule->count++] = b->alternatives[i].start;
        }
    return LL_OK;
}

/* The next rule that stands at the visit's left edge, behind nothing or what may be empty. False: no more.
 * *ret_tail: nothing follows it, so that it takes no room while it is run. */
static bool next_left(struct checking *c, struct visit *visit, uint32_t *ret_rule, bool *ret_tail)
{
    const struct grammar_rule *rule = &c->grammar->rules[visit->rule];
    for (; visit->alternative < rule->count; visit->alternative++, visit->item = 0) {
        const struct grammar_item *sequence =
            c->build->items + c->grammar->starts[rule->first + visit->alternative];
        const struct grammar_item *item = sequence + visit->item;
        if (item->kind != GRAMMAR_RULE || (visit->item > 0 && !c->empty[item[-1].rule]))
            continue;
        visit->item++;
        *ret_rule = item->rule;
        *ret_tail = item[1].kind == GRAMMAR_END;
        return true;
    }
    return false;
}

static void enter(struct checking *c, size_t *depth, uint32_t rule)
{
    c->index[rule] = c->low[rule] = ++c->next;
    c->stack[c->stack_count++] = rule;
    c->stacked[rule] = true;
    c->path[(*depth)++] = (struct visit){rule, 0, 0};
}

static void leave(struct checking *c, uint32_t rule)
{
    if (c->low[rule] != c->index[rule])
        return;
    uint32_t member;
    do {
        member = c->stack[--c->stack_count];
        c->stacked[member] = false;
        c->low[member] = c->index[rule]; /* the component's name from here on */
    } while (member != rule);
}

/* Tarjan's strongly connected components over left edges. */
static void find_components(struct checking *c, uint32_t from)
{
    size_t depth = 0;
    enter(c, &depth, from);
    while (depth > 0) {
        struct visit *visit = &c->path[depth - 1];
        uint32_t rule;
        bool tail;
        if (next_left(c, visit, &rule, &tail)) {
            if (c->index[rule] == 0)
                enter(c, &depth, rule);
            else if (c->stacked[rule] && c->index[rule] < c->low[visit->rule])
                c->low[visit->rule] = c->index[rule];
            continue;
        }
        uint32_t done = visit->rule;
        depth--;
        if (depth > 0 && c->low[done] < c->low[c->path[depth - 1].rule])
            c->low[c->path[depth - 1].rule] = c->low[done];
        leave(c, done);
    }
}

/* A rule that leads back to itself before any byte, with something behind it, would grow without end. */
static bool recurses_on_the_left(struct checking *c)
{
    for (uint32_t r = 0; r < c->grammar->rule_count; r++)
        if (c->index[r] == 0)
            find_components(c, r);
    for (uint32_t r = 0; r < c->grammar->rule_count; r++) {
        struct visit visit = {r, 0, 0};
        uint32_t rule;
        bool tail;
        while (next_left(c, &visit, &rule, &tail))
            if (!tail && c->low[rule] == c->low[r])
                return true;
    }
    return false;
}

static ll_status check(struct checking *c, uint32_t root, ll_error *error)
{
    size_t rules = c->build->rule_count;
    c->ends = mem_new(rules, sizeof *c->ends);
    c->empty = mem_new(rules, sizeof *c->empty);
    c->index = mem_new(rules, sizeof *c->index);
    c->low = mem_new(rules, sizeof *c->low);
    c->stack = mem_new(rules, sizeof *c->stack);
    c->stacked = mem_new(rules, sizeof *c->stacked);
    c->path = mem_new(rules + 1, sizeof *c->path);
    if (!c->ends || !c->empty || !c->index || !c->low || !c->stack || !c->stacked || !c->path)
        return error_nomem(error, where, rules * sizeof *c->path);
    if (!close_set(c->build, c->ends, true) || !close_set(c->build, c->empty, false))
        return error_set(error, LL_UNSUPPORTED, where, "the grammar's rules are too entangled");
    if (!c->ends[root])
        return error_set(error, LL_UNSUPPORTED, where, "no text that ends comes of the grammar's root");
    LL_TRY(arrange(c, error));
    if (recurses_on_the_left(c))
        return error_set(error, LL_UNSUPPORTED, where,
                         "the grammar recurses on its left; let what repeats stand at the right, or use *");
    return LL_OK;
}

ll_status grammar_compile(struct grammar_build *b, uint32_t root, struct grammar *ret)
{
    struct grammar grammar = {.root = root};
    struct checking c = {.build = b, .grammar = &grammar};
    ll_status status = check(&c, root, b->error);
    mem_free(c.ends);
    mem_free(c.empty);
    mem_free(c.index);
    mem_free(c.low);
    mem_free(c.stack);
    mem_free(c.stacked);
    mem_free(c.path);
    if (status != LL_OK) {
        grammar_fini(&grammar);
        return status;
    }
    grammar.items = b->items;
    grammar.item_count = b->item_count;
    b->items = NULL;
    *ret = grammar;
    return LL_OK;
}

void grammar_fini(struct grammar *g)
{
    mem_free(g->items);
    mem_free(g->rules);
    mem_free(g->starts);
    *g = (struct grammar){0};
}
