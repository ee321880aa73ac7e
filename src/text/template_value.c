/* Values of the template interpreter and the arena that holds them all.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1 /* memmem */
#include "text/template_value.h"

#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

/* ---- memory ---- */

enum { BLOCK_BYTES = 16384, ALIGNMENT = 16 };

struct arena_block {
    struct arena_block *next;
    size_t used, size;
    _Alignas(16) unsigned char bytes[];
};

static struct arena_block *add_block(struct arena *arena, size_t bytes)
{
    size_t size = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
    struct arena_block *block = mem_new(1, sizeof *block + size);
    if (!block)
        return NULL;
    block->size = size;
    bool keep_head = arena->blocks && bytes > BLOCK_BYTES / 4; /* the head still has room for small things */
    block->next = keep_head ? arena->blocks->next : arena->blocks;
    if (keep_head)
        arena->blocks->next = block;
    else
        arena->blocks = block;
    return block;
}

void *arena_new(struct arena *arena, size_t count, size_t size)
{
    uint64_t bytes;
    if (!mem_multiply(count, size, &bytes) || bytes > arena->limit - arena->used) {
        arena->over = arena->failed = true;
        return NULL;
    }
    size_t need = ((size_t)bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    struct arena_block *block = arena->blocks;
    if (!block || need > block->size - block->used)
        block = add_block(arena, need);
    if (!block) {
        arena->failed = true;
        return NULL;
    }
    void *memory = block->bytes + block->used;
    block->used += need;
    arena->used += (size_t)bytes;
    return memory;
}

void arena_fini(struct arena *arena)
{
    while (arena->blocks) {
        struct arena_block *next = arena->blocks->next;
        mem_free(arena->blocks);
        arena->blocks = next;
    }
    *arena = (struct arena){0};
}

/* Room for one more item of each of two arrays (the second may be NULL). */
static bool grow(struct arena *arena, void **items, size_t count, size_t *capacity, size_t need, size_t size)
{
    if (need <= *capacity)
        return true;
    size_t wanted = *capacity * 2 > need ? *capacity * 2 : need < 8 ? 8 : need;
    void *grown = arena_new(arena, wanted, size);
    if (!grown)
        return false;
    if (count)
        memcpy(grown, *items, count * size);
    *items = grown;
    *capacity = wanted;
    return true;
}

/* ---- makers ---- */

struct value value_text(struct arena *arena, const char *bytes, size_t length, bool foreign)
{
    struct text *text = arena_new(arena, 1, sizeof *text);
    struct text_range *range = foreign && length ? arena_new(arena, 1, sizeof *range) : NULL;
    if (!text || (foreign && length && !range))
        return (struct value){.kind = VALUE_MISSING};
    *text = (struct text){bytes, length, range, range != NULL};
    if (range)
        *range = (struct text_range){0, length};
    return (struct value){.kind = VALUE_TEXT, .text = text};
}

struct value value_slice(struct arena *arena, const struct text *text, size_t start, size_t end)
{
    if (text->foreign_count == 0)
        return value_text(arena, text->bytes + start, end - start, false);
    if (text->foreign_count == 1 && text->foreign->start <= start && end <= text->foreign->end)
        return value_text(arena, text->bytes + start, end - start, true);
    struct text_builder builder = {.arena = arena};
    builder_part(&builder, text, start, end);
    return builder_value(&builder);
}

struct value value_list(struct arena *arena, bool tuple)
{
    struct list *list = arena_new(arena, 1, sizeof *list);
    if (!list)
        return (struct value){.kind = VALUE_MISSING};
    list->tuple = tuple;
    return (struct value){.kind = VALUE_LIST, .list = list};
}

struct value value_dict(struct arena *arena)
{
    struct dict *dict = arena_new(arena, 1, sizeof *dict);
    return dict ? (struct value){.kind = VALUE_DICT, .dict = dict} : (struct value){.kind = VALUE_MISSING};
}

bool list_push(struct arena *arena, struct list *list, struct value item)
{
    if (!grow(arena, (void **)&list->items, list->count, &list->capacity, list->count + 1, sizeof item))
        return false;
    list->items[list->count++] = item;
    return true;
}

const struct value *dict_find(const struct dict *dict, struct value key, uint64_t *steps)
{
    for (size_t i = 0; i < dict->count; i++)
        if (value_equals(dict->keys[i], key, steps))
            return &dict->values[i];
    return NULL;
}

const struct value *dict_get(const struct dict *dict, const char *key)
{
    for (size_t i = 0; i < dict->count; i++)
        if (dict->keys[i].kind == VALUE_TEXT && text_equals(dict->keys[i].text, key))
            return &dict->values[i];
    return NULL;
}

bool dict_set(struct arena *arena, struct dict *dict, struct value key, struct value value, uint64_t *steps)
{
    const struct value *old = dict_find(dict, key, steps);
    if (old) {
        dict->values[old - dict->values] = value;
        return true;
    }
    size_t capacity = dict->capacity;
    if (!grow(arena, (void **)&dict->keys, dict->count, &capacity, dict->count + 1, sizeof key) ||
        !grow(arena, (void **)&dict->values, dict->count, &dict->capacity, dict->count + 1, sizeof value))
        return false;
    dict->keys[dict->count] = key;
    dict->values[dict->count++] = value;
    return true;
}

bool dict_put(struct arena *arena, struct dict *dict, const char *key, struct value value)
{
    struct value text = value_text(arena, key, strlen(key), false);
    uint64_t plenty = UINT64_MAX; /* a text is compared at once */
    return text.kind == VALUE_TEXT && dict_set(arena, dict, text, value, &plenty);
}

/* ---- questions ---- */

bool text_equals(const struct text *text, const char *other)
{
    size_t length = strlen(other);
    return text->length == length && memcmp(text->bytes, other, length) == 0;
}

bool value_is_number(struct value value)
{
    return value.kind == VALUE_BOOL || value.kind == VALUE_INT || value.kind == VALUE_FLOAT;
}

double value_real(struct value value)
{
    return value.kind == VALUE_FLOAT ? value.real
           : value.kind == VALUE_INT ? (double)value.integer
                                     : value.truth;
}

bool value_truth(struct value value)
{
    switch (value.kind) {
    case VALUE_BOOL:
        return value.truth;
    case VALUE_INT:
        return value.integer != 0;
    case VALUE_FLOAT:
        return value.real != 0.0;
    case VALUE_TEXT:
        return value.text->length > 0;
    case VALUE_LIST:
        return value.list->count > 0;
    case VALUE_DICT:
        return value.dict->count > 0;
    case VALUE_SPACE:
    case VALUE_LOOP:
    case VALUE_CALL:
        return true;
    default:
        return false;
    }
}

enum { EQUAL_DEPTH = 60 }; /* deeper nests count as different */

static bool equal(struct value a, struct value b, int depth, uint64_t *steps);

static bool lists_equal(const struct list *a, const struct list *b, int depth, uint64_t *steps)
{
    if (a->count != b->count || a->tuple != b->tuple)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (!equal(a->items[i], b->items[i], depth + 1, steps))
            return false;
    return true;
}

static bool dicts_equal(const struct dict *a, const struct dict *b, int depth, uint64_t *steps)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const struct value *other = dict_find(b, a->keys[i], steps);
        if (!other || !equal(a->values[i], *other, depth + 1, steps))
            return false;
    }
    return true;
}

