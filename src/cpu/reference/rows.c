/* The plain form of embedding, products, normalisation, rotation and the elementwise operations.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>

#include "base/mem.h"
#include "cpu/cache_rows.h"
#include "cpu/reference/reference.h"
#include "tensor/dequant.h"

/* Several of these may be stopped by any op that came before: every one starts by asking. */

void reference_embed(struct backend *backend, const struct tensor *table, float scale, struct tensor *out)
{
    struct host *host = host_of(backend);
    if (host_stopped(host) || !host_check_rows(host, "embed", out, host->step->rows, table->cols))
        return;
    for (int64_t row = 0; row < out->rows; row++) {
        ll_token token = host->step->tokens[row];
        if (token < 0 || token >= table->rows) {
            host_fail(host, LL_ARGUMENT, "embed", "token %" PRId32 " is not among the %" PRId64 " embeddings",
                      token, table->rows);
            return;
        }
        float *to = tensor_row(out, row);
        dequantize_row(table->dtype, tensor_row(table, token), to, table->cols);
        for (int64_t i = 0; i < table->cols; i++)
            to[i] = (float)((double)to[i] * scale);
    }
}

static double mean_of(const float *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i];
    return sum / (double)n;
}

static void norm_part(enum backend_norm kind, const float *in, const float *weight, const float *bias,
                      float eps, int64_t n, float *out)
{
    double mean = kind == NORM_LAYER ? mean_of(in, n) : 0, sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (in[i] - mean) * (in[i] - mean);
    double factor = 1 / sqrt(sum / (double)n + eps);
    for (int64_t i = 0; i < n; i++) {
        double value = (in[i] - mean) * factor;
        if (weight)
            value *= weight[i];
        out[i] = (float)(bias ? value + bias[i] : value);
    }
}

void reference_norm(struct backend *backend, enum backend_norm kind, const struct tensor *in,
                    const struct tensor *weight, const struct tensor *bias, float eps, int groups,
                    struct tensor *out)
{
    struct host *host = host_of(backend);
    if (host_stopped(host) || !host_check_rows(host, "norm", in, in->rows, in->cols) ||
        !host_check_rows(host, "norm", out, in->rows, in->cols))
        return;
    int64_t part = in->cols / groups;
    for (int64_t row = 0; row < in->rows; row++)
        for (int g = 0; g < groups; g++)
            norm_part(kind, (float *)tensor_row(in, row) + g * part, weight ? weight->data : NULL,
                      bias ? bias->data : NULL, eps, part, (float *)tensor_row(out, row) + g * part);
}

static double dot(const float *a, const float *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)a[i] * b[i];
    return sum;
}

static void product(const struct tensor *in, const struct backend_product *product, float *weights)
{
    const struct tensor *weight = product->weight;
    for (int64_t n = 0; n < weight->rows; n++) {
        dequantize_row(weight->dtype, tensor_row(weight, n), weights, weight->cols);
        for (int64_t row = 0; row < in->rows; row++) {
            float *out = (float *)tensor_row(product->out, row) + n;
            double value = dot(tensor_row(in, row), weights, weight->cols);
            if (product->bias)
                value += ((const float *)product->bias->data)[n];
            *out = (float)(product->accumulate ? *out + value : value);
        }
    }
}

void reference_products(struct backend *backend, const struct tensor *in,
                        const struct backend_product *products, int count)
{
    struct host *host = host_of(backend);
    float *weights = mem_new((size_t)in->cols, sizeof *weights);
    if (!weights)
        host_fail(host, LL_NOMEM, "products", "no memory for a row of %" PRId64 " weights", in->cols);
    for (int i = 0; i < count; i++) {
        if (host_stopped(host) ||
            !host_check_rows(host, "products", in, in->rows, products[i].weight->cols) ||
            !host_check_rows(host, "products", products[i].out, in->rows, products[i].weight->rows))
            break;
        product(in, &products[i], weights);
    }
    mem_free(weights);
}

