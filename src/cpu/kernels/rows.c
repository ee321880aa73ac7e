/* Kernels that go along one row: normalisation, rotation, activations, conversions.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cpu/kernels/rows.h"

#include <math.h>

#include "cpu/cache_rows.h"
#include "cpu/kernels/math.h"

static float row_mean(const float *x, int64_t n)
{
    vf sum = vf_set(0);
    for (int64_t i = 0; i < n; i += LANES)
        sum += vf_load_part(x + i, n - i);
    return vf_sum(sum) / (float)n;
}

/* Σ (x - mean)²; lanes past the end must not count as -mean. */
static float row_squares(const float *x, float mean, int64_t n)
{
    vf sum = vf_set(0);
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        vf d = vf_load(x + i) - vf_set(mean);
        sum = vf_fma(d, d, sum);
    }
    float total = vf_sum(sum);
    for (; i < n; i++)
        total += (x[i] - mean) * (x[i] - mean);
    return total;
}

void KERNEL(norm)(enum backend_norm kind, const float *in, const float *weight, const float *bias, float eps,
                  int64_t n, float *out)
{
    float mean = kind == NORM_LAYER ? row_mean(in, n) : 0;
    float factor = 1 / sqrtf(row_squares(in, mean, n) / (float)n + eps);
    for (int64_t i = 0; i < n; i += LANES) {
        vf value = (vf_load_part(in + i, n - i) - vf_set(mean)) * vf_set(factor);
        if (weight)
            value *= vf_load_part(weight + i, n - i);
        if (bias)
            value += vf_load_part(bias + i, n - i);
        vf_store_part(out + i, value, n - i);
    }
}

static void rotate_adjacent(const float *cosines, const float *sines, int half, float *x)
{
    for (int i = 0; i < half; i++) {
        float a = x[2 * i], b = x[2 * i + 1];
        x[2 * i] = a * cosines[i] - b * sines[i];
        x[2 * i + 1] = a * sines[i] + b * cosines[i];
    }
}

static void rotate_halves(const float *cosines, const float *sines, int half, float *x)
{
    for (int i = 0; i < half; i += LANES) {
        int left = half - i;
        vf a = vf_load_part(x + i, left), b = vf_load_part(x + half + i, left);
        vf c = vf_load_part(cosines + i, left), s = vf_load_part(sines + i, left);
        vf_store_part(x + i, a * c - b * s, left);
        vf_store_part(x + half + i, a * s + b * c, left);
    }
}

void KERNEL(rotate)(const struct backend_rotary *rotary, const float *cosines, const float *sines, float *x)
{
    for (int head = 0; head < rotary->heads; head++, x += rotary->head_dim) {
        if (rotary->adjacent)
            rotate_adjacent(cosines, sines, rotary->rotary_dim / 2, x);
        else
            rotate_halves(cosines, sines, rotary->rotary_dim / 2, x);
    }
}

INLINE vf silu(vf x)
{
    return x / (vf_set(1) + vf_exp(-x));
}

INLINE vf gelu_tanh(vf x)
{
    vf inner = vf_fma(x * x * vf_set(0.044715f), x, x) * vf_set(0.79788456080286535588f);
    return vf_set(0.5f) * x * (vf_set(1) + vf_tanh(inner));
}

INLINE vf gelu_erf(vf x)
{
    for (int i = 0; i < LANES; i++)
        x[i] *= 0.5f * erfcf(x[i] * -0.70710678118654752440f);
    return x;
}

void KERNEL(activate)(enum backend_activation kind, const float *gate, const float *up, int64_t n, float *out)
{
    for (int64_t i = 0; i < n; i += LANES) {
        vf x = vf_load_part(gate + i, n - i);
        vf y = kind == ACTIVATE_SILU ? silu(x) : kind == ACTIVATE_GELU_TANH ? gelu_tanh(x) : gelu_erf(x);
        if (up)
            y *= vf_load_part(up + i, n - i);
        vf_store_part(out + i, y, n - i);
    }
}

void KERNEL(add)(const float *a, const float *b, int64_t n, float *out)
{
    for (int64_t i = 0; i < n; i += LANES)
        vf_store_part(out + i, vf_load_part(a + i, n - i) + vf_load_part(b + i, n - i), n - i);
}

void KERNEL(scale)(float *x, float factor, int64_t n)
{
    for (int64_t i = 0; i < n; i += LANES)
        vf_store_part(x + i, vf_load_part(x + i, n - i) * vf_set(factor), n - i);
}

void KERNEL(clamp)(float *x, float limit, int64_t n)
{
    for (int64_t i = 0; i < n; i += LANES)
        vf_store_part(x + i, vf_max(vf_min(vf_set(limit), vf_load_part(x + i, n - i)), vf_set(-limit)),
                      n - i);
}

void KERNEL(softcap)(float *x, float limit, int64_t n)
{
    for (int64_t i = 0; i < n; i += LANES)
        vf_store_part(x + i, vf_tanh(vf_load_part(x + i, n - i) / vf_set(limit)) * vf_set(limit), n - i);
}

void KERNEL(store_row)(enum dtype dtype, const float *from, void *to, int64_t n)
{
    int64_t i = 0;
    if (dtype == DT_F16)
        for (; i + LANES <= n; i += LANES)
            vf_store_f16((uint16_t *)to + i, vf_load(from + i));
    if (dtype == DT_F16)
        store_row(dtype, from + i, (uint16_t *)to + i, n - i);
    else
        store_row(dtype, from, to, n);
}
