/* A block of decode attention: what plain and packed caches have in common.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A block takes a run of granules of one sequence's keys for one KV head. The query rows of the sequence and
 * the query heads of the group are packed as the rows of a matrix, so each key is read once. Every warp
 * streams its own chunks of CHUNK keys through its own stages of shared memory and meets the other warps only
 * where a granule ends; what is in flight for the next granule stays so. Each granule's result goes to
 * scratch; the last block to arrive of a (sequence, KV head) merges them in order, so the bytes depend
 * neither on timing nor on the rest of the batch.
 *
 * What a cache brings (plain_cache in attention_decode.cu, packed_cache in attention_packed.cu):
 * - number: the queries' type; ROWS: packed rows of a block; STAGE_BYTES: of a chunk in shared memory;
 *   QUERY_BYTES: of shared memory of its own, for the queries;
 * - load(): queues the copies of a chunk; prepare(): all threads, once the queries are in their tile;
 * - rows: what a thread knows of its packed rows; gathered: what a warp gathers over a granule. */
#pragma once

#include "cuda/chain.cuh"
#include "cuda/decode_merge.cuh"
#include "cuda/decode_rows.cuh"
#include "cuda/mask.cuh"

template <typename Cache, int WARPS, int STAGES> constexpr int decode_shared_bytes()
{
    constexpr int streams = WARPS * STAGES * Cache::STAGE_BYTES;
    constexpr int headers = static_cast<int>(sizeof(float)) * DECODE_GRANULES * 2 * DECODE_ROWS;
    return Q_BYTES + Cache::QUERY_BYTES + (streams > headers ? streams : headers);
}

// A chunk in shared memory, and where it is among the keys.
struct chunk {
    uint32_t address;
    int key;   // its first
    bool hide; // some key is behind some row's mask
};

// Fewer keys are not worth a result of their own.
constexpr int LEAST_KEYS = 256;

