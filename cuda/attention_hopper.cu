/* Prefill attention for Hopper (sm_90a): copy engine, warpgroup products, warp specialisation.
 * SPDX-License-Identifier: Apache-2.0
 *
 * One block an SM lives for the whole launch and draws (query tile, head) items from a counter. Its
 * first warpgroup is the producer: one warp drives the copy engine. The others are consumers of 64
 * query rows each: they issue the scores of the next key tile before they turn to the softmax of the
 * tile at hand (so products run under exponentials), and take turns at issuing (so one's softmax runs
 * under another's products). Key tiles come from the diagonal leftwards; with ALiBi a consumer that
 * needs no more says so, and the producer stops. docs/attention.md tells the story. */
#include "cuda/hopper.cuh"
#include "cuda/launch.h"
#include "cuda/mask.cuh"
#include "cuda/number.cuh"
#include "cuda/reach.cuh"
#include "cuda/softmax.cuh"
#include "cuda/tile.cuh"

namespace
{

using namespace hopper;

constexpr int KEYS = PAGE_KEYS; // a key tile is a page
constexpr int CONSUMERS = HEAD_DIM == 64 ? 3 : 2;
constexpr int THREADS = (CONSUMERS + 1) * 128;
constexpr int ROWS = CONSUMERS * 64;
constexpr int STAGES = HEAD_DIM == 64 ? 4 : 2;
constexpr int BLOCKS = HEAD_DIM / 64; // column blocks of a tile
constexpr int SCORES = KEYS / 8, OUTPUTS = HEAD_DIM / 8;
constexpr uint32_t KEY_BYTES = KEYS * HEAD_DIM * 2, QUERY_BYTES = ROWS * HEAD_DIM * 2;
constexpr uint32_t KEY_BLOCK = KEYS * 128, QUERY_BLOCK = ROWS * 128; // bytes of a column block
constexpr uint32_t COUNTERS_BYTES = KEYS * 16 * 2;
enum name { RING = 1, VOTE = RING + CONSUMERS }; // named barriers: one a consumer each

struct control {
    uint64_t q_full, q_empty, k_full[STAGES], k_empty[STAGES], v_full[STAGES], v_empty[STAGES];
    int item;
    int tile[STAGES];          // what K stage holds; -1: no more tiles for this item
    float norm[STAGES];        // its prefix maximum
    int needed[CONSUMERS * 4]; // lowest tile that a consumer warp may still need
};

constexpr size_t SHARED_BYTES =
    QUERY_BYTES + 2 * STAGES * KEY_BYTES + COUNTERS_BYTES + sizeof(control) + 1024;

struct shared {
    uint32_t q, k, v, counters; // addresses
    control *control;

    __device__ __forceinline__ shared(unsigned char *memory)
    {
        uint32_t begin = shared_address(memory), aligned = (begin + 1023) & ~1023u;
        q = aligned;
        k = q + QUERY_BYTES;
        v = k + STAGES * KEY_BYTES;
        counters = v + STAGES * KEY_BYTES;
        control = reinterpret_cast<struct control *>(memory + (counters + COUNTERS_BYTES - begin));
    }
};

struct item {
    int head, kv_head;
    attention_sequence sequence;
    int first, rows, lowest, highest;
    const int32_t *pages;

    __device__ __forceinline__ item(const attention_call &call, int number)
    {
        int set_blocks = call.tile_count * call.heads_together, in_set = number % set_blocks;
        head = call.heads - 1 - (number / set_blocks * call.heads_together + in_set % call.heads_together);
        kv_head = head / (call.heads / call.kv_heads);
        attention_tile tile = call.tiles[in_set / call.heads_together];
        sequence = call.sequences[tile.sequence];
        first = tile.first;
        rows = min(sequence.rows - first, ROWS);
        lowest = sequence.start + first;
        highest = lowest + rows - 1;
        pages = call.pages + sequence.first_page;
    }
};

// ---- producer: one warp ----
// Pages and norms of 32 tiles at a time, one a lane.
struct page_window {
    int highest = -1, page = -1;
    float norm = 0.0f;

