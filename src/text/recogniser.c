/* Follows a grammar byte by byte and says which tokens may come next.
 * SPDX-License-Identifier: Apache-2.0 */
#include "text/recogniser.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"

enum {
    MOST_STACKS = 2048,    /* in one state */
    MOST_WORK = 1 << 16,   /* nodes looked at for one move */
    MOST_NODES = 1 << 20,  /* before all is forgotten and found anew */
    MOST_STATES = 1 << 14, /* before the same                  */
    MOST_STATES_AT_ONCE = 1 << 17,
    UNKNOWN = -2,
    DEAD = -1
};

static const char where[] = "grammar";

struct node { /* a place in the grammar, and the stack to go on with behind it; -1: none */
    uint32_t item;
    int32_t below;
    uint32_t seen; /* the last move that looked at it */
};

struct state {
    uint32_t first, count; /* of its nodes in members, in ascending order; all stand before bytes */
    bool accepts;
    int32_t *moves; /* [256], NULL until asked */
    uint64_t *mask; /* [mask_words], NULL until asked */
};

struct recogniser {
    struct grammar grammar;
    const struct tokenizer *tokenizer;
    size_t vocabulary, mask_words;
    bool end_tokens;
    ll_token *order;  /* [ordered]: tokens with text, by their bytes */
    uint16_t *common; /* [ordered]: bytes that one has in common with the one before */
    size_t ordered, longest;
    struct node *nodes;
    int32_t *node_slots; /* hash of nodes, [slot_count], -1: free */
    size_t node_count, node_room, node_slot_count;
    struct state *states;
    int32_t *state_slots;
    size_t state_count, state_room, state_slot_count;
    int32_t *members;
    size_t member_count, member_room;
    int32_t *work, *found; /* [MOST_WORK], [MOST_WORK] */
    size_t work_count, found_count;
    bool accepts, overflow;
    uint32_t turn;
    int32_t *path; /* [longest + 1] states along a token */
    int32_t now;
    ll_error *error;
};

/* ---- nodes ---- */

static uint64_t node_hash(uint32_t item, int32_t below)
{
    uint64_t key = (uint64_t)item << 32 | (uint32_t)below;
    key *= 0x9E3779B97F4A7C15u;
    return key ^ (key >> 29);
}

static bool grow_slots(int32_t **slots, size_t *count, size_t used)
{
    if (*slots && used * 2 < *count)
        return false;
    size_t larger = *count ? *count * 2 : 1024;
    int32_t *made = mem_new(larger, sizeof *made);
    if (!made)
        return false;
    mem_free(*slots);
    *slots = made;
    *count = larger;
    memset(made, 0xFF, larger * sizeof *made);
    return true;
}

static int32_t node_of(struct recogniser *r, uint32_t item, int32_t below)
{
    if (grow_slots(&r->node_slots, &r->node_slot_count, r->node_count))
        for (size_t i = 0; i < r->node_count; i++) {
            size_t at = node_hash(r->nodes[i].item, r->nodes[i].below) & (r->node_slot_count - 1);
            while (r->node_slots[at] >= 0)
                at = (at + 1) & (r->node_slot_count - 1);
            r->node_slots[at] = (int32_t)i;
        }
    if (!r->node_slots || r->node_count + 1 >= r->node_slot_count ||
        !mem_grow((void **)&r->nodes, &r->node_room, r->node_count + 1, sizeof *r->nodes))
        return -1;
    size_t at = node_hash(item, below) & (r->node_slot_count - 1);
    for (; r->node_slots[at] >= 0; at = (at + 1) & (r->node_slot_count - 1)) {
        const struct node *node = &r->nodes[r->node_slots[at]];
        if (node->item == item && node->below == below)
            return r->node_slots[at];
    }
    r->nodes[r->node_count] = (struct node){item, below, 0};
    return r->node_slots[at] = (int32_t)r->node_count++;
}

/* ---- one move ---- */

