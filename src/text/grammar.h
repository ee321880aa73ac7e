/* Grammars of byte strings, read from GBNF or a JSON schema, compiled and bounded.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Characters are compiled to bytes, so that a token may end inside of one. Whatever a text says, a compiled
 * grammar has at most GRAMMAR_MOST_ITEMS items, recurses on its left nowhere, and from every place in it the
 * end can be reached. Immutable: any thread. */
#ifndef TEXT_GRAMMAR_H
#define TEXT_GRAMMAR_H

#include "base/strbuf.h"
#include "longleaf.h"

enum { GRAMMAR_MOST_ITEMS = 1 << 19, GRAMMAR_MOST_TEXT = 4 << 20 };

enum grammar_kind { GRAMMAR_END, GRAMMAR_BYTES, GRAMMAR_RULE };

struct grammar_item {
    uint8_t kind;
    uint8_t low, high; /* BYTES: one of these */
    uint32_t rule;     /* RULE: that one stands here */
};

struct grammar_rule {
    uint32_t first, count; /* of its alternatives in starts */
};

struct grammar {
    struct grammar_item *items; /* sequences, each ended by GRAMMAR_END */
    struct grammar_rule *rules;
    uint32_t *starts; /* where each alternative begins in items */
    size_t item_count, rule_count, start_count;
    uint32_t root;
};

/* LL_ARGUMENT says what is wrong and in which line; LL_UNSUPPORTED what makes it unusable: recursion on the
 * left, no end, too large. */
ll_status grammar_parse(const char *text, size_t length, struct grammar *ret, ll_error *error);
void grammar_fini(struct grammar *grammar);

/* The JSON documents that are valid under a schema, written as GBNF: keys come in the schema's order, and
 * only those it names unless additionalProperties is given. A keyword that cannot be kept is LL_UNSUPPORTED
 * by name, so that what comes is valid in every case. */
ll_status grammar_of_schema(const char *json, size_t length, struct strbuf *out, ll_error *error);

#endif
