/* What the document pipeline asks of a language model: counting, encoding, generating.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A table of functions, so that tests can put a toy in the place of an open model. */
#ifndef DOCUMENT_LLM_H
#define DOCUMENT_LLM_H

#include "engine/batch.h"
#include "longleaf.h"
#include "text/token_list.h"

struct llm {
    void *self;
    uint64_t parameters;
    size_t context; /* the trained one */
    bool chat;      /* the model's chat format is known */
    ll_status (*encode_text)(void *self, const char *text, size_t length, struct token_list *out,
                             ll_error *error);
    /* System line and user message with the opening of the answer. */
    ll_status (*encode_chat)(void *self, const char *system, const char *user, size_t user_length,
                             struct token_list *out, ll_error *error);
    const char *(*piece)(void *self, ll_token token, size_t *ret_length);
    ll_status (*run)(void *self, const struct batch_options *options, const struct batch_request *requests,
                     size_t count, const ll_run *run, struct batch_output *outputs, ll_error *error);
    /* The embedding of one token, [embedding_width]; false when there is none. NULL: the model gives none. */
    bool (*embed)(void *self, ll_token token, float *out);
    size_t embedding_width, vocabulary;
    /* What tells this model and its arithmetic from all others, 32 bytes; NULL: nothing is kept of it. */
    ll_status (*identify)(void *self, unsigned char *ret, ll_error *error);
    uint64_t (*cache_bytes)(void *self, size_t context, size_t width, ll_dtype cache_type);
};

/* The view of an open model, which must outlive it. */
void llm_of_model(const ll_model *model, struct llm *ret);

#endif
