/* Number formats of weights and activations, and their block shapes.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TENSOR_DTYPE_H
#define TENSOR_DTYPE_H

#include <stdbool.h>
#include <stdint.h>

enum dtype {
    DT_F32, DT_F16, DT_BF16,
    DT_Q4_0, DT_Q4_1, DT_Q5_0, DT_Q5_1, DT_Q8_0, /* blocks of 32 */
    DT_Q4_K, DT_Q5_K, DT_Q6_K,                   /* blocks of 256 */
    DT_Q2_K, DT_Q3_K, DT_IQ4_XS,                 /* blocks of 256 */
    DT_IQ4_NL, DT_MXFP4,                         /* blocks of 32 */
    DT_COUNT
};

struct dtype_info {
    const char *name;    /* "Q4_1" */
    int block_elements;  /* 1, 32 or 256 */
    int block_bytes;
    bool quantized;
};

const struct dtype_info *dtype_info(enum dtype dtype);
/* GGUF's numbering; false when this build cannot read the type. */
bool dtype_from_gguf(uint32_t number, enum dtype *ret);
uint32_t dtype_to_gguf(enum dtype dtype);
/* The name GGUF gives a number, also for types this build cannot read; "type 99" is the caller's. */
const char *dtype_gguf_name(uint32_t number); /* NULL when nobody knows it */
/* Bytes of a row of n elements; 0 when n is no multiple of the block or the product wraps. */
uint64_t dtype_row_bytes(enum dtype dtype, uint64_t n);

#endif