static bool equal(struct value a, struct value b, int depth, uint64_t *steps)
{
    if (depth > EQUAL_DEPTH || *steps == 0)
        return false;
    *steps -= depth > 0;
    if (value_is_number(a) && value_is_number(b)) {
        if (a.kind == VALUE_INT && b.kind == VALUE_INT)
            return a.integer == b.integer;
        return value_real(a) == value_real(b);
    }
    if (a.kind != b.kind)
        return false;
    switch (a.kind) {
    case VALUE_TEXT:
        return a.text->length == b.text->length &&
               (a.text->length == 0 || memcmp(a.text->bytes, b.text->bytes, a.text->length) == 0);
    case VALUE_LIST:
        return lists_equal(a.list, b.list, depth, steps);
    case VALUE_DICT:
        return dicts_equal(a.dict, b.dict, depth, steps);
    case VALUE_SPACE:
        return a.dict == b.dict;
    case VALUE_LOOP:
        return a.loop == b.loop;
    case VALUE_CALL:
        return a.call == b.call;
    default:
        return true;
    }
}

bool value_equals(struct value a, struct value b, uint64_t *steps)
{
    return equal(a, b, 0, steps);
}

const char *value_kind_name(struct value value)
{
    static const char *const names[] = {"nothing", "undefined", "none",   "boolean",
                                        "integer", "float",     "string", "list",
                                        "mapping", "namespace", "loop",   "function"};
    return names[value.kind];
}

