/* Values of the template interpreter and the arena that holds them all.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every text knows which of its bytes are foreign: written by a person or a document, not by the
 * template. The mark travels through slicing, joining, replacing and every other operation, so that the
 * caller can tokenise foreign bytes as text whatever they spell. */
#ifndef TEXT_TEMPLATE_VALUE_H
#define TEXT_TEMPLATE_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- memory ---- */

struct arena { /* {.limit = …} is an empty arena; everything in it goes at once */
    struct arena_block *blocks;
    size_t used, limit; /* bytes */
    bool over;          /* the limit was met (else: no memory) */
    bool failed;
};

/* Zeroed; NULL when the limit or the memory is used up. */
void *arena_new(struct arena *arena, size_t count, size_t size);
void arena_fini(struct arena *arena);

/* ---- values ---- */

struct text_range {
    size_t start, end;
};

struct text {
    const char *bytes;
    size_t length;
    const struct text_range *foreign; /* ascending, apart from each other */
    size_t foreign_count;
};

enum value_kind {
    VALUE_MISSING, /* an argument that was not given; never seen by a template */
    VALUE_UNDEFINED,
    VALUE_NONE,
    VALUE_BOOL,
    VALUE_INT,
    VALUE_FLOAT,
    VALUE_TEXT,
    VALUE_LIST,
    VALUE_DICT,
    VALUE_SPACE, /* namespace(): the one thing that `set` may change inside */
    VALUE_LOOP,
    VALUE_CALL, /* a function, method or macro */
};

struct value {
    enum value_kind kind;
    union {
        bool truth;
        int64_t integer;
        double real;
        const struct text *text;
        struct list *list;
        struct dict *dict;
        struct loop_state *loop;
        const struct callable *call;
        const char *name; /* VALUE_UNDEFINED: what is not there; NULL: not known */
    };
};

struct list {
    struct value *items;
    size_t count, capacity;
    bool tuple;
};

struct dict { /* in order of insertion */
    struct value *keys, *values;
    size_t count, capacity;
};

static inline struct value value_undefined(const char *name)
{
    return (struct value){.kind = VALUE_UNDEFINED, .name = name};
}

static inline struct value value_none(void)
{
    return (struct value){.kind = VALUE_NONE};
}

static inline struct value value_bool(bool truth)
{
    return (struct value){.kind = VALUE_BOOL, .truth = truth};
}

static inline struct value value_int(int64_t integer)
{
    return (struct value){.kind = VALUE_INT, .integer = integer};
}

static inline struct value value_float(double real)
{
    return (struct value){.kind = VALUE_FLOAT, .real = real};
}

/* The makers below give VALUE_MISSING when the arena is used up (arena->failed). Bytes are borrowed. */
struct value value_text(struct arena *arena, const char *bytes, size_t length, bool foreign);
struct value value_slice(struct arena *arena, const struct text *text, size_t start, size_t end);
struct value value_list(struct arena *arena, bool tuple);
struct value value_dict(struct arena *arena);
bool list_push(struct arena *arena, struct list *list, struct value item);
/* Sets or adds. */
bool dict_set(struct arena *arena, struct dict *dict, struct value key, struct value value, uint64_t *steps);
bool dict_put(struct arena *arena, struct dict *dict, const char *key, struct value value);
const struct value *dict_find(const struct dict *dict, struct value key, uint64_t *steps); /* NULL: absent */
const struct value *dict_get(const struct dict *dict, const char *key);

bool value_is_number(struct value value); /* bool included, as in Python */
double value_real(struct value value);    /* of a number */
bool value_truth(struct value value);
/* Lists that hold lists twice double at each level: every item compared takes one of *steps, and with none
 * left, or nested too deeply, values count as different. */
bool value_equals(struct value a, struct value b, uint64_t *steps);
bool text_equals(const struct text *text, const char *other);
const char *value_kind_name(struct value value); /* "string", "list" … for messages */

/* ---- building text ---- */

struct text_builder {
    struct arena *arena;
    char *bytes;
    size_t length, capacity;
    struct text_range *ranges;
    size_t count, range_capacity;
};

void builder_bytes(struct text_builder *builder, const char *bytes, size_t length, bool foreign);
void builder_puts(struct text_builder *builder, const char *bytes); /* the template's own */
void builder_part(struct text_builder *builder, const struct text *text, size_t start, size_t end);
void builder_text(struct text_builder *builder, const struct text *text);
struct value builder_value(const struct text_builder *builder); /* keeps the builder's memory */
bool text_is_foreign(const struct text *text, size_t at);
/* As `{{ value }}` prints it; false: too deep. */
bool builder_value_text(struct text_builder *builder, struct value value);
/* As it stands inside a printed list. */
bool builder_repr(struct text_builder *builder, struct value value, int depth);

/* Where `what` begins in bytes; NULL: nowhere. */
const char *bytes_find(const char *bytes, size_t length, const char *what, size_t what_length);
/* What Python's str.strip takes off. */
bool code_is_blank(int32_t code);
size_t text_skip_blank(const char *bytes, size_t length);                /* blank bytes at the head */
size_t text_without_blank(const char *bytes, size_t length);             /* length without those at the end */
size_t text_characters(const char *bytes, size_t length);                /* code points */
size_t text_offset(const char *bytes, size_t length, size_t characters); /* bytes of the first n */

#endif
