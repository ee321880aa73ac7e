/* The Hopper kernel's consumers: warpgroups of 64 query rows that multiply, weigh and gather.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cuda/hopper_block.cuh"
#include "cuda/mask.cuh"
#include "cuda/reach.cuh"
#include "cuda/softmax.cuh"

namespace
{

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
                                           int64_t stride, int row, int rows, int lane, bool bf16)
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
                word[e] = pack_out<T>(bf16, out[4 * (i + e) + 2 * r] * inverse,
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

// What a thread of a consumer keeps of its two rows (first and first + 8 of the query tile) in one item.
template <typename T, bool ALIBI> struct rows {
    softmax state;
    float out[OUTPUTS * 4], score[SCORES * 4], rescale[2];
    uint32_t weight[SCORES * 2];
    int first;
    // ALiBi
    reach reach;
    float slope, bound[2]; // slope in log2 units
    uint32_t bias;
    int lowest_tile; // that the warp's rows can need
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

    __device__ __forceinline__ void publish(int lowest_tile) const
    {
        if (lane == 0)
            atomicExch(&shared.control->needed[group * 4 + warp], lowest_tile);
    }

    __device__ __forceinline__ float tile_norm() const
    {
        return *reinterpret_cast<const volatile float *>(&shared.control->norm[k_at.stage]);
    }

    __device__ __forceinline__ void work(const item &item);

private:
    __device__ __forceinline__ void begin(rows<T, ALIBI> &rows, const item &item) const;
    __device__ __forceinline__ void first_tile(rows<T, ALIBI> &rows, const item &item, int tile);
    __device__ __forceinline__ int next_tiles(rows<T, ALIBI> &rows, const item &item);
    __device__ __forceinline__ void next_tile(rows<T, ALIBI> &rows, const item &item, int tile);
    __device__ __forceinline__ void last_values(rows<T, ALIBI> &rows);
    __device__ __forceinline__ bool finished(const rows<T, ALIBI> &rows, const item &item, int tile) const;
    __device__ __forceinline__ int lowest_in_reach(const rows<T, ALIBI> &rows, const item &item) const;
    __device__ __forceinline__ void weigh(rows<T, ALIBI> &rows, const item &item, int tile) const;
    __device__ __forceinline__ void issue_next_scores(rows<T, ALIBI> &rows) const;
};

template <typename T, bool ALIBI>
__device__ __forceinline__ void consumer<T, ALIBI>::begin(rows<T, ALIBI> &rows, const item &item) const
{
    rows.first = group * 64 + warp * 16 + lane / 4;
    rows.state.begin();
#pragma unroll
    for (int i = 0; i < OUTPUTS * 4; i++)
        rows.out[i] = 0.0f;
    rows.lowest_tile = 0;
    rows.reach.on = false;
    if (ALIBI) {
        float slope = call.slopes[item.head];
        rows.bias = bias_operand<T>(slope / call.scale, lane).a;
        rows.slope = slope * LOG2E;
        rows.reach.begin(call, item.head, item.highest);
        if (rows.reach.on)
            row_bounds<T>(q_bytes, rows.first, lane, call.scale * LOG2E, rows.bound);
    }
}

// Whether no row of the group needs tile, the one in the next K stage, or anything left of it.
template <typename T, bool ALIBI>
__device__ __forceinline__ bool consumer<T, ALIBI>::finished(const rows<T, ALIBI> &rows, const item &item,
                                                             int tile) const
{
    float norm = tile_norm();
    bool done = tile < rows.lowest_tile;
    if (!done) {
        done = true;
#pragma unroll
        for (int r = 0; r < 2; r++) {
            float sum = quad_sum(rows.state.sum[r]);
            done = done &&
                   (rows.first + 8 * r >= item.rows ||
                    rows.reach.beyond(rows.bound[r], norm, tile * KEYS + KEYS - 1, rows.state.max[r], sum));
        }
    }
    return named_and(VOTE + group, 128, done);
}

// The lowest tile that the warp's rows can need, from norms alone.
template <typename T, bool ALIBI>
__device__ __forceinline__ int consumer<T, ALIBI>::lowest_in_reach(const rows<T, ALIBI> &rows,
                                                                   const item &item) const
{
    float norm = tile_norm();
    int needed = INT_MAX;
#pragma unroll
    for (int r = 0; r < 2; r++)
        if (rows.first + 8 * r < item.rows) {
            float position = static_cast<float>(item.lowest + rows.first + 8 * r);
            float nearest = position - rows.reach.furthest(rows.bound[r], norm);
            needed = min(needed, static_cast<int>(fmaxf(floorf(nearest), 0.0f)) / KEYS);
        }
    return __reduce_min_sync(~0u, needed);
}

template <typename T, bool ALIBI>
__device__ __forceinline__ void consumer<T, ALIBI>::weigh(rows<T, ALIBI> &rows, const item &item,
                                                          int tile) const
{
    mask mask(call);
    int lowest = item.lowest + group * 64;
    if (!mask.whole(lowest, lowest + 63, tile * KEYS, tile * KEYS + KEYS - 1))
        hide_scores(rows.score, mask, item.lowest + rows.first, tile * KEYS + 2 * (lane & 3));
    float shift = ALIBI ? rows.slope * static_cast<float>(tile * KEYS - item.highest) : 0.0f;
    rows.state.template tile<SCORES>(rows.score, call.scale * LOG2E, shift, rows.rescale);
}

template <typename T, bool ALIBI>
__device__ __forceinline__ void consumer<T, ALIBI>::issue_next_scores(rows<T, ALIBI> &rows) const
{
    issue_scores<T, ALIBI>(rows.score, shared.q + group * 64 * 128, shared.k + k_at.stage * KEY_BYTES,
                           shared.counters, rows.bias);
}

template <typename T, bool ALIBI>
__device__ __forceinline__ void consumer<T, ALIBI>::first_tile(rows<T, ALIBI> &rows, const item &item,
                                                               int tile)
{
    issue_next_scores(rows);
    turn.pass();
    if (ALIBI && rows.reach.on && !item.sequence.holes) {
        rows.lowest_tile = lowest_in_reach(rows, item);
        publish(rows.lowest_tile);
    }
    products_wait<0>();
    hold(rows.score);
    free_keys();
    weigh(rows, item, tile);
    pack_weights<T>(rows.weight, rows.score);
}

// Scores of this tile and values of the one before are multiplied together; its softmax runs under the
// values' product.
template <typename T, bool ALIBI>
__device__ __forceinline__ void consumer<T, ALIBI>::next_tile(rows<T, ALIBI> &rows, const item &item,
                                                              int tile)
{
    turn.wait();
    issue_next_scores(rows);
    wait_values();
    issue_values<T>(rows.out, rows.weight, shared.v + v_at.stage * KEY_BYTES);
    turn.pass();
    products_wait<1>();
    hold(rows.score);
    free_keys();
    weigh(rows, item, tile);
    // The wait for the values' product stands behind a branch that depends on the softmax: without
    // it the assembler moves the wait up, and the product no longer runs under the exponentials.
    // The four warps must take the same side, for they must meet at the same wait.
    if (named_and(VOTE + group, 128, rows.rescale[0] == 1.0f && rows.rescale[1] == 1.0f)) {
        products_wait<0, 1>();
        hold(rows.out);
    } else {
        products_wait<0, 2>();
        hold(rows.out);
#pragma unroll
        for (int i = 0; i < OUTPUTS * 4; i++)
            rows.out[i] *= rows.rescale[(i >> 1) & 1];
    }
    free_values();
    pack_weights<T>(rows.weight, rows.score);
}

// All tiles after the first; returns the one in the next K stage, which this group does not want.
template <typename T, bool ALIBI>
__device__ __forceinline__ int consumer<T, ALIBI>::next_tiles(rows<T, ALIBI> &rows, const item &item)
{
    for (;;) {
        int tile = wait_keys();
        if (tile < 0)
            return tile;
        if (ALIBI && rows.reach.on && finished(rows, item, tile)) {
            publish(INT_MAX);
            return tile;
        }
        next_tile(rows, item, tile);
    }
}

template <typename T, bool ALIBI>
__device__ __forceinline__ void consumer<T, ALIBI>::last_values(rows<T, ALIBI> &rows)
{
    turn.wait();
    wait_values();
    issue_values<T>(rows.out, rows.weight, shared.v + v_at.stage * KEY_BYTES);
    turn.pass();
    products_wait<0>();
    hold(rows.out);
    free_values();
}

template <typename T, bool ALIBI> __device__ __forceinline__ void consumer<T, ALIBI>::work(const item &item)
{
    rows<T, ALIBI> rows;
    begin(rows, item);
    int tile = wait_keys();
    turn.wait();
    if (tile >= 0) {
        first_tile(rows, item, tile);
        tile = next_tiles(rows, item);
        last_values(rows);
    } else {
        turn.pass();
    }
    free(shared.control->q_empty);
    drain(tile);
    int64_t row = static_cast<int64_t>(item.sequence.first_row) + item.first;
    store_rows<T>(rows.out, rows.state,
                  static_cast<T *>(call.out) + row * call.out_stride + item.head * HEAD_DIM, call.out_stride,
                  rows.first, item.rows, lane, call.out_type == DT_BF16);
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

} // namespace