/* A place to be looked at in this move, once. */
static bool look_at(struct recogniser *r, uint32_t item, int32_t below)
{
    int32_t node = node_of(r, item, below);
    if (node < 0)
        return false;
    if (r->nodes[node].seen == r->turn)
        return true;
    r->nodes[node].seen = r->turn;
    if (r->work_count >= MOST_WORK) {
        r->overflow = true;
        return false;
    }
    r->work[r->work_count++] = node;
    return true;
}

/* A rule at a sequence's end takes no room: its stack goes on with ours. */
static bool open_rule(struct recogniser *r, const struct node *node, uint32_t rule)
{
    int32_t below = node->below;
    const struct grammar_rule *open = &r->grammar.rules[rule];
    if (r->grammar.items[node->item + 1].kind != GRAMMAR_END) {
        below = node_of(r, node->item + 1, node->below);
        if (below < 0)
            return false;
    }
    for (uint32_t i = 0; i < open->count; i++)
        if (!look_at(r, r->grammar.starts[open->first + i], below))
            return false;
    return true;
}

/* From all places of the work list to the bytes that may come: found, and whether the text may end. */
static bool expand(struct recogniser *r)
{
    for (size_t i = 0; i < r->work_count; i++) {
        struct node node = r->nodes[r->work[i]];
        const struct grammar_item *item = &r->grammar.items[node.item];
        bool good = true;
        if (item->kind == GRAMMAR_BYTES)
            r->found[r->found_count++] = r->work[i];
        else if (item->kind == GRAMMAR_RULE)
            good = open_rule(r, &node, item->rule);
        else if (node.below < 0)
            r->accepts = true;
        else
            good = look_at(r, r->nodes[node.below].item, r->nodes[node.below].below);
        if (!good)
            return false;
    }
    return true;
}

static void begin_move(struct recogniser *r)
{
    r->turn++;
    r->work_count = r->found_count = 0;
    r->accepts = r->overflow = false;
}

/* ---- states ---- */

