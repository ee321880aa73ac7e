/* The vector of this instruction set, and the few operations that C's own vector arithmetic lacks.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Kernels are written once over vf, vi and vu (LANES floats, signed, unsigned 32-bit numbers) and compiled
 * once per instruction set; + - * / & | << >> come from the compiler's vector extension. KERNEL(name) gives
 * an exported function the suffix of its set, so that one program holds them all. Everything here
 * is static: no code of one set can be picked by the linker for another. */
#ifndef CPU_KERNELS_SIMD_H
#define CPU_KERNELS_SIMD_H

#include <stdint.h>
#include <string.h>

#define KERNEL_JOIN(name, suffix) name##_##suffix
#define KERNEL_NAME(name, suffix) KERNEL_JOIN(name, suffix)
#define KERNEL(name) KERNEL_NAME(name, KERNEL_SUFFIX)
#define INLINE static inline __attribute__((always_inline))

#if defined(KERNEL_AVX512)
#include "cpu/kernels/simd_avx512.h"
#elif defined(KERNEL_AVX2)
#include "cpu/kernels/simd_avx2.h"
#elif defined(KERNEL_NEON)
#include "cpu/kernels/simd_neon.h"
#else
#include "cpu/kernels/simd_scalar.h"
#endif

typedef float vf_loose __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef uint32_t vu_loose __attribute__((vector_size(LANES * 4), aligned(4), may_alias));

INLINE vf vf_load(const float *p)
{
    return *(const vf_loose *)p;
}

INLINE void vf_store(float *p, vf v)
{
    *(vf_loose *)p = v;
}

INLINE vu vu_load(const void *p)
{
    return *(const vu_loose *)p;
}

INLINE void vu_store(void *p, vu v)
{
    *(vu_loose *)p = v;
}

/* The first n of LANES elements; the rest are zero, and are not touched. */
INLINE vf vf_load_part(const float *p, int64_t n)
{
    if (n >= LANES)
        return vf_load(p);
    float part[LANES] = {0};
    for (int64_t i = 0; i < n; i++)
        part[i] = p[i];
    return vf_load(part);
}

INLINE void vf_store_part(float *p, vf v, int64_t n)
{
    if (n >= LANES) {
        vf_store(p, v);
        return;
    }
    float part[LANES];
    vf_store(part, v);
    for (int64_t i = 0; i < n; i++)
        p[i] = part[i];
}

INLINE vf vf_abs(vf v)
{
    return (vf)((vu)v & vu_set(0x7FFFFFFF));
}

/* a < b ? x : y, lane by lane. */
INLINE vf vf_select_less(vf a, vf b, vf x, vf y)
{
    vi less = a < b;
    return (vf)((less & (vi)x) | (~less & (vi)y));
}

#endif
