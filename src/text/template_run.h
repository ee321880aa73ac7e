/* The state of one rendering and the functions its parts call each other by.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A template can do nothing but read the values it was given and write text: no files, no environment, no
 * change to a list or mapping. Steps, memory, depth and output are bounded. Functions return false after
 * a fault, which is in run->fault. */
#ifndef TEXT_TEMPLATE_RUN_H
#define TEXT_TEMPLATE_RUN_H

#include "text/template_tree.h"

struct variable {
    const char *name;
    struct value value;
    struct variable *next;
};

struct frame { /* names of one scope */
    struct frame *outer;
    struct variable *first;
};

struct loop_state {
    const struct node *node;
    struct frame *frame; /* where the loop stands */
    const struct list *items;
    size_t index;
    int depth;
    struct value changed; /* what loop.changed() saw last */
};

struct template_run {
    struct arena *arena;
    struct template_fault fault;
    uint64_t steps; /* left */
    int depth, line;
    struct frame *frame;
    struct text_builder *out;
    struct value captured;
};

enum { ARGUMENTS_MAX = 6, TEMPLATE_DEPTH = 600 /* of calls inside calls */ };

struct arguments {
    struct value at[ARGUMENTS_MAX]; /* by parameter; VALUE_MISSING: not given */
    const struct value *items;      /* as written: by position … */
    size_t count;
    const char *const *names; /* … and by name */
    const struct value *named;
    size_t named_count;
};

typedef bool (*native_fn)(struct template_run *run, struct value self, const struct arguments *arguments,
                          struct value *ret);

struct native {
    const char *name;
    const char *parameters; /* "old new count"; "*": takes items and named as they are */
    size_t required;
    native_fn call;
};

struct callable {
    const struct native *native; /* with self, or … */
    struct value self;
    const struct node *macro; /* … a macro with the frame it was made in, or … */
    struct frame *frame;
    struct loop_state *loop; /* … the loop to be run again */
};

/* ---- limits ---- */

bool run_spend(struct template_run *run, size_t bytes); /* of work: false when the steps are used up */
bool run_fail(struct template_run *run, ll_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* ret as it is when the arena still holds, else a fault. */
bool run_done(struct template_run *run);

/* ---- expressions ---- */

bool run_evaluate(struct template_run *run, const struct node *node, struct value *ret);
bool run_assign(struct template_run *run, const struct node *target, struct value value);
bool run_define(struct template_run *run, const char *name, struct value value); /* in this frame */
struct value run_look_up(struct template_run *run, const char *name);
bool run_call(struct template_run *run, struct value callee, const struct arguments *arguments,
              struct value *ret);
bool run_native(struct template_run *run, const struct native *native, struct value self,
                const struct arguments *arguments, struct value *ret);
bool run_binary(struct template_run *run, int op, struct value a, struct value b, struct value *ret);
bool run_compare(struct template_run *run, int op, struct value a, struct value b, bool *ret);
bool run_order(struct template_run *run, struct value a, struct value b, int *ret); /* -1, 0, 1 */
/* object.name: methods before items. */
bool run_attribute(struct template_run *run, struct value object, const char *name, struct value *ret);
/* object[key]: items before methods. */
bool run_item(struct template_run *run, struct value object, struct value key, struct value *ret);
bool run_slice(struct template_run *run, struct value object, const struct value bounds[3],
               struct value *ret);
/* What a for loop goes over. */
bool run_iterate(struct template_run *run, struct value value, const struct list **ret);
bool run_text(struct template_run *run, struct value value, const struct text **ret); /* as printed */

/* ---- natives ---- */

const struct native *native_find(const struct native *natives, size_t count, const char *name);
const struct native *function_find(const char *name);
const struct native *filter_find(const char *name);
const struct native *list_filter_find(const char *name);
const struct native *test_find(const char *name);
const struct native *text_method_find(const char *name);
const struct native *container_method_find(struct value value, const char *name);
bool run_filter(struct template_run *run, const char *name, struct value subject,
                const struct arguments *arguments, struct value *ret);
bool run_test(struct template_run *run, const char *name, struct value subject,
              const struct arguments *arguments, bool *ret);
bool filter_tojson(struct template_run *run, struct value self, const struct arguments *arguments,
                   struct value *ret);
/* Natives that filters and methods share. */
bool text_case(struct template_run *run, const struct text *text, char how /* l, u, c, t */,
               struct value *ret);
bool text_strip(struct template_run *run, const struct text *text, const struct text *set, bool left,
                bool right, struct value *ret);
bool text_replace(struct template_run *run, const struct text *text, const struct text *old,
                  const struct text *new_text, int64_t most, struct value *ret);

/* ---- statements ---- */

bool run_statements(struct template_run *run, const struct node *first);
bool run_macro(struct template_run *run, const struct callable *macro, const struct arguments *arguments,
               struct value *ret);
bool run_loop_again(struct template_run *run, struct loop_state *loop, struct value items, struct value *ret);

#endif