    __device__ __forceinline__ void cover(const attention_call &call, const item &item, int tile, int lane)
    {
        if (tile <= highest && tile > highest - 32)
            return;
        highest = tile;
        page = tile - lane >= 0 ? item.pages[tile - lane] : -1;
        norm = call.k_norms && page >= 0
                   ? call.k_norms[static_cast<int64_t>(page) * call.kv_heads + item.kv_head]
                   : 0.0f;
    }
};

__device__ __forceinline__ void load_tile(uint32_t to, const CUtensorMap *map, int row, uint32_t barrier)
{
    barrier_expect(barrier, KEY_BYTES);
#pragma unroll
    for (int block = 0; block < BLOCKS; block++)
        copy_box(to + block * KEY_BLOCK, map, block * 64, row, barrier);
}

__device__ __forceinline__ void load_queries(const shared &shared, const CUtensorMap *map, const item &item)
{
    uint32_t barrier = shared_address(&shared.control->q_full);
    barrier_expect(barrier, QUERY_BYTES);
#pragma unroll
    for (int block = 0; block < BLOCKS; block++)
        copy_box(shared.q + block * QUERY_BLOCK, map, item.head * HEAD_DIM + block * 64,
                 item.sequence.first_row + item.first, barrier);
}

__device__ __forceinline__ int lowest_needed(const control &control, int lane)
{
    int needed =
        lane < CONSUMERS * 4 ? *reinterpret_cast<const volatile int *>(&control.needed[lane]) : INT_MAX;
    return __reduce_min_sync(~0u, needed);
}

__device__ __forceinline__ void produce_tiles(const attention_call &call, const shared &shared,
                                              const CUtensorMap *k_map, const CUtensorMap *v_map,
                                              const item &item, place<STAGES> &at, place<STAGES> &v_at,
                                              int lane)
{
    control &control = *shared.control;
    walk<KEYS> walk(mask(call), item.lowest);
    page_window window;
    for (int tile = item.highest / KEYS; tile >= 0; tile = walk.next(tile)) {
        window.cover(call, item, tile, lane);
        int page = __shfl_sync(~0u, window.page, window.highest - tile);
        float norm = __shfl_sync(~0u, window.norm, window.highest - tile);
        if (page < 0)
            continue;
        barrier_wait(shared_address(&control.k_empty[at.stage]), at.phase ^ 1);
        if (tile < lowest_needed(control, lane))
            break;
        int row = (page * call.kv_heads + item.kv_head) * KEYS;
        if (lane == 0) {
            control.tile[at.stage] = tile;
            control.norm[at.stage] = norm;
            load_tile(shared.k + at.stage * KEY_BYTES, k_map, row, shared_address(&control.k_full[at.stage]));
        }
        barrier_wait(shared_address(&control.v_empty[v_at.stage]), v_at.phase ^ 1);
        if (lane == 0)
            load_tile(shared.v + v_at.stage * KEY_BYTES, v_map, row,
                      shared_address(&control.v_full[v_at.stage]));
        __syncwarp();
        at.advance();
        v_at.advance();
    }
    barrier_wait(shared_address(&control.k_empty[at.stage]), at.phase ^ 1);
    if (lane == 0) {
        control.tile[at.stage] = -1;
        barrier_arrive(shared_address(&control.k_full[at.stage]));
    }
    at.advance();
}

__device__ __forceinline__ void produce(const attention_call &call, const shared &shared,
                                        const CUtensorMap *q_map, const CUtensorMap *k_map,
                                        const CUtensorMap *v_map, int lane)
{
    control &control = *shared.control;
    int items = call.tile_count * call.heads;
    place<STAGES> at, v_at;
    uint32_t phase = 1;
    for (bool more = true; more; phase ^= 1) {
        int number = 0;
        if (lane == 0)
            number = atomicAdd(&call.tickets[0], 1);
        number = __shfl_sync(~0u, number, 0);
        more = number < items;
        barrier_wait(shared_address(&control.q_empty), phase);
        if (lane < CONSUMERS * 4)
            control.needed[lane] = -1;
        if (lane == 0)
            control.item = more ? number : -1;
        __syncwarp();
        if (!more) {
            if (lane == 0)
                barrier_arrive(shared_address(&control.q_full));
            break;
        }
        item item(call, number);
        if (lane == 0)
            load_queries(shared, q_map, item);
        __syncwarp();
        produce_tiles(call, shared, k_map, v_map, item, at, v_at, lane);
    }
    // Every block has drawn its last ticket once the last one is here.
    if (lane == 0 && atomicAdd(&call.tickets[1], 1) == static_cast<int>(gridDim.x) - 1)
        call.tickets[0] = call.tickets[1] = 0;
}

// ---- consumers: a warpgroup of 64 rows each ----
// The ALiBi bias inside a tile is a product too: slope/scale in three pieces (24 bits) times the key's
// number 0 … 127, which both types hold exactly. So the softmax pays nothing for it.
template <typename T> struct bias_operand {
    uint32_t a;

    __device__ __forceinline__ bias_operand(float step, int lane)
    {
        float high = unpacked(step), middle = unpacked(step - high), low = unpacked(step - high - middle);
        a = lane % 4 == 0 ? number<T>::pack(high, middle) : lane % 4 == 1 ? number<T>::pack(low, 0.0f) : 0;
    }

    static __device__ __forceinline__ float unpacked(float x)
    {
        return number<T>::unpack(number<T>::pack(x, 0.0f)).x;
    }
};

// The other factor: row n holds n, n, n, 0 … 0; in 8 x 8 blocks of 128 bytes, columns 8 … 15 last.
template <typename T> __device__ __forceinline__ void write_counters(unsigned char *counters, int thread)
{
    for (int i = thread; i < KEYS * 16; i += THREADS) {
        int row = i / 16, column = i % 16;
        T *to = reinterpret_cast<T *>(counters + column / 8 * (KEYS * 16) + row * 16) + column % 8;
        *to = T(column < 3 ? static_cast<float>(row) : 0.0f);
    }
}

template <typename T, bool ALIBI>
__device__ __forceinline__ void issue_scores(float (&score)[SCORES * 4], uint32_t q, uint32_t k,
                                             uint32_t counters, uint32_t bias)
{
    products_begin();
    if (ALIBI)
        multiply_rows<T>(score, bias, bias, 0, 0, operand(counters, KEYS * 16, 128, layout::plain), 0);
#pragma unroll
    for (int step = 0; step < HEAD_DIM / 16; step++) {
        uint32_t column = step % 4 * 32;
        multiply_shared<T>(score, operand_rows(q + step / 4 * QUERY_BLOCK + column),
                           operand_rows(k + step / 4 * KEY_BLOCK + column), ALIBI || step > 0);
    }
    products_commit();
}

template <typename T>
__device__ __forceinline__ void issue_values(float (&out)[OUTPUTS * 4], const uint32_t (&weight)[SCORES * 2],
                                             uint32_t v)
{
    products_begin();
#pragma unroll
    for (int step = 0; step < KEYS / 16; step++)
        multiply_columns<T>(out, weight[4 * step], weight[4 * step + 1], weight[4 * step + 2],
                            weight[4 * step + 3], operand_columns(v + step * 2048, KEY_BLOCK));
    products_commit();
}

template <typename T>
__device__ __forceinline__ void pack_weights(uint32_t (&weight)[SCORES * 2], const float (&score)[SCORES * 4])
{
#pragma unroll
    for (int i = 0; i < SCORES * 2; i++)
        weight[i] = number<T>::pack(score[2 * i], score[2 * i + 1]);
}

__device__ __forceinline__ void hide_scores(float (&score)[SCORES * 4], const mask &mask, int position,
                                            int key)
{
#pragma unroll
    for (int i = 0; i < SCORES * 4; i++)
        if (!mask.sees(position + 8 * ((i >> 1) & 1), key + 8 * (i / 4) + (i & 1)))
            score[i] = -INFINITY;
}

// factor·|row| enlarged, of this thread's rows; row: of the first in the query tile.
template <typename T>
__device__ __forceinline__ void row_bounds(const unsigned char *q, int row, int lane, float factor,
                                           float (&bound)[2])
{
#pragma unroll
    for (int r = 0; r < 2; r++) {
        int at = row + 8 * r;
        float sum = 0.0f;
#pragma unroll
        for (int unit = 0; unit < HEAD_DIM / 32; unit++) {
            int column = unit * 4 + lane % 4; // in units of 16 bytes
            const uint4 *from = reinterpret_cast<const uint4 *>(q + column / 8 * QUERY_BLOCK + at * 128) +
                                ((column % 8) ^ (at % 8));
            sum += squares<T>(*from);
        }
        bound[r] = sqrtf(quad_sum(sum)) * factor * norm_margin;
    }
}

// Two rows of a thread → 16 bytes a lane: the quad transposes 4 x 4 words by two exchanges.
__device__ __forceinline__ void quad_transpose(uint32_t (&word)[4], int lane)
{
    bool odd = lane & 1, high = lane & 2;
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
        uint32_t got = __shfl_xor_sync(~0u, odd ? word[i] : word[i + 1], 1);
        (odd ? word[i] : word[i + 1]) = got;
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
        uint32_t got = __shfl_xor_sync(~0u, high ? word[i] : word[i + 2], 2);
        (high ? word[i] : word[i + 2]) = got;
    }
}

