/* What the engine's other rooms may ask of an open model.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_MODEL_H
#define ENGINE_MODEL_H

#include "backend/split.h"
#include "longleaf.h"
#include "text/chat.h"
#include "text/tokenizer.h"

struct adapters;
struct forward;
struct gguf;
struct model_hparams;
struct block_pool;
struct backend;

/* Borrowed; live as long as the model. */
ll_engine *model_engine(const ll_model *model);
const struct tokenizer *model_tokenizer(const ll_model *model);
const struct chat *model_chat(const ll_model *model);
const struct gguf *model_gguf(const ll_model *model);
const struct model_hparams *model_hparams(const ll_model *model);
const struct adapters *model_adapters(const ll_model *model); /* NULL: none */
/* What model_hash_files gave while the tensors were there; NULL: to be computed. */
const unsigned char *model_kept_files(const ll_model *model);
/* The step's own lists, too large for small stacks: made at the first, kept for all. NULL: no memory. Under
 * the engine's lock; always asked for with the same size. */
void *model_step_room(ll_model *model, size_t bytes);
/* After a step: what it was the first to write to is no longer idle. Under the engine's lock. */
void model_count_scratch(ll_model *model);
/* The forward pass with its scratch, shared by all sessions under the engine's lock. */
struct forward *model_forward(const ll_model *model);
void model_retain(ll_model *model); /* a session holds its model; ll_model_close lets go */
/* LL_STATE when the model was opened for its metadata only. */
ll_status model_require_weights(const ll_model *model, ll_error *error);
/* Before work: the file is still what it was, and the weights are there; after ll_model_rest they come back
 * first, with run's progress (NULL: none). Not under the engine's lock. LL_BUSY: called out of the progress
 * callback of the same. */
ll_status model_wake(ll_model *model, const ll_run *run, ll_error *error);
/* Under the engine's lock: whether another thread has laid the model to rest since model_wake. */
bool model_rests(const ll_model *model);
/* What a file says of itself; cache_bytes_per_token is the caller's. */
void model_describe(const struct gguf *gguf, const struct model_hparams *hparams,
                    const struct tokenizer *tokenizer, const struct chat *chat, ll_model_info *ret);
/* The sentence names the file: "…/x.gguf: the tensor … is missing". error may be NULL. */
void model_name_file(const char *path, ll_error *error);
/* LL_UNSUPPORTED when the file is an adapter, which is no model by itself. */
ll_status model_refuse_adapter(const struct gguf *gguf, ll_error *error);
/* Where the layers are, from any thread; stays so while a cache is open. Of a model without weights: where
 * they would be. The backend behind the border, which is asked for rows of a step and the like. */
struct backend_split model_split(const ll_model *model);
struct backend *model_backend(const ll_model *model);
/* Differs between any two models whose files differ in more than a few bytes of weights: a hash of the
 * metadata and what was put in place of it, the file's size and pieces of its tensors. */
uint64_t model_fingerprint(const ll_model *model);
/* Takes the weights off the device in favour of the processor: half of the layers there, all when it is one.
 * False when none is there, a cache is open or the processor has no room. The weights come back as after
 * ll_model_rest. */
bool model_retreat(ll_model *model);
/* A KV cache of `tokens` positions in all and one spare block for each of `sequences`. LL_NOMEM with
 * both numbers when it is larger than the free memory. */
ll_status model_open_cache(ll_model *model, size_t tokens, size_t sequences, ll_dtype type,
                           struct block_pool **ret, ll_error *error);
void model_close_cache(ll_model *model, struct block_pool *pool); /* NULL: none */
/* The backend's name for a public cache type; false when it cannot hold this model's heads. */
bool model_cache_type(const ll_model *model, ll_dtype type, enum dtype *ret);

#endif
