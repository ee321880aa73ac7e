/* What tells an open model from all others, and the embedding rows of its tokens.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_IDENTITY_H
#define ENGINE_IDENTITY_H

#include "engine/model.h"

enum { IDENTITY_BYTES = 32 };

/* SHA-256 of all metadata and what was put in place of it, of every tensor's name, type, shape and of bytes
 * spread over its data, and of the backend that computes: equal identities give equal answers. Reads a few
 * MiB, whatever the size. */
ll_status model_identity(const ll_model *model, unsigned char ret[IDENTITY_BYTES], ll_error *error);
/* Of that what comes from files, while their tensors are there; wherever the model is computed. */
ll_status model_hash_files(const ll_model *model, unsigned char ret[IDENTITY_BYTES], ll_error *error);
/* The embedding of one token, [width of the model]. false: out of range, or of an unreadable type. */
bool model_embedding(const ll_model *model, ll_token token, float *out);

#endif