template <typename T>
__device__ __forceinline__ void store_rows(const float (&out)[OUTPUTS * 4], const softmax &state, T *to,
                                           int64_t stride, int row, int rows, int lane)
{
#pragma unroll
    for (int r = 0; r < 2; r++) {
        float sum = quad_sum(state.sum[r]), inverse = sum > 0.0f ? 1.0f / sum : 0.0f;
        int at = row + 8 * r;
#pragma unroll
        for (int i = 0; i < OUTPUTS; i += 4) {
            uint32_t word[4];
#pragma unroll
            for (int e = 0; e < 4; e++)
                word[e] = number<T>::pack(out[4 * (i + e) + 2 * r] * inverse,
                                          out[4 * (i + e) + 2 * r + 1] * inverse);
            quad_transpose(word, lane);
            if (at < rows)
                *reinterpret_cast<uint4 *>(to + at * stride + (i + lane % 4) * 8) =
                    make_uint4(word[0], word[1], word[2], word[3]);
        }
    }
}

// The consumer's turn at issuing products: a token that goes round the warpgroups.
struct turn {
    int mine, next;

    __device__ __forceinline__ void wait() const
    {
        named_wait(RING + mine, 256);
    }

    __device__ __forceinline__ void pass() const
    {
        named_arrive(RING + next, 256);
    }
};

