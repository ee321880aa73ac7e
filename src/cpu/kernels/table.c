/* The table of one instruction set's kernels.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cpu/kernels/attention.h"
#include "cpu/kernels/quantized.h"
#include "cpu/kernels/rows.h"

#if defined(KERNEL_AVX512)
#define SET_NAME "avx512-vnni"
#elif defined(KERNEL_AVX2)
#define SET_NAME "avx2"
#elif defined(__ARM_FEATURE_MATMUL_INT8)
#define SET_NAME "neon-i8mm"
#elif defined(__ARM_FEATURE_DOTPROD)
#define SET_NAME "neon-dotprod"
#elif defined(KERNEL_NEON)
#define SET_NAME "neon"
#else
#define SET_NAME "scalar"
#endif

const struct kernels KERNEL(kernels) = {
    .name = SET_NAME,
    .lanes = LANES,
    .tile_rows = TILE_ROWS,
    .panels_at_once = PANELS,
    .float_panels = FLOAT_PANELS,
    .form = KERNEL(product_form),
    .quantize_row = KERNEL(quantize_row),
    .panel_bytes = KERNEL(panel_bytes),
    .unpack = KERNEL(unpack),
    .multiply = KERNEL(multiply),
    .has_single = KERNEL(has_single),
    .multiply_single = KERNEL(multiply_single),
    .multiply_float = KERNEL(multiply_float),
    .attend = KERNEL(attend),
    .merge = KERNEL(merge),
    .finish = KERNEL(finish),
    .dot = KERNEL(dot),
    .norm = KERNEL(norm),
    .rotate = KERNEL(rotate),
    .activate = KERNEL(activate),
    .add = KERNEL(add),
    .scale = KERNEL(scale),
    .clamp = KERNEL(clamp),
    .softcap = KERNEL(softcap),
    .store_row = KERNEL(store_row),
    .load_row = KERNEL(load_row),
    .row_norm = KERNEL(row_norm),
};