static int by_number(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static uint64_t state_hash(const int32_t *members, size_t count, bool accepts)
{
    return hash_bytes(members, count * sizeof *members, accepts);
}

static bool is_state(const struct recogniser *r, int32_t number)
{
    const struct state *s = &r->states[number];
    return s->count == r->found_count && s->accepts == r->accepts &&
           memcmp(r->members + s->first, r->found, s->count * sizeof *r->found) == 0;
}

static int32_t add_state(struct recogniser *r)
{
    if (r->state_count >= MOST_STATES_AT_ONCE) {
        r->overflow = true;
        return UNKNOWN;
    }
    if (!mem_grow((void **)&r->states, &r->state_room, r->state_count + 1, sizeof *r->states) ||
        !mem_grow((void **)&r->members, &r->member_room, r->member_count + r->found_count + 1,
                  sizeof *r->members))
        return UNKNOWN;
    memcpy(r->members + r->member_count, r->found, r->found_count * sizeof *r->found);
    r->states[r->state_count] =
        (struct state){(uint32_t)r->member_count, (uint32_t)r->found_count, r->accepts, NULL, NULL};
    r->member_count += r->found_count;
    return (int32_t)r->state_count++;
}

/* The state of what was found; DEAD for nothing, UNKNOWN for no memory. */
static int32_t state_of_found(struct recogniser *r)
{
    if (r->found_count == 0 && !r->accepts)
        return DEAD;
    if (r->found_count > MOST_STACKS) {
        r->overflow = true;
        return UNKNOWN;
    }
    qsort(r->found, r->found_count, sizeof *r->found, by_number);
    if (grow_slots(&r->state_slots, &r->state_slot_count, r->state_count))
        for (size_t i = 0; i < r->state_count; i++) {
            const struct state *s = &r->states[i];
            size_t at = state_hash(r->members + s->first, s->count, s->accepts) & (r->state_slot_count - 1);
            while (r->state_slots[at] >= 0)
                at = (at + 1) & (r->state_slot_count - 1);
            r->state_slots[at] = (int32_t)i;
        }
    if (!r->state_slots || r->state_count + 1 >= r->state_slot_count)
        return UNKNOWN;
    size_t at = state_hash(r->found, r->found_count, r->accepts) & (r->state_slot_count - 1);
    for (; r->state_slots[at] >= 0; at = (at + 1) & (r->state_slot_count - 1))
        if (is_state(r, r->state_slots[at]))
            return r->state_slots[at];
    int32_t made = add_state(r);
    if (made >= 0)
        r->state_slots[at] = made;
    return made;
}

static ll_status move_failed(struct recogniser *r)
{
    if (r->overflow)
        return error_set(r->error, LL_UNSUPPORTED, where,
                         "the grammar is too ambiguous: what was written can be read in too many ways");
    return error_nomem(r->error, where, r->node_count * sizeof *r->nodes);
}

static ll_status move(struct recogniser *r, int32_t from, unsigned char byte, int32_t *ret)
{
    struct state *s = &r->states[from];
    if (s->moves && s->moves[byte] != UNKNOWN) {
        *ret = s->moves[byte];
        return LL_OK;
    }
    if (!s->moves) {
        s->moves = mem_new(256, sizeof *s->moves);
        if (!s->moves)
            return error_nomem(r->error, where, 256 * sizeof *s->moves);
        for (int i = 0; i < 256; i++)
            s->moves[i] = UNKNOWN;
    }
    begin_move(r);
    bool good = true;
    for (uint32_t i = 0; good && i < s->count; i++) {
        struct node node = r->nodes[r->members[s->first + i]];
        const struct grammar_item *item = &r->grammar.items[node.item];
        if (byte >= item->low && byte <= item->high)
            good = look_at(r, node.item + 1, node.below);
    }
    good = good && expand(r);
    int32_t to = good ? state_of_found(r) : UNKNOWN;
    if (to == UNKNOWN)
        return move_failed(r);
    r->states[from].moves[byte] = to; /* states may have moved */
    *ret = to;
    return LL_OK;
}

/* ---- opening ---- */

struct ordering {
    const char *text;
    size_t length;
    ll_token token;
};

static int by_text(const void *a, const void *b)
{
    const struct ordering *x = a, *y = b;
    size_t length = x->length < y->length ? x->length : y->length;
    int order = memcmp(x->text, y->text, length);
    return order ? order : (x->length > y->length) - (x->length < y->length);
}

static size_t shared_head(const struct ordering *a, const struct ordering *b)
{
    size_t n = 0;
    while (n < a->length && n < b->length && n < UINT16_MAX && a->text[n] == b->text[n])
        n++;
    return n;
}

static ll_status order_tokens(struct recogniser *r)
{
    struct ordering *list = mem_new(r->vocabulary, sizeof *list);
    r->order = mem_new(r->vocabulary, sizeof *r->order);
    r->common = mem_new(r->vocabulary, sizeof *r->common);
    if (!list || !r->order || !r->common) {
        mem_free(list);
        return error_nomem(r->error, where, r->vocabulary * sizeof *list);
    }
    size_t known = r->tokenizer ? tokenizer_size(r->tokenizer) : 0;
    for (size_t i = 0; i < r->vocabulary && i < known; i++) {
        size_t length = 0;
        const char *text = tokenizer_piece(r->tokenizer, (ll_token)i, &length);
        if (!text || length == 0 || length >= UINT16_MAX || tokenizer_is_end(r->tokenizer, (ll_token)i))
            continue;
        list[r->ordered++] = (struct ordering){text, length, (ll_token)i};
        r->longest = length > r->longest ? length : r->longest;
    }
    qsort(list, r->ordered, sizeof *list, by_text);
    for (size_t i = 0; i < r->ordered; i++) {
        r->order[i] = list[i].token;
        r->common[i] = i ? (uint16_t)shared_head(&list[i - 1], &list[i]) : 0;
    }
    mem_free(list);
    r->path = mem_new(r->longest + 1, sizeof *r->path);
    return r->path ? LL_OK : error_nomem(r->error, where, r->longest * sizeof *r->path);
}

static ll_status begin_at_root(struct recogniser *r)
{
    const struct grammar_rule *root = &r->grammar.rules[r->grammar.root];
    bool good = true;
    begin_move(r);
    for (uint32_t i = 0; good && i < root->count; i++)
        good = look_at(r, r->grammar.starts[root->first + i], -1);
    good = good && expand(r);
    r->now = good ? state_of_found(r) : UNKNOWN;
    return r->now == UNKNOWN ? move_failed(r) : LL_OK;
}

ll_status recogniser_open(struct grammar *grammar, const struct tokenizer *tokenizer, size_t vocabulary,
                          bool end_tokens, struct recogniser **ret, ll_error *error)
{
    struct recogniser *r = mem_new(1, sizeof *r);
    if (!r)
        return error_nomem(error, where, sizeof *r);
    *r = (struct recogniser){.grammar = *grammar,
                             .tokenizer = tokenizer,
                             .vocabulary = vocabulary,
                             .mask_words = (vocabulary + 63) / 64,
                             .end_tokens = end_tokens,
                             .error = error};
    *grammar = (struct grammar){0};
    r->work = mem_new(MOST_WORK, sizeof *r->work);
    r->found = mem_new(MOST_WORK, sizeof *r->found);
    ll_status status = r->work && r->found ? LL_OK : error_nomem(error, where, MOST_WORK * sizeof *r->work);
    if (status == LL_OK)
        status = order_tokens(r);
    if (status == LL_OK)
        status = begin_at_root(r);
    if (status == LL_OK)
        *ret = r;
    else
        recogniser_close(r);
    return status;
}

static void forget_states(struct recogniser *r)
{
    for (size_t i = 0; i < r->state_count; i++) {
        mem_free(r->states[i].moves);
        mem_free(r->states[i].mask);
    }
    mem_free(r->states);
    mem_free(r->members);
    mem_free(r->state_slots);
    r->states = NULL;
    r->members = NULL;
    r->state_slots = NULL;
    r->state_count = r->state_room = r->state_slot_count = r->member_count = r->member_room = 0;
}

void recogniser_close(struct recogniser *r)
{
    if (!r)
        return;
    forget_states(r);
    mem_free(r->nodes);
    mem_free(r->node_slots);
    mem_free(r->order);
    mem_free(r->common);
    mem_free(r->work);
    mem_free(r->found);
    mem_free(r->path);
    grammar_fini(&r->grammar);
    mem_free(r);
}

/* ---- forgetting ---- */

/* A stack of the old nodes, made of new ones. */
static int32_t copy_stack(struct recogniser *r, const struct node *old, int32_t top, size_t *depth)
{
    int32_t below = -1;
    *depth = 0;
    for (int32_t at = top; at >= 0; at = old[at].below) {
        if (*depth >= MOST_WORK)
            return -1;
        r->work[(*depth)++] = at;
    }
    for (size_t i = *depth; i-- > 0;) {
        below = node_of(r, old[r->work[i]].item, below);
        if (below < 0)
            return -1;
    }
    return below;
}

/* Keeps the present state alone. */
static ll_status forget(struct recogniser *r)
{
    struct node *old = r->nodes;
    const struct state now = r->states[r->now];
    size_t depth;
    memcpy(r->found, r->members + now.first, now.count * sizeof *r->found);
    forget_states(r);
    mem_free(r->node_slots);
    r->nodes = NULL;
    r->node_slots = NULL;
    r->node_count = r->node_room = r->node_slot_count = 0;
    bool good = true;
    for (uint32_t i = 0; good && i < now.count; i++) {
        r->found[i] = copy_stack(r, old, r->found[i], &depth);
        good = r->found[i] >= 0;
    }
    mem_free(old);
    r->turn = 0;
    r->found_count = now.count;
    r->accepts = now.accepts;
    r->overflow = false;
    r->now = good ? state_of_found(r) : UNKNOWN;
    if (r->now < 0) {
        r->now = 0;
        return error_set(r->error, LL_UNSUPPORTED, where, "the grammar nests more than %d levels deep",
                         MOST_WORK);
    }
    return LL_OK;
}

static ll_status tidy(struct recogniser *r)
{
    return r->node_count > MOST_NODES || r->state_count > MOST_STATES ? forget(r) : LL_OK;
}

/* ---- masks ---- */

/* Tokens in the order of their bytes: what one shares with the one before is not followed again. */
static ll_status find_mask(struct recogniser *r, uint64_t *mask, size_t *ret_count)
{
    size_t known = 0; /* path[0 … known] are right for the token before; the last may be DEAD */
    r->path[0] = r->now;
    *ret_count = 0;
    for (size_t i = 0; i < r->ordered; i++) {
        size_t length = 0, at = r->common[i] < known ? r->common[i] : known;
        const char *text = tokenizer_piece(r->tokenizer, r->order[i], &length);
        while (at < length && r->path[at] != DEAD) {
            LL_TRY(move(r, r->path[at], (unsigned char)text[at], &r->path[at + 1]));
            at++;
        }
        known = at;
        if (at < length || r->path[at] == DEAD)
            continue;
        mask[r->order[i] / 64] |= (uint64_t)1 << (r->order[i] % 64);
        (*ret_count)++;
    }
    return LL_OK;
}

ll_status recogniser_mask(struct recogniser *r, float *logits, ll_error *error)
{
    size_t count = 0;
    r->error = error;
    LL_TRY(tidy(r));
    if (!r->states[r->now].mask) {
        uint64_t *mask = mem_new(r->mask_words, sizeof *mask);
        if (!mask)
            return error_nomem(error, where, r->mask_words * sizeof *mask);
        ll_status status = find_mask(r, mask, &count);
        if (status != LL_OK) {
            mem_free(mask);
            return status;
        }
        bool ends = r->states[r->now].accepts && r->end_tokens;
        for (size_t i = 0; ends && i < r->vocabulary; i++)
            if (tokenizer_is_end(r->tokenizer, (ll_token)i)) {
                mask[i / 64] |= (uint64_t)1 << (i % 64);
                count++;
            }
        if (count == 0) {
            mem_free(mask);
            return error_set(error, LL_UNSUPPORTED, where,
                             "no token of this model's vocabulary spells what the grammar asks for next");
        }
        r->states[r->now].mask = mask;
    }
    const uint64_t *mask = r->states[r->now].mask;
    for (size_t i = 0; i < r->vocabulary; i++)
        if (!(mask[i / 64] >> (i % 64) & 1))
            logits[i] = -INFINITY;
    return LL_OK;
}

ll_status recogniser_follow(struct recogniser *r, const char *bytes, size_t length, bool *ret,
                            ll_error *error)
{
    int32_t at = r->now;
    r->error = error;
    for (size_t i = 0; i < length && at != DEAD; i++)
        LL_TRY(move(r, at, (unsigned char)bytes[i], &at));
    *ret = at != DEAD;
    if (at != DEAD)
        r->now = at;
    return LL_OK;
}

ll_status recogniser_accept(struct recogniser *r, ll_token token, ll_error *error)
{
    size_t length = 0;
    bool good;
    const char *text = tokenizer_piece(r->tokenizer, token, &length);
    if (tokenizer_is_end(r->tokenizer, token))
        return LL_OK;
    LL_TRY(recogniser_follow(r, text ? text : "", length, &good, error));
    return good ? LL_OK
                : error_set(error, LL_INTERNAL, where, "a token came that the grammar does not allow");
}

bool recogniser_may_end(const struct recogniser *r)
{
    return r->states[r->now].accepts;
}

bool recogniser_must_end(struct recogniser *r)
{
    return r->states[r->now].accepts && r->states[r->now].count == 0;
}
