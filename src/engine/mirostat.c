/* Mirostat: keeps the surprise of what is drawn near a target (Basu et al. 2021), both versions.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine/mirostat.h"

#include <math.h>

enum { SLOPE_RANKS = 100 }; /* the paper's m */

void mirostat_init(struct mirostat *m, const ll_sampling *s)
{
    *m = (struct mirostat){s->mirostat, (double)s->mirostat_tau, (double)s->mirostat_eta,
                           2.0 * (double)s->mirostat_tau};
}

/* The exponent of Zipf's law, by least squares over the likeliest ranks (the paper's equation 30). */
static double slope(struct candidates *c)
{
    double above = 0.0, below = 0.0;
    for (size_t i = 0; i + 1 < SLOPE_RANKS && c->first + i + 1 < c->last; i++) {
        double here = candidates_weight(c, c->first + i), next = candidates_weight(c, c->first + i + 1);
        double t = log(((double)i + 2.0) / ((double)i + 1.0));
        if (!(next > 0.0))
            break;
        above += t * log(here / next);
        below += t * t;
    }
    return below > 0.0 ? above / below : 1.0;
}

/* How many ranks give the surprise `most` on average, for a vocabulary of n tokens. */
static size_t ranks_for(double s, double most, size_t n)
{
    double epsilon = s - 1.0;
    double share = fabs(epsilon) < 1e-9 ? exp2(most) / log((double)n)
                                        : epsilon * exp2(most) / (1.0 - pow((double)n, -epsilon));
    double k = round(pow(share, 1.0 / s));
    if (!(k >= 1.0)) /* NaN too: a single token */
        return 1;
    return k < (double)n ? (size_t)k : n;
}

/* Version 1 learns from the surprise before the cut, as the paper has it, version 2 from that after it, as
 * its authors' second program. */
ll_token mirostat_draw(struct mirostat *m, struct candidates *c, double at)
{
    double mass = candidates_mass(c);
    if (m->version == 1) {
        candidates_top_k(c, ranks_for(slope(c), m->most, c->last - c->first));
    } else {
        candidates_surprise(c, m->most);
        candidates_weight(c, c->last - 1);
        mass = candidates_mass(c);
    }
    ll_token token = candidates_draw(c, at);
    double weight = exp(((double)c->logits[token] - c->greatest) / c->temperature);
    m->most -= m->eta * (log2(mass / weight) - m->tau);
    return token;
}
