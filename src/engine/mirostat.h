/* Mirostat: keeps the surprise of what is drawn near a target (Basu et al. 2021), both versions.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_MIROSTAT_H
#define ENGINE_MIROSTAT_H

#include "engine/candidates.h"

struct mirostat {
    int version; /* 1: cuts at a rank told from the slope of the distribution; 2: at a surprise */
    double tau;  /* target, bits a token */
    double eta;  /* how fast it is corrected */
    double most; /* the greatest surprise let through now; 2 τ at first */
};

void mirostat_init(struct mirostat *m, const ll_sampling *sampling);
/* Cuts the candidates, draws with `at` (0 … 1) and learns from what came. */
ll_token mirostat_draw(struct mirostat *m, struct candidates *c, double at);

#endif
