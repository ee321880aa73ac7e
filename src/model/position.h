/* Positions by distance: ALiBi's slopes.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_POSITION_H
#define MODEL_POSITION_H

#include "model/hparams.h"

/* Press et al., "Train Short, Test Long" (arXiv 2108.12409), section 3 and its reference code. With
 * c = the largest power of two ≤ heads and B = max_bias: head h < c has 2^(-(B/c)(h+1)); head h ≥ c
 * has 2^(-(B/2c)(2(h-c)+1)), the odd entries of the next power of two. */
void alibi_slopes(int heads, double max_bias, float *out /* [heads] */);

#endif