// What a consumer keeps between items.
template <typename T, bool ALIBI> struct consumer {
    const attention_call &call;
    const shared &shared;
    const unsigned char *q_bytes;
    int group, warp, lane; // warp: in the group
    turn turn;
    place<STAGES> k_at, v_at;

    __device__ __forceinline__ void free(uint64_t &barrier) const
    {
        __syncwarp();
        if (lane == 0)
            barrier_arrive(shared_address(&barrier));
    }

    // Waits for the next K stage and says which tile it holds.
    __device__ __forceinline__ int wait_keys() const
    {
        barrier_wait(shared_address(&shared.control->k_full[k_at.stage]), k_at.phase);
        return *reinterpret_cast<const volatile int *>(&shared.control->tile[k_at.stage]);
    }

    __device__ __forceinline__ void wait_values() const
    {
        barrier_wait(shared_address(&shared.control->v_full[v_at.stage]), v_at.phase);
    }

    __device__ __forceinline__ void free_keys()
    {
        free(shared.control->k_empty[k_at.stage]);
        k_at.advance();
    }

    __device__ __forceinline__ void free_values()
    {
        free(shared.control->v_empty[v_at.stage]);
        v_at.advance();
    }

    // Lets stages pass that this group does not want, until the item's end.
    __device__ __forceinline__ void drain(int tile)
    {
        for (;;) {
            free_keys();
            if (tile < 0)
                return;
            wait_values();
            free_values();
            tile = wait_keys();
            turn.wait();
            turn.pass();
        }
    }

    // Whether no row of the group needs tile (whose prefix maximum is norm) or anything left of it.
    __device__ __forceinline__ bool finished(const reach &reach, const softmax &state,
                                             const float (&bound)[2], int lowest_tile, int row, int rows,
                                             int tile) const
    {
        float norm = *reinterpret_cast<const volatile float *>(&shared.control->norm[k_at.stage]);
        bool done = tile < lowest_tile;
        if (!done) {
            done = true;
#pragma unroll
            for (int r = 0; r < 2; r++) {
                float sum = quad_sum(state.sum[r]);
                done = done && (row + 8 * r >= rows ||
                                reach.beyond(bound[r], norm, tile * KEYS + KEYS - 1, state.max[r], sum));
            }
        }
        return named_and(VOTE + group, 128, done);
    }

    __device__ __forceinline__ void publish(int lowest_tile) const
    {
        if (lane == 0)
            *reinterpret_cast<volatile int *>(&shared.control->needed[group * 4 + warp]) = lowest_tile;
    }

    // The lowest tile that the warp's rows can need, from norms alone.
    __device__ __forceinline__ int first_tile(const item &item, const reach &reach, const float (&bound)[2],
                                              int row) const
    {
        float norm = *reinterpret_cast<const volatile float *>(&shared.control->norm[k_at.stage]);
        int needed = INT_MAX;
#pragma unroll
        for (int r = 0; r < 2; r++)
            if (row + 8 * r < item.rows) {
                float nearest =
                    static_cast<float>(item.lowest + row + 8 * r) - reach.furthest(bound[r], norm);
                needed = min(needed, static_cast<int>(fmaxf(floorf(nearest), 0.0f)) / KEYS);
            }
        return __reduce_min_sync(~0u, needed);
    }

    __device__ __forceinline__ void work(const item &item);
};

