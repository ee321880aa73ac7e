/* What was executed: this session's cells with their outputs, and those of the shared history file.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sessions count from 1: the file is session 1, the present kernel session 2. */
#ifndef JUPYTER_KERNEL_PAST_H
#define JUPYTER_KERNEL_PAST_H

#include "jupyter_kernel/json.h"

struct past_entry {
    int session;
    int64_t line;
    char *input, *output; /* owned; output NULL: nothing was shown, or it is not known */
};

struct past {
    struct past_entry *entries;
    size_t count, capacity;
    size_t bytes; /* of all inputs */
    bool loaded;  /* the file was read */
    bool secret;  /* the file is neither read nor written */
};

void past_fini(struct past *past);
/* Keeps a cell and appends it to the history file unless it is long; false: no memory. */
bool past_add(struct past *past, int64_t line, const char *input, size_t length);
void past_set_output(struct past *past, const struct text *output); /* of the last cell */
/* The content of a history_reply. */
json_t *past_answer(struct past *past, const json_t *request);

#endif