static void rotate_head(const struct backend_rotary *rotary, float *x, int32_t position)
{
    const float *frequencies = rotary->frequencies->data;
    int half = rotary->rotary_dim / 2;
    for (int i = 0; i < half; i++) {
        float *a = rotary->adjacent ? &x[2 * i] : &x[i];
        float *b = rotary->adjacent ? &x[2 * i + 1] : &x[i + half];
        double angle = (double)position * frequencies[i];
        double c = cos(angle) * rotary->scale, s = sin(angle) * rotary->scale;
        double first = *a * c - *b * s, second = *a * s + *b * c;
        *a = (float)first;
        *b = (float)second;
    }
}

void reference_rotary(struct backend *backend, const struct backend_rotary *rotary, struct tensor *x)
{
    struct host *host = host_of(backend);
    if (host_stopped(host) ||
        !host_check_rows(host, "rotary", x, host->step->rows, (int64_t)rotary->heads * rotary->head_dim))
        return;
    for (int64_t row = 0; row < x->rows; row++)
        for (int head = 0; head < rotary->heads; head++)
            rotate_head(rotary, (float *)tensor_row(x, row) + (int64_t)head * rotary->head_dim,
                        host->step->positions[row]);
}

void reference_cache_write(struct backend *backend, const struct backend_cache *cache, const struct tensor *k,
                           const struct tensor *v)
{
    cache_store_step(host_of(backend), cache, k, v, store_row, row_norm);
}

static double activation(enum backend_activation kind, double x)
{
    switch (kind) {
    case ACTIVATE_SILU:
        return x / (1 + exp(-x));
    case ACTIVATE_GELU_TANH:
        return 0.5 * x * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
    default:
        return 0.5 * x * erfc(-x * 0.70710678118654752440);
    }
}

void reference_activate(struct backend *backend, enum backend_activation kind, const struct tensor *gate,
                        const struct tensor *up, struct tensor *out)
{
    struct host *host = host_of(backend);
    if (host_stopped(host) || !host_check_rows(host, "activate", gate, gate->rows, gate->cols) ||
        !host_check_rows(host, "activate", out, gate->rows, gate->cols) ||
        (up && !host_check_rows(host, "activate", up, gate->rows, gate->cols)))
        return;
    for (int64_t row = 0; row < gate->rows; row++) {
        const float *g = tensor_row(gate, row), *u = up ? tensor_row(up, row) : NULL;
        float *to = tensor_row(out, row);
        for (int64_t i = 0; i < gate->cols; i++)
            to[i] = (float)(activation(kind, g[i]) * (u ? (double)u[i] : 1));
    }
}

void reference_add(struct backend *backend, const struct tensor *a, const struct tensor *b,
                   struct tensor *out)
{
    struct host *host = host_of(backend);
    if (host_stopped(host) || !host_check_rows(host, "add", a, a->rows, a->cols) ||
        !host_check_rows(host, "add", b, a->rows, a->cols) ||
        !host_check_rows(host, "add", out, a->rows, a->cols))
        return;
    for (int64_t row = 0; row < a->rows; row++) {
        const float *x = tensor_row(a, row), *y = tensor_row(b, row);
        float *to = tensor_row(out, row);
        for (int64_t i = 0; i < a->cols; i++)
            to[i] = x[i] + y[i];
    }
}

void reference_clamp(struct backend *backend, struct tensor *x, float limit)
{
    struct host *host = host_of(backend);
    if (host_stopped(host) || !host_check_rows(host, "clamp", x, x->rows, x->cols))
        return;
    for (int64_t row = 0; row < x->rows; row++) {
        float *to = tensor_row(x, row);
        for (int64_t i = 0; i < x->cols; i++)
            to[i] = to[i] > limit ? limit : to[i] < -limit ? -limit : to[i];
    }
}

void reference_softcap(struct backend *backend, struct tensor *x, float limit)
{
    struct host *host = host_of(backend);
    if (host_stopped(host) || !host_check_rows(host, "softcap", x, x->rows, x->cols))
        return;
    for (int64_t row = 0; row < x->rows; row++) {
        float *to = tensor_row(x, row);
        for (int64_t i = 0; i < x->cols; i++)
            to[i] = (float)(limit * tanh((double)to[i] / limit));
    }
}
