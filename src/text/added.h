/* Finds control and user-defined tokens spelt in a text, leftmost and longest first.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The spellings are one sorted list, narrowed byte by byte: time is text × the longest spelling,
 * whatever the number of tokens. Spellings above 255 bytes are never searched for. */
#ifndef TEXT_ADDED_H
#define TEXT_ADDED_H

#include "text/vocab.h"

struct added_token {
    const char *text;
    uint32_t length;
    ll_token id;
    bool control;
};

struct added {                  /* immutable: any thread */
    struct added_token *tokens; /* sorted by bytes */
    size_t count;
    size_t first[257]; /* tokens with first byte b: first[b] … first[b + 1] */
};

ll_status added_open(const struct vocab *vocab, struct added *ret, ll_error *error);
void added_fini(struct added *added);
/* The next token at or after `from`; control ones only when wanted. NULL: none. *ret_at: where. */
const struct added_token *added_next(const struct added *added, const char *text, size_t length, size_t from,
                                     bool control, size_t *ret_at);

#endif