/* ---- characters ---- */

const char *bytes_find(const char *bytes, size_t length, const char *what, size_t what_length)
{
    if (what_length == 0)
        return bytes;
    return length ? memmem(bytes, length, what, what_length) : NULL;
}

bool code_is_blank(int32_t code)
{
    return (code >= 9 && code <= 13) || (code >= 0x1C && code <= 0x20) || code == 0x85 || code == 0xA0 ||
           code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 ||
           code == 0x202F || code == 0x205F || code == 0x3000;
}

size_t text_skip_blank(const char *bytes, size_t length)
{
    size_t at = 0, step;
    while (at < length && code_is_blank(utf8_decode(bytes + at, length - at, &step)))
        at += step;
    return at;
}

/* The start of the character that ends at `end`. */
static size_t character_start(const char *bytes, size_t end)
{
    size_t step;
    for (size_t back = 1; back <= 4 && back <= end; back++)
        if (utf8_decode(bytes + end - back, back, &step) != UTF8_BAD && step == back)
            return end - back;
    return end - 1;
}

size_t text_without_blank(const char *bytes, size_t length)
{
    size_t step;
    while (length > 0) {
        size_t start = character_start(bytes, length);
        if (!code_is_blank(utf8_decode(bytes + start, length - start, &step)))
            break;
        length = start;
    }
    return length;
}

size_t text_offset(const char *bytes, size_t length, size_t characters)
{
    size_t at = 0, step;
    for (; characters > 0 && at < length; characters--) {
        (void)utf8_decode(bytes + at, length - at, &step);
        at += step;
    }
    return at;
}

size_t text_characters(const char *bytes, size_t length)
{
    size_t count = 0, step;
    for (size_t at = 0; at < length; at += step, count++)
        (void)utf8_decode(bytes + at, length - at, &step);
    return count;
}

bool text_is_foreign(const struct text *text, size_t at)
{
    size_t low = 0, high = text->foreign_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (text->foreign[middle].end <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low < text->foreign_count && text->foreign[low].start <= at;
}

/* ---- building ---- */

static void add_range(struct text_builder *builder, size_t start, size_t end)
{
    if (start == end)
        return;
    if (builder->count && builder->ranges[builder->count - 1].end == start) {
        builder->ranges[builder->count - 1].end = end;
        return;
    }
    if (!grow(builder->arena, (void **)&builder->ranges, builder->count, &builder->range_capacity,
              builder->count + 1, sizeof *builder->ranges))
        return;
    builder->ranges[builder->count++] = (struct text_range){start, end};
}

void builder_bytes(struct text_builder *builder, const char *bytes, size_t length, bool foreign)
{
    if (builder->arena->failed || length == 0)
        return;
    if (!grow(builder->arena, (void **)&builder->bytes, builder->length, &builder->capacity,
              builder->length + length, 1))
        return;
    memcpy(builder->bytes + builder->length, bytes, length);
    builder->length += length;
    if (foreign)
        add_range(builder, builder->length - length, builder->length);
}

void builder_puts(struct text_builder *builder, const char *bytes)
{
    builder_bytes(builder, bytes, strlen(bytes), false);
}

void builder_part(struct text_builder *builder, const struct text *text, size_t start, size_t end)
{
    size_t base = builder->length;
    if (start >= end)
        return;
    builder_bytes(builder, text->bytes + start, end - start, false);
    for (size_t i = 0; i < text->foreign_count && !builder->arena->failed; i++) {
        struct text_range range = text->foreign[i];
        range.start = range.start > start ? range.start : start;
        range.end = range.end < end ? range.end : end;
        if (range.start < range.end)
            add_range(builder, base + range.start - start, base + range.end - start);
    }
}

void builder_text(struct text_builder *builder, const struct text *text)
{
    builder_part(builder, text, 0, text->length);
}

struct value builder_value(const struct text_builder *builder)
{
    struct text *text = builder->arena->failed ? NULL : arena_new(builder->arena, 1, sizeof *text);
    if (!text)
        return (struct value){.kind = VALUE_MISSING};
    *text =
        (struct text){builder->bytes ? builder->bytes : "", builder->length, builder->ranges, builder->count};
    return (struct value){.kind = VALUE_TEXT, .text = text};
}