template <typename T, bool ALIBI> __device__ __forceinline__ void consumer<T, ALIBI>::work(const item &item)
{
    int row = group * 64 + warp * 16 + lane / 4; // of the thread's first row in the query tile
    float factor = call.scale * LOG2E;
    mask mask(call);
    softmax state;
    state.begin();
    float out[OUTPUTS * 4], score[SCORES * 4], rescale[2], bound[2];
    uint32_t weight[SCORES * 2];
#pragma unroll
    for (int i = 0; i < OUTPUTS * 4; i++)
        out[i] = 0.0f;
    reach reach;
    reach.on = false;
    float slope = 0.0f;
    uint32_t bias = 0;
    if (ALIBI) {
        slope = call.slopes[item.head];
        bias = bias_operand<T>(slope / call.scale, lane).a;
        slope *= LOG2E;
        reach.begin(call, item.head, item.highest);
        if (reach.on)
            row_bounds<T>(q_bytes, row, lane, factor, bound);
    }
    uint32_t q = shared.q + group * 64 * 128;
    int lowest_tile = 0;

    auto weigh = [&](int tile) {
        if (!mask.whole(item.lowest + group * 64, item.lowest + group * 64 + 63, tile * KEYS,
                        tile * KEYS + KEYS - 1))
            hide_scores(score, mask, item.lowest + row, tile * KEYS + 2 * (lane & 3));
        float shift = ALIBI ? slope * static_cast<float>(tile * KEYS - item.highest) : 0.0f;
        state.template tile<SCORES>(score, factor, shift, rescale);
    };

    int tile = wait_keys();
    turn.wait();
    if (tile >= 0) {
        issue_scores<T, ALIBI>(score, q, shared.k + k_at.stage * KEY_BYTES, shared.counters, bias);
        turn.pass();
        if (ALIBI && reach.on && !item.sequence.holes) {
            lowest_tile = first_tile(item, reach, bound, row);
            publish(lowest_tile);
        }
        products_wait<0>();
        hold(score);
        free_keys();
        weigh(tile);
        pack_weights<T>(weight, score);
        for (;;) {
            tile = wait_keys();
            if (tile < 0)
                break;
            if (ALIBI && reach.on && finished(reach, state, bound, lowest_tile, row, item.rows, tile)) {
                publish(INT_MAX);
                break;
            }
            turn.wait();
            issue_scores<T, ALIBI>(score, q, shared.k + k_at.stage * KEY_BYTES, shared.counters, bias);
            wait_values();
            issue_values<T>(out, weight, shared.v + v_at.stage * KEY_BYTES);
            turn.pass();
            products_wait<1>();
            hold(score);
            free_keys();
            weigh(tile);
            // The wait for the values' product stands behind a branch that depends on the softmax: without
            // it the assembler moves the wait up, and the product no longer runs under the exponentials.
            if (any_rescale(rescale)) {
                products_wait<0, 1>();
                hold(out);
#pragma unroll
                for (int i = 0; i < OUTPUTS * 4; i++)
                    out[i] *= rescale[(i >> 1) & 1];
            } else {
                products_wait<0, 2>();
                hold(out);
            }
            free_values();
            pack_weights<T>(weight, score);
        }
        turn.wait();
        wait_values();
        issue_values<T>(out, weight, shared.v + v_at.stage * KEY_BYTES);
        turn.pass();
        products_wait<0>();
        hold(out);
        free_values();
    } else {
        turn.pass();
    }
    free(shared.control->q_empty);
    drain(tile);
    T *to = static_cast<T *>(call.out) +
            (static_cast<int64_t>(item.sequence.first_row) + item.first) * call.out_stride +
            item.head * HEAD_DIM;
    store_rows<T>(out, state, to, call.out_stride, row, item.rows, lane);
}

