/* Hopper's own instructions: barriers in shared memory, the tensor copy engine, warpgroup products.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tiles are stored as columns of 64 numbers (128 bytes a row), one column block after another, in the
 * copy engine's 128-byte swizzle: the 16-byte unit u of row r lies at unit u ^ (r % 8). */
#pragma once

#include "cuda/number.cuh"

#include <cuda.h>

namespace hopper
{

// ---- barriers ----
static __device__ __forceinline__ void barrier_begin(uint32_t barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

static __device__ __forceinline__ void barrier_arrive(uint32_t barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Arrives and announces bytes that the copy engine will deliver.
static __device__ __forceinline__ void barrier_expect(uint32_t barrier, uint32_t bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
}

static __device__ __forceinline__ void barrier_wait(uint32_t barrier, uint32_t phase)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n"
                 "}" ::"r"(barrier),
                 "r"(phase)
                 : "memory");
}

// Makes ordinary writes to shared memory visible to the copy engine and the tensor cores.
static __device__ __forceinline__ void fence_async()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// A place in a ring of stages.
template <int STAGES> struct place {
    int stage = 0;
    uint32_t phase = 0;

    __device__ __forceinline__ void advance()
    {
        stage++;
        if (stage == STAGES) {
            stage = 0;
            phase ^= 1;
        }
    }
};

// ---- named barriers of warpgroups ----
static __device__ __forceinline__ void named_wait(int name, int threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(name), "r"(threads) : "memory");
}

static __device__ __forceinline__ void named_arrive(int name, int threads)
{
    asm volatile("bar.arrive %0, %1;" ::"r"(name), "r"(threads) : "memory");
}

static __device__ __forceinline__ bool named_and(int name, int threads, bool value)
{
    uint32_t all;
    asm volatile("{\n"
                 ".reg .pred mine, ours;\n"
                 "setp.ne.u32 mine, %3, 0;\n"
                 "bar.red.and.pred ours, %1, %2, mine;\n"
                 "selp.u32 %0, 1, 0, ours;\n"
                 "}"
                 : "=r"(all)
                 : "r"(name), "r"(threads), "r"(static_cast<uint32_t>(value))
                 : "memory");
    return all != 0;
}

template <int COUNT> static __device__ __forceinline__ void registers_more()
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
}

template <int COUNT> static __device__ __forceinline__ void registers_less()
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
}

// ---- copy engine ----
static __device__ __forceinline__ void copy_box(uint32_t to, const CUtensorMap *map, int column, int row,
                                                uint32_t barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, "
                 "{%2, %3}], [%4];" ::"r"(to),
                 "l"(map), "r"(column), "r"(row), "r"(barrier)
                 : "memory");
}

static __device__ __forceinline__ void prefetch_map(const CUtensorMap *map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// ---- warpgroup products ----
// Descriptor of an operand in shared memory. leading and stride are byte distances; what they mean
// depends on the layout (PTX manual, "Matrix descriptor").
enum class layout : uint64_t { plain = 0, swizzle128 = 1 };

static __device__ __forceinline__ uint64_t operand(uint32_t address, uint32_t leading, uint32_t stride,
                                                   layout layout)
{
    return static_cast<uint64_t>(address >> 4 & 0x3fff) | static_cast<uint64_t>(leading >> 4) << 16 |
           static_cast<uint64_t>(stride >> 4) << 32 | static_cast<uint64_t>(layout) << 62;
}

// Rows are the result's rows or columns, numbers along a row are summed: q, and k in q·kᵀ.
static __device__ __forceinline__ uint64_t operand_rows(uint32_t address)
{
    return operand(address, 16, 1024, layout::swizzle128);
}

// Rows are summed: v in p·v. block: bytes from one block of 64 columns to the next.
static __device__ __forceinline__ uint64_t operand_columns(uint32_t address, uint32_t block)
{
    return operand(address, block, 1024, layout::swizzle128);
}

static __device__ __forceinline__ void products_begin()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

static __device__ __forceinline__ void products_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// PLACE tells one wait from another, so that the compiler does not fold the two sides of a branch.
template <int PENDING, int PLACE = 0> static __device__ __forceinline__ void products_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0; // %1" ::"n"(PENDING), "n"(PLACE) : "memory");
}

