/* Pieces of a tile in shared memory: asynchronous copies into it, matrix fragments out of it.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A tile is rows of `head_dim` numbers, each row padded by 16 bytes: then the eight rows that one
 * ldmatrix reads lie in eight different groups of four banks, for every head size here (the row
 * length in 16-byte units is odd). */
#pragma once

#include <stdint.h>

template <int DIM> constexpr int tile_row = DIM + 8; // numbers from one row to the next

static __device__ __forceinline__ uint32_t shared_address(const void *pointer)
{
    return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// Copies 16 bytes past the L1; writes zeros instead when keep is false.
static __device__ __forceinline__ void copy_async(uint32_t to, const void *from, bool keep)
{
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
                 "r"(keep ? 16 : 0)
                 : "memory");
}

static __device__ __forceinline__ void copy_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int PENDING> static __device__ __forceinline__ void copy_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

static __device__ __forceinline__ void load_matrix(uint32_t *r, uint32_t address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
}

static __device__ __forceinline__ void load_matrix_transposed(uint32_t *r, uint32_t address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
}

// Where this lane points for the three fragments of m16n8k16. All in numbers, relative to the tile.
// A: 16 rows x 16 columns.
template <int DIM> static __device__ __forceinline__ int fragment_a(int lane)
{
    return (lane & 15) * tile_row<DIM> + (lane >> 4) * 8;
}
// B of a product with the rows as columns (keys of q·kᵀ): 16 rows x 16 columns give two column blocks.
template <int DIM> static __device__ __forceinline__ int fragment_b(int lane)
{
    return ((lane & 7) + ((lane >> 4) << 3)) * tile_row<DIM> + ((lane >> 3) & 1) * 8;
}
// B of a product with the rows as the summed index (values of p·v), read transposed.
template <int DIM> static __device__ __forceinline__ int fragment_bt(int lane)
{
    return (lane & 15) * tile_row<DIM> + (lane >> 4) * 8;
}

// rows … rows+count-1 of a matrix with `stride` numbers a row, by all THREADS threads; rows from
// `valid` on become zeros.
template <typename T, int DIM, int ROWS, int THREADS>
static __device__ __forceinline__ void tile_load(uint32_t tile, const T *from, int64_t stride, int valid,
                                                 int thread)
{
    constexpr int chunks = DIM / 8;
#pragma unroll
    for (int i = 0; i < ROWS * chunks / THREADS; i++) {
        int chunk = i * THREADS + thread;
        int row = chunk / chunks, column = chunk % chunks * 8;
        bool keep = row < valid;
        copy_async(tile + (row * tile_row<DIM> + column) * 2, from + (keep ? row * stride + column : 0),
                   keep);
    }
}