template <typename T, bool ALIBI>
__device__ __forceinline__ void consume(const attention_call &call, const shared &shared,
                                        const unsigned char *q_bytes, int thread)
{
    int group = __shfl_sync(~0u, thread / 128, 0) - 1, warp = __shfl_sync(~0u, thread / 32, 0) % 4;
    consumer<T, ALIBI> consumer = {
        call, shared, q_bytes, group, warp, thread % 32, {group, (group + 1) % CONSUMERS}, {}, {}};
    if (group == CONSUMERS - 1)
        consumer.turn.pass(); // the first turn
    for (uint32_t phase = 0;; phase ^= 1) {
        barrier_wait(shared_address(&shared.control->q_full), phase);
        int number = *reinterpret_cast<const volatile int *>(&shared.control->item);
        if (number < 0)
            break;
        consumer.work(item(call, number));
    }
}

template <typename T, bool ALIBI>
__global__ __launch_bounds__(THREADS, 1) void prefill(const __grid_constant__ attention_call call,
                                                      const __grid_constant__ CUtensorMap q_map,
                                                      const __grid_constant__ CUtensorMap k_map,
                                                      const __grid_constant__ CUtensorMap v_map)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ unsigned char memory[];
    shared shared(memory);
    int thread = static_cast<int>(threadIdx.x);
    if (thread == 0) {
        prefetch_map(&q_map);
        prefetch_map(&k_map);
        prefetch_map(&v_map);
        control &control = *shared.control;
        barrier_begin(shared_address(&control.q_full), 1);
        barrier_begin(shared_address(&control.q_empty), CONSUMERS * 4);
        for (int i = 0; i < STAGES; i++) {
            barrier_begin(shared_address(&control.k_full[i]), 1);
            barrier_begin(shared_address(&control.k_empty[i]), CONSUMERS * 4);
            barrier_begin(shared_address(&control.v_full[i]), 1);
            barrier_begin(shared_address(&control.v_empty[i]), CONSUMERS * 4);
        }
    }
    if (ALIBI)
        write_counters<T>(memory + (shared.counters - shared_address(memory)), thread);
    fence_async();
    __syncthreads();
    if (thread < 128) {
        registers_less<CONSUMERS == 2 ? 40 : 32>();
        if (thread < 32)
            produce(call, shared, &q_map, &k_map, &v_map, thread);
    } else {
        registers_more<CONSUMERS == 2 ? 232 : 160>();
        consume<T, ALIBI>(call, shared, memory + (shared.q - shared_address(memory)), thread);
    }