// The block at work. Chunk c of the range goes to warp c % WARPS; granules are whole rounds of all warps.
template <typename Cache, int WARPS, int STAGES> struct decoder {
    static constexpr int THREADS = WARPS * 32, ROUND = WARPS * CHUNK, STAGE = Cache::STAGE_BYTES;
    static constexpr int APART = STAGES * STAGE / 4;      // floats from one warp's result to the next
    static constexpr int RESULT = Cache::ROWS * HEAD_DIM; // where a warp's maxima begin behind its outputs
    static_assert(STAGE >= 4 * Cache::ROWS * (HEAD_DIM + 2), "a warp's result fits a stage");

    const attention_call &call;
    const work &work;
    const range &range;
    unsigned char *stages; // of all warps
    int thread, lane, warp;
    int index, stop; // of the warp's next chunk; where the block's part ends
    int stage;       // of that chunk
    int lowest;      // position of the block's first row
    int page; // of the chunk to be loaded next: read a round before it is needed, for a copy that waits
              // for its page number would hold up everything behind it

    // A window or the reach may leave few keys: then some granules, evenly among the others, have none. How
    // many have some, and which of these the granule is or comes before.
    __device__ __forceinline__ int used() const
    {
        return min(work.part.all_granules, (range.count() + LEAST_KEYS - 1) / LEAST_KEYS);
    }

    __device__ __forceinline__ int nth_used(int granule) const
    {
        return used() * granule / work.part.all_granules;
    }

    __device__ __forceinline__ int border(int granule) const
    {
        int64_t rounds = (range.count() + ROUND - 1) / ROUND;
        return static_cast<int>(rounds * nth_used(granule) / used()) * ROUND;
    }

    __device__ __forceinline__ uint32_t address_of(int of_stage) const
    {
        return shared_address(stages) + static_cast<uint32_t>((warp * STAGES + of_stage) * STAGE);
    }

    __device__ __forceinline__ void look_up(int at)
    {
        page = at < stop ? work.pages[range.key(at) / PAGE_KEYS] : -1;
    }

    // Chunk at `at` of the range, when it is before stop; then looks up the one at `next`.
    __device__ __forceinline__ void load(int to_stage, int at, int next)
    {
        if (at < stop) {
            int key = range.key(at);
            int64_t head_page = static_cast<int64_t>(max(page, 0)) * call.kv_heads + work.kv_head;
            Cache::load(address_of(to_stage), call, head_page, key % PAGE_KEYS,
                        page < 0 ? 0 : range.end - key, lane);
        }
        copy_commit();
        look_up(next);
    }

    __device__ __forceinline__ void aim()
    {
        index = border(work.part.granule) + warp * CHUNK;
        stop = min(range.count(), border(work.part.granule + work.part.granules));
        stage = 0;
        lowest = work.position(0);
    }

    // Whether begin() asks only for keys that earlier steps put in place. The same for all threads.
    __device__ __forceinline__ bool begins_with_old_keys() const
    {
        int last = min(stop, border(work.part.granule) + (STAGES - 1) * ROUND) - 1;
        return last < 0 || range.key(last) < work.part.sequence.start;
    }

    __device__ __forceinline__ void begin()
    {
        look_up(index);
#pragma unroll
        for (int i = 0; i < STAGES - 1; i++)
            load(i, index + i * ROUND, index + (i + 1) * ROUND);
    }

    // A used granule's chunks. All warps count the same rounds, so that all stand at the same stage after it.
    // The stage that is to be filled next may still be read as results of the granule before: it is filled
    // behind the first chunk, when all warps are past that.
    __device__ __forceinline__ void gather(int granule, bool read, const typename Cache::rows &rows,
                                           typename Cache::gathered &gathered)
    {
        gathered.begin();
        mask mask(call);
        for (int last = border(granule + 1) + warp * CHUNK; index < last; index += ROUND) {
            int ahead = stage == 0 ? STAGES - 1 : stage - 1, later = index + (STAGES - 1) * ROUND;
            if (read) {
                copy_wait<STAGES - 2>();
            } else {
                __syncwarp(); // every lane has read the stage that is filled next
                load(ahead, later, later + ROUND);
                copy_wait<STAGES - 1>();
            }
            __syncwarp(); // every lane's copies are here
            int key = range.key(index);
            chunk chunk = {address_of(stage), key, !mask.whole(lowest, range.end - 1, key, key + CHUNK - 1)};
            bool hole = work.part.sequence.holes && index < stop && work.pages[key / PAGE_KEYS] < 0;
            stage = stage + 1 == STAGES ? 0 : stage + 1;
            if (index < stop && !hole)
                gathered.take(call, mask, rows, chunk, lane);
            if (read) {
                read = false;
                __syncthreads();
                load(ahead, later, later + ROUND);
            }
        }
    }

    // Merges the warps' results of a granule. The stage to be filled next is free: it takes them.
    __device__ __forceinline__ void flush(int granule, const typename Cache::gathered &gathered)
    {
        int free_stage = stage == 0 ? STAGES - 1 : stage - 1;
        const float *results = reinterpret_cast<const float *>(stages + free_stage * STAGE);
        __syncwarp();
        gathered.write(reinterpret_cast<float *>(stages + (warp * STAGES + free_stage) * STAGE), work.rows,
                       lane);
        __syncthreads();
        if (work.part.all_granules == 1)
            merge<THREADS, true, Cache::ROWS>(results, APART, results + RESULT, APART, WARPS, work.rows,
                                              thread, store_rows<typename Cache::number>{call, work});
        else
            merge<THREADS, true, Cache::ROWS>(
                results, APART, results + RESULT, APART, WARPS, work.rows, thread,
                store_slot{call.partial + (work.first_slot(call) + nth_used(granule)) * SLOT});
    }

    __device__ __forceinline__ void run(const typename Cache::rows &rows)
    {
        bool read = false; // results of a granule before
        for (int granule = work.part.granule; granule < work.part.granule + work.part.granules; granule++) {
            if (nth_used(granule) == nth_used(granule + 1))
                continue;
            typename Cache::gathered gathered;
            gather(granule, read, rows, gathered);
            flush(granule, gathered);
            read = true;
        }
        copy_wait<0>();
        if (work.part.all_granules > 1 &&
            last_to_arrive(call.tickets + ATTENTION_TICKETS + work.first_slot(call), work.part.all_parts,
                           thread))
            merge_granules<typename Cache::number, THREADS>(call, work, used(),
                                                            reinterpret_cast<float *>(stages), thread);
    }
};