// Keeps the compiler from moving uses of registers that a product writes.
template <int COUNT> static __device__ __forceinline__ void hold(float (&d)[COUNT])
{
#pragma unroll
    for (int i = 0; i < COUNT; i++)
        asm volatile("" : "+f"(d[i])::"memory");
}

// The lists of registers in the instructions below.
#define D4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define D16(i) D4(i), D4(i + 4), D4(i + 8), D4(i + 12)
#define D32(i) D16(i), D16(i + 16)
#define NAMES32                                                                                              \
    "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%"   \
    "27,%28,"                                                                                                \
    "%29,%30,%31}"
#define NAMES64                                                                                              \
    "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%"   \
    "27,%28,"                                                                                                \
    "%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%"  \
    "54,"                                                                                                    \
    "%55,%56,%57,%58,%59,%60,%61,%62,%63}"

// d (64 x 128) = or += a (64 x 16, shared) · bᵀ (128 x 16, shared rows).
#define MULTIPLY_SHARED(type)                                                                                \
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %66, 0;\n"                                            \
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32." type "." type " " NAMES64                    \
                 ", %64, %65, add, 1, 1, 0, 0;\n}"                                                           \
                 : D32(0), D32(32)                                                                           \
                 : "l"(a), "l"(b), "r"(add))
// d (64 x 128) = or += a (64 x 16, registers) · bᵀ (128 x 16, shared rows).
#define MULTIPLY_ROWS(type)                                                                                  \
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %69, 0;\n"                                            \
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32." type "." type " " NAMES64                    \
                 ", {%64,%65,%66,%67}, %68, add, 1, 1, 0;\n}"                                                \
                 : D32(0), D32(32)                                                                           \
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "l"(b), "r"(add))
// d (64 x 64 or 128) += a (64 x 16, registers) · b (16 x 64 or 128, shared columns).
#define MULTIPLY_COLUMNS128(type)                                                                            \
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32." type "." type " " NAMES64                    \
                 ", {%64,%65,%66,%67}, %68, 1, 1, 1, 1;"                                                     \
                 : D32(0), D32(32)                                                                           \
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "l"(b))
#define MULTIPLY_COLUMNS64(type)                                                                             \
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32." type "." type " " NAMES32                     \
                 ", {%32,%33,%34,%35}, %36, 1, 1, 1, 1;"                                                     \
                 : D32(0)                                                                                    \
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "l"(b))

template <typename T>
static __device__ __forceinline__ void multiply_shared(float (&d)[64], uint64_t a, uint64_t b, int add)
{
    if constexpr (number<T>::is_bf16)
        MULTIPLY_SHARED("bf16");
    else
        MULTIPLY_SHARED("f16");
}

template <typename T>
static __device__ __forceinline__ void multiply_rows(float (&d)[64], uint32_t a0, uint32_t a1, uint32_t a2,
                                                     uint32_t a3, uint64_t b, int add)
{
    if constexpr (number<T>::is_bf16)
        MULTIPLY_ROWS("bf16");
    else
        MULTIPLY_ROWS("f16");
}

template <typename T>
static __device__ __forceinline__ void multiply_columns(float (&d)[64], uint32_t a0, uint32_t a1, uint32_t a2,
                                                        uint32_t a3, uint64_t b)
{
    if constexpr (number<T>::is_bf16)
        MULTIPLY_COLUMNS128("bf16");
    else
        MULTIPLY_COLUMNS128("f16");
}

template <typename T>
static __device__ __forceinline__ void multiply_columns(float (&d)[32], uint32_t a0, uint32_t a1, uint32_t a2,
                                                        uint32_t a3, uint64_t b)
{
    if constexpr (number<T>::is_bf16)
        MULTIPLY_COLUMNS64("bf16");
    else
        MULTIPLY_COLUMNS64("f16");
}

#undef D4
#undef D16
#undef D32
#undef NAMES32
#undef NAMES64
#undef MULTIPLY_SHARED
#undef MULTIPLY_ROWS
#undef MULTIPLY_COLUMNS128
#undef MULTIPLY_COLUMNS64

} // namespace hopper