#endif
}

// ---- host ----
typedef CUresult (*encode_function)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *,
                                    const cuuint64_t *, const cuuint64_t *, const cuuint32_t *,
                                    const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
                                    CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

// A matrix read in boxes of `box` rows of 64 numbers.
bool make_map(encode_function encode, CUtensorMap *map, dtype dtype, const void *base, uint64_t columns,
              uint64_t rows, uint64_t stride, uint32_t box)
{
    const cuuint64_t sizes[2] = {columns, rows}, strides[1] = {stride * 2};
    const cuuint32_t boxes[2] = {64, box}, steps[2] = {1, 1};
    return encode(map, dtype == DT_BF16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
                  2, const_cast<void *>(base), sizes, strides, boxes, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                  CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

template <typename T, bool ALIBI>
int launch(const attention_call *call, int blocks, const CUtensorMap &q, const CUtensorMap &k,
           const CUtensorMap &v, cudaStream_t stream)
{
    cudaError_t error = cudaFuncSetAttribute(prefill<T, ALIBI>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             static_cast<int>(SHARED_BYTES));
    if (error != cudaSuccess)
        return error;
    prefill<T, ALIBI><<<blocks, THREADS, SHARED_BYTES, stream>>>(*call, q, k, v);
    return cudaGetLastError();
}

} // namespace

#define NAME_(size) attention_hopper_##size
#define NAME(size) NAME_(size)
extern "C" int NAME(HEAD_DIM)(const attention_call *call, void *stream)
{
    void *entry = nullptr;
    cudaDriverEntryPointQueryResult found;
    cudaError_t error =
        cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &found);
    if (error != cudaSuccess || found != cudaDriverEntryPointSuccess)
        return error != cudaSuccess ? error : cudaErrorNotSupported;
    encode_function encode = reinterpret_cast<encode_function>(entry);
    int device = 0, processors = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    // The pool's end is not known here and does not matter: page numbers come from the engine.
    constexpr uint64_t pool_rows = (1u << 31) - KEYS;
    CUtensorMap q, k, v;
    uint64_t rows = static_cast<uint64_t>(call->rows),
             columns = static_cast<uint64_t>(call->heads) * HEAD_DIM;
    if (call->tile_rows != ROWS ||
        !make_map(encode, &q, call->dtype, call->q, columns, rows, static_cast<uint64_t>(call->q_stride),
                  ROWS) ||
        !make_map(encode, &k, call->dtype, call->k, HEAD_DIM, pool_rows, HEAD_DIM, KEYS) ||
        !make_map(encode, &v, call->dtype, call->v, HEAD_DIM, pool_rows, HEAD_DIM, KEYS))
        return cudaErrorInvalidValue;
    int items = call->tile_count * call->heads, blocks = items < processors ? items : processors;
    cudaStream_t queue = static_cast<cudaStream_t>(stream);
    if (call->dtype == DT_BF16)
        return call->slopes ? launch<__nv_bfloat16, true>(call, blocks, q, k, v, queue)
                            : launch<__nv_bfloat16, false>(call, blocks, q, k, v, queue);
    return call->slopes ? launch<__half, true>(call, blocks, q, k, v, queue)
                        : launch<__half, false>(call, blocks, q, k, v, queue);
}