// Without the reach, which needs the queries, keys are asked for before anything else is waited for, as far
// as they are older than the step; the step's own are put in place first.
template <typename Cache, int WARPS, int STAGES>
static __global__ __launch_bounds__(WARPS * 32, 2) void decode(const __grid_constant__ attention_call call)
{
    using T = typename Cache::number;
    constexpr int THREADS = WARPS * 32;
    extern __shared__ __align__(128) unsigned char shared[];
    T *q_tile = reinterpret_cast<T *>(shared);
    unsigned char *own = shared + Q_BYTES;
    int thread = static_cast<int>(threadIdx.x), lane = thread & 31, warp = thread / 32;
    work work(call, Cache::ROWS);
    if (work.part.granules == 0) {
        chain_wait();
        return;
    }
    bool skipping = call.slopes && call.reach > 0.0f && call.k_norms, fresh = call.fresh.q;
    bool places = fresh && work.part.granule + work.part.granules == work.part.all_granules;
    if (skipping) {
        chain_wait();
        chain_release();
        load_queries<T, THREADS>(call, work, q_tile, thread);
    }
    range range = keys_range<T>(call, work, q_tile, lane);
    decoder<Cache, WARPS, STAGES> decoder = {call, work, range, own + Cache::QUERY_BYTES, thread, lane, warp};
    decoder.aim();
    bool early = skipping || decoder.begins_with_old_keys();
    if (early)
        decoder.begin();
    if (!skipping) {
        chain_wait();
        chain_release();
    }
    if (fresh) // who waits for the new key need not wait for the queries
        turn_queries<T>(call, work, q_tile, thread, places ? THREADS - 32 : THREADS);
    else if (!skipping)
        load_queries<T, THREADS>(call, work, q_tile, thread);
    if (places && thread >= THREADS - 32)
        Cache::place_key(call, work, lane);
    __syncthreads();
    if (!early)
        decoder.begin();
    Cache::template prepare<THREADS>(reinterpret_cast<const uint16_t *>(q_tile), own, thread);
    decoder.run(typename Cache::rows(call, work, shared, own, lane));
}

template <typename Cache, int WARPS, int STAGES>
static int decode_launch(const attention_call *call, void *stream)
{
    constexpr int bytes = decode_shared_bytes<Cache, WARPS, STAGES>();
    cudaError_t error = cudaFuncSetAttribute(decode<Cache, WARPS, STAGES>,
                                             cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (error != cudaSuccess)
        return error;
    const dim3 grid(static_cast<unsigned>(call->part_count * call->kv_heads));
    return chain_launch(decode<Cache, WARPS, STAGES>, grid, WARPS * 32, static_cast<size_t>(bytes), stream,
                        *call);
}

// Two blocks an SM where shared memory allows it, else the shape that fits 99 KiB (sm_89, sm_120).
template <typename Cache, int WARPS, int STAGES>
static int decode_launch_some(const attention_call *call, void *stream)
{
    int device = 0, most = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    if (most >= 2 * 80 * 1024)
        return decode_launch<Cache, WARPS, STAGES>(call, stream);
    return decode_launch<Cache, WARPS, 2>(call, stream);
}
