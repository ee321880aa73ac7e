/* The plan before: one model's needs over contexts, KV types, precisions, windows and memories, in words.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CONSOLE_OUTLOOK_H
#define CONSOLE_OUTLOOK_H

#include "console/text.h"
#include "longleaf.h"

enum { OUTLOOK_MEMORIES = 16 };

struct outlook { /* what is asked */
    const ll_blueprint *blueprint;
    const char *label;                   /* the model's name for people */
    ll_need_options options;             /* context 0: the series from 512 on */
    uint64_t memories[OUTLOOK_MEMORIES]; /* bytes; of devices or of choices to buy */
    size_t memory_count;
    bool memories_found; /* of this machine, not given by the user */
    int gpu_layers;      /* that were asked for, as in ll_model_options */
};

enum outlook_form { OUTLOOK_TEXT, OUTLOOK_JSON, OUTLOOK_CSV, OUTLOOK_SVG };

/* Reads "8G,24G,80G" (binary units; a plain number is bytes). False: problem holds the sentence. */
bool outlook_read_memories(const char *text, struct outlook *outlook, struct text *problem);
/* Appends the whole plan. False: a need could not be computed; error says why. */
bool outlook_show(const struct outlook *outlook, enum outlook_form form, struct text *out, ll_error *error);
const char *outlook_kv_name(ll_dtype type);

#endif
