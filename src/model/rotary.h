/* Rotary positions: what a file says of them, and the angles of each pair.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_ROTARY_H
#define MODEL_ROTARY_H

#include "model/hparams.h"

/* Fills hparams->rotary. LL_UNSUPPORTED: a scaling that is not known (running it would be silently wrong). */
ll_status rotary_read(const struct gguf *gguf, struct model_hparams *hparams, ll_error *error);
/* Radians per position of each pair: base^(-2i/dim), slowed down as the scaling asks, over divisor[i].
 * divisors [dim/2] may be NULL (Llama 3 and longrope keep them in tensors). YaRN: Peng et al.,
 * arXiv 2309.00071, section 3.2. */
void rotary_frequencies(const struct rotary_hparams *rotary, int dim, const float *divisors,
                        float *out /* [dim/2] */);

#endif
