/* Floats to every number format, row by row.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/quantize.h"

#include "formats/quantize_blocks.h"

static void rows_16(enum dtype dtype, const float *src, unsigned char *dst, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        uint16_t bits = dtype == DT_F16 ? f32_to_f16(src[i]) : f32_to_bf16(src[i]);
        memcpy(dst + 2 * i, &bits, sizeof bits);
    }
}

static void (*const blocks[DT_COUNT])(const float *, unsigned char *) = {
    [DT_Q4_0] = quantize_q4_0, [DT_Q4_1] = quantize_q4_1, [DT_Q5_0] = quantize_q5_0,
    [DT_Q5_1] = quantize_q5_1, [DT_Q8_0] = quantize_q8_0, [DT_Q4_K] = quantize_q4_k,
    [DT_Q5_K] = quantize_q5_k, [DT_Q6_K] = quantize_q6_k,
};

bool quantize_supported(enum dtype dtype)
{
    return !dtype_info(dtype)->quantized || blocks[dtype] != NULL;
}

void quantize_row(enum dtype dtype, const float *src, void *dst, int64_t n)
{
    const struct dtype_info *info = dtype_info(dtype);
    unsigned char *out = dst;
    if (dtype == DT_F32)
        memcpy(dst, src, (size_t)n * sizeof *src);
    else if (!info->quantized)
        rows_16(dtype, src, out, n);
    else
        for (int64_t i = 0; i < n / info->block_elements; i++)
            blocks[dtype](src + i * info->block_elements, out + i * info->block_bytes);
}
