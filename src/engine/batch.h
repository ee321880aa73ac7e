/* Many prompts through one model together: shared prefix computed once, windows side by side.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Used by the document pipeline. Requests are started in order as room allows, prefilled in pieces
 * mixed with the decoding of those already running. Results do not depend on the width: request i
 * gives the same tokens alone or among others.
 *
 * When memory runs short, before or in the middle, nothing that is finished is lost: the rest goes on with
 * half the width, and when that is 1, with q8_0 keys and values, then with half the layers of a device and at
 * last none, while no session is open on it. The later rungs may change what is generated. Each rung is told
 * through the log. */
#ifndef ENGINE_BATCH_H
#define ENGINE_BATCH_H

#include "base/strbuf.h"
#include "longleaf.h"

struct batch_request {
    const ll_token *tokens; /* the whole prompt */
    size_t count;
    size_t max_tokens; /* of output */
    size_t kept;       /* leading tokens whose keys and values fetch and keep are about; 0: none. < count */
};

struct batch_output {
    ll_token *tokens; /* generated, ending token left out; freed by batch_outputs_free */
    size_t count;
    ll_finish finish;
    bool stopped_by_guard; /* on_token asked to stop */
    bool coarser;          /* memory ran short: keys and values in q8_0, or layers taken off the device */
};

struct batch_options {
    size_t context; /* the longest prompt + max_tokens must fit */
    size_t width;   /* sequences side by side; 0: chosen from memory and cores */
    size_t shared;  /* leading tokens equal in all requests: computed once, their KV shared */
    ll_dtype cache_type;
    ll_sampling sampling;
    /* After each token of request i: LL_STOP ends that request only. May be NULL. A request that had to
     * begin anew because memory ran short starts again with count 1. */
    ll_flow (*on_token)(void *user, size_t request, const ll_token *tokens, size_t count);
    /* After each step, with the tokens computed in it. May be NULL. */
    void (*on_step)(void *user, size_t tokens);
    /* Bytes that an earlier keep gave for these `kept` tokens of this model and KV type; false: there are
     * none. keep takes them once the prompt is computed. Both may be NULL. What is fetched changes nothing
     * but the time: bytes that do not fit are computed anew. */
    bool (*fetch)(void *user, size_t request, struct strbuf *out);
    void (*keep)(void *user, size_t request, const char *bytes, size_t length);
    /* When request i is finished: its output is in outputs[i]. May be NULL. */
    void (*on_done)(void *user, size_t request);
    void *user;
};

/* outputs: [count], filled as requests finish; on failure or cancellation those finished stay. */
ll_status batch_run(ll_model *model, const struct batch_options *options,
                    const struct batch_request *requests, size_t count, const ll_run *run,
                    struct batch_output *outputs, ll_error *error);
void batch_outputs_free(struct batch_output *outputs, size_t count);
/* Bytes of KV that `width` sequences of `context` tokens need. */
uint64_t batch_cache_bytes(const ll_model *model, size_t context, size_t width, ll_dtype cache_type);

#endif
