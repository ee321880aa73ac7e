/* Positions by distance: ALiBi's slopes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/position.h"

#include <math.h>

void alibi_slopes(int heads, double max_bias, float *out)
{
    int power = 1;
    while (power * 2 <= heads)
        power *= 2;
    for (int h = 0; h < heads; h++) {
        double exponent =
            h < power ? max_bias / power * (h + 1) : max_bias / (2.0 * power) * (2 * (h - power) + 1);
        out[h] = (float)exp2(-exponent);
    }
}
