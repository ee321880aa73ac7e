/* What the engine's other rooms may ask of an open model.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_MODEL_H
#define ENGINE_MODEL_H

#include "longleaf.h"
#include "text/chat.h"
#include "text/tokenizer.h"

/* Borrowed; live as long as the model. */
const struct tokenizer *model_tokenizer(const ll_model *model);
const struct chat *model_chat(const ll_model *model);
const struct model_hparams *model_hparams(const ll_model *model);

#endif
