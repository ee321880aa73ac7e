/* Puts a grammar together rule by rule; what reading and checking share.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TEXT_GRAMMAR_BUILD_H
#define TEXT_GRAMMAR_BUILD_H

#include "text/grammar.h"

struct grammar_alternative {
    uint32_t rule, start;
};

struct grammar_build {
    struct grammar_item *items;
    struct grammar_alternative *alternatives;
    size_t item_count, item_room, alternative_count, alternative_room, rule_count;
    ll_error *error;
};

struct grammar_range {
    uint32_t low, high; /* code points, both included */
};

/* One alternative of a rule: its items, without the end. */
ll_status grammar_add(struct grammar_build *build, uint32_t rule, const struct grammar_item *items,
                      size_t count);
/* Every character of the ranges, in UTF-8, as alternatives of rule; surrogates are left out. */
ll_status grammar_add_characters(struct grammar_build *build, uint32_t rule,
                                 const struct grammar_range *ranges, size_t count);
/* Drops what cannot end, refuses recursion on the left; takes the build's memory on success. */
ll_status grammar_compile(struct grammar_build *build, uint32_t root, struct grammar *ret);
void grammar_build_fini(struct grammar_build *build);

#endif
