/* What the machine can do at most: byte products, float products and memory reads of one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#include "bench/peak.h"

#include <stdint.h>

/* Sixteen streams at once, asked for ahead: fewer read slower. */
unsigned long long peak_read(const void *memory, size_t bytes)
{
    typedef uint64_t vector __attribute__((vector_size(64), aligned(8), may_alias));
    enum { STREAMS = 16, AHEAD = 512 };
    const char *from = memory;
    vector sum = {0};
    size_t part = bytes / STREAMS / 64 * 64;
    for (size_t i = 0; i < part; i += 64)
        for (size_t j = 0; j < STREAMS; j++) {
            __builtin_prefetch(from + j * part + i + AHEAD);
            sum += *(const vector *)(const void *)(from + j * part + i);
        }
    return sum[0] + sum[1] + sum[2] + sum[3] + sum[4] + sum[5] + sum[6] + sum[7];
}

#if defined(__x86_64__)
#include <immintrin.h>

enum { ROUNDS = 5000000 };

#define TEN(step) step(0) step(1) step(2) step(3) step(4) step(5) step(6) step(7) step(8) step(9)

__attribute__((target("avx512f,avx512vnni"))) double peak_bytes_operations(void)
{
    if (!__builtin_cpu_supports("avx512vnni"))
        return 0;
#define ZERO(i) __m512i a##i = _mm512_setzero_si512();
#define STEP(i) __asm__ volatile("vpdpbusd %1, %2, %0" : "+v"(a##i) : "v"(x), "v"(y));
    __m512i x = _mm512_set1_epi8(1), y = x;
    TEN(ZERO)
    for (int i = 0; i < ROUNDS; i++) {
        TEN(STEP)
    }
#undef ZERO
#undef STEP
    return 10.0 * ROUNDS * 64 * 2;
}

__attribute__((target("avx512f"))) static double wide_floats(void)
{
#define ZERO(i) __m512 a##i = _mm512_setzero_ps();
#define STEP(i) __asm__ volatile("vfmadd231ps %1, %2, %0" : "+v"(a##i) : "v"(x), "v"(y));
    __m512 x = _mm512_set1_ps(1), y = x;
    TEN(ZERO)
    for (int i = 0; i < ROUNDS; i++) {
        TEN(STEP)
    }
#undef ZERO
#undef STEP
    return 10.0 * ROUNDS * 16 * 2;
}

__attribute__((target("avx2,fma"))) static double narrow_floats(void)
{
#define ZERO(i) __m256 a##i = _mm256_setzero_ps();
#define STEP(i) __asm__ volatile("vfmadd231ps %1, %2, %0" : "+x"(a##i) : "x"(x), "x"(y));
    __m256 x = _mm256_set1_ps(1), y = x;
    TEN(ZERO)
    for (int i = 0; i < ROUNDS; i++) {
        TEN(STEP)
    }
#undef ZERO
#undef STEP
    return 10.0 * ROUNDS * 8 * 2;
}

double peak_float_operations(void)
{
    if (__builtin_cpu_supports("avx512f"))
        return wide_floats();
    return __builtin_cpu_supports("fma") ? narrow_floats() : 0;
}
#else
double peak_bytes_operations(void)
{
    return 0;
}

double peak_float_operations(void)
{
    return 0;
}
#endif
