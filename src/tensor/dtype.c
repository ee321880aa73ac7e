/* The table of number formats: names, block shapes and GGUF numbers.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tensor/dtype.h"

#include <stddef.h>

#include "base/mem.h"

static const struct {
    struct dtype_info info;
    uint32_t gguf;
} formats[DT_COUNT] = {
    [DT_F32] = {{"F32", 1, 4, false}, 0},         [DT_F16] = {{"F16", 1, 2, false}, 1},
    [DT_BF16] = {{"BF16", 1, 2, false}, 30},      [DT_Q4_0] = {{"Q4_0", 32, 18, true}, 2},
    [DT_Q4_1] = {{"Q4_1", 32, 20, true}, 3},      [DT_Q5_0] = {{"Q5_0", 32, 22, true}, 6},
    [DT_Q5_1] = {{"Q5_1", 32, 24, true}, 7},      [DT_Q8_0] = {{"Q8_0", 32, 34, true}, 8},
    [DT_Q4_K] = {{"Q4_K", 256, 144, true}, 12},   [DT_Q5_K] = {{"Q5_K", 256, 176, true}, 13},
    [DT_Q6_K] = {{"Q6_K", 256, 210, true}, 14},   [DT_Q2_K] = {{"Q2_K", 256, 84, true}, 10},
    [DT_Q3_K] = {{"Q3_K", 256, 110, true}, 11},   [DT_IQ4_XS] = {{"IQ4_XS", 256, 136, true}, 23},
    [DT_IQ4_NL] = {{"IQ4_NL", 32, 18, true}, 20}, [DT_MXFP4] = {{"MXFP4", 32, 17, true}, 39},
};

/* Every number the format has given out, including withdrawn ones, so that a refusal can name the type. */
static const char *const gguf_names[] = {
    [0] = "F32",     [1] = "F16",         [2] = "Q4_0",        [3] = "Q4_1",        [4] = "Q4_2",
    [5] = "Q4_3",    [6] = "Q5_0",        [7] = "Q5_1",        [8] = "Q8_0",        [9] = "Q8_1",
    [10] = "Q2_K",   [11] = "Q3_K",       [12] = "Q4_K",       [13] = "Q5_K",       [14] = "Q6_K",
    [15] = "Q8_K",   [16] = "IQ2_XXS",    [17] = "IQ2_XS",     [18] = "IQ3_XXS",    [19] = "IQ1_S",
    [20] = "IQ4_NL", [21] = "IQ3_S",      [22] = "IQ2_S",      [23] = "IQ4_XS",     [24] = "I8",
    [25] = "I16",    [26] = "I32",        [27] = "I64",        [28] = "F64",        [29] = "IQ1_M",
    [30] = "BF16",   [31] = "Q4_0_4_4",   [32] = "Q4_0_4_8",   [33] = "Q4_0_8_8",   [34] = "TQ1_0",
    [35] = "TQ2_0",  [36] = "IQ4_NL_4_4", [37] = "IQ4_NL_4_8", [38] = "IQ4_NL_8_8", [39] = "MXFP4",
    [40] = "NVFP4",  [41] = "Q1_0",
};

const struct dtype_info *dtype_info(enum dtype dtype)
{
    return &formats[dtype].info;
}

bool dtype_from_gguf(uint32_t number, enum dtype *ret)
{
    for (int i = 0; i < DT_COUNT; i++)
        if (formats[i].gguf == number) {
            *ret = (enum dtype)i;
            return true;
        }
    return false;
}

uint32_t dtype_to_gguf(enum dtype dtype)
{
    return formats[dtype].gguf;
}

const char *dtype_gguf_name(uint32_t number)
{
    return number < sizeof gguf_names / sizeof gguf_names[0] ? gguf_names[number] : NULL;
}

uint64_t dtype_row_bytes(enum dtype dtype, uint64_t n)
{
    const struct dtype_info *info = dtype_info(dtype);
    uint64_t bytes;
    if (n % (uint64_t)info->block_elements != 0)
        return 0;
    if (!mem_multiply(n / (uint64_t)info->block_elements, (uint64_t)info->block_bytes, &bytes))
        return 0;
    return bytes;
}
