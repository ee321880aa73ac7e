/* Prefill attention on plain tensor cores (sm_80 and later), one head size a compilation (HEAD_DIM).
 * SPDX-License-Identifier: Apache-2.0
 *
 * One block of 4 warps takes `rows` queries of one head and walks their key tiles from the diagonal to
 * the left: scores = q·kᵀ, online softmax, out += p·v. One K and one V tile are in shared memory; V
 * arrives while the scores are made, the next K while the values are added. Two blocks share an SM
 * and fill each other's waits. docs/attention.md tells the story. */
#include "cuda/chain.cuh"
#include "cuda/launch.h"
#include "cuda/mask.cuh"
#include "cuda/number.cuh"
#include "cuda/reach.cuh"
#include "cuda/softmax.cuh"
#include "cuda/tile.cuh"

namespace
{

constexpr int WARPS = 4, THREADS = WARPS * 32;
constexpr int KEYS = 64;                       // keys of a tile: half a page
constexpr int STRIPS = HEAD_DIM > 128 ? 1 : 2; // 16-row strips of a warp
constexpr int ROWS = WARPS * STRIPS * 16;
constexpr int ROW = tile_row<HEAD_DIM>;
constexpr int STEPS = HEAD_DIM / 16;                     // of q·kᵀ
constexpr int SCORES = KEYS / 8, OUTPUTS = HEAD_DIM / 8; // column blocks
constexpr size_t SHARED_BYTES = sizeof(uint16_t) * ROW * (ROWS + 2 * KEYS);
static_assert(PAGE_KEYS % KEYS == 0, "a tile lies in one page");

// What a block works on.
template <typename T> struct work {
    int head, kv_head;
    struct attention_sequence sequence;
    int first, rows;     // its query rows in the sequence
    int lowest, highest; // their positions
    const int32_t *pages;

    __device__ __forceinline__ work(const attention_call &call)
    {
        // Sets of heads one after another; in a set all heads of a tile side by side. The last heads
        // have the flattest slopes, that is the most work, so they go first.
        int block = static_cast<int>(blockIdx.x), set_blocks = call.tile_count * call.heads_together;
        int in_set = block % set_blocks;
        head = call.heads - 1 - (block / set_blocks * call.heads_together + in_set % call.heads_together);
        kv_head = head / (call.heads / call.kv_heads);
        attention_tile tile = call.tiles[in_set / call.heads_together];
        sequence = call.sequences[tile.sequence];
        first = tile.first;
        rows = min(sequence.rows - first, ROWS);
        lowest = sequence.start + first;
        highest = lowest + rows - 1;
        pages = call.pages + sequence.first_page;
    }

    __device__ __forceinline__ const T *keys(const attention_call &call, const void *pool, int page,
                                             int tile) const
    {
        int64_t head_page = static_cast<int64_t>(page) * call.kv_heads + kv_head;
        return static_cast<const T *>(pool) + (head_page * PAGE_KEYS + tile * KEYS % PAGE_KEYS) * HEAD_DIM;
    }

    __device__ __forceinline__ int page(int tile) const
    {
        return pages[tile * KEYS / PAGE_KEYS];
    }

    // The walk's next tile whose page was not dropped.
    __device__ __forceinline__ int next(const walk<KEYS> &walk, int tile) const
    {
        do
            tile = walk.next(tile);
        while (sequence.holes && tile >= 0 && page(tile) < 0);
        return tile;
    }

    __device__ __forceinline__ float norm(const attention_call &call, int tile) const
    {
        return call.k_norms[static_cast<int64_t>(page(tile)) * call.kv_heads + kv_head];
    }
};

// factor·|row| enlarged, for the two rows of this thread in a strip at `rows` of the query tile.
template <typename T>
__device__ __forceinline__ void row_bounds(const T *rows, int lane, float factor, float (&bound)[2])
{
#pragma unroll
    for (int r = 0; r < 2; r++) {
        const uint32_t *row = reinterpret_cast<const uint32_t *>(rows + (lane / 4 + 8 * r) * ROW);
        float sum = 0.0f;
        for (int i = lane % 4; i < HEAD_DIM / 2; i += 4) {
            float2 pair = number<T>::unpack(row[i]);
            sum = fmaf(pair.x, pair.x, fmaf(pair.y, pair.y, sum));
        }
        bound[r] = sqrtf(quad_sum(sum)) * factor * norm_margin;
    }
}

// scores = bias + q·kᵀ; the bias of a column is bias + step·column, in units of the raw scores.
template <typename T>
__device__ __forceinline__ void multiply_keys(float (&score)[STRIPS][SCORES * 4], uint32_t q, uint32_t k,
                                              float bias, float step)
{
#pragma unroll
    for (int i = 0; i < SCORES; i++) {
        float even = fmaf(step, static_cast<float>(8 * i), bias), odd = even + step;
#pragma unroll
        for (int strip = 0; strip < STRIPS; strip++) {
            score[strip][4 * i] = score[strip][4 * i + 2] = even;
            score[strip][4 * i + 1] = score[strip][4 * i + 3] = odd;
        }
    }
#pragma unroll
    for (int step16 = 0; step16 < STEPS; step16++) {
        uint32_t a[STRIPS][4];
#pragma unroll
        for (int strip = 0; strip < STRIPS; strip++)
            load_matrix(a[strip], q + (strip * 16 * ROW + step16 * 16) * 2);
#pragma unroll
        for (int i = 0; i < SCORES; i += 2) {
            uint32_t b[4];
            load_matrix(b, k + (i * 8 * ROW + step16 * 16) * 2);
#pragma unroll
            for (int strip = 0; strip < STRIPS; strip++) {
                number<T>::multiply(&score[strip][4 * i], a[strip], b[0], b[1]);
                number<T>::multiply(&score[strip][4 * i + 4], a[strip], b[2], b[3]);
            }
        }
    }
}

template <typename T>
__device__ __forceinline__ void add_values(float (&out)[STRIPS][OUTPUTS * 4],
                                           const float (&weight)[STRIPS][SCORES * 4], uint32_t v)
{
#pragma unroll
    for (int step16 = 0; step16 < KEYS / 16; step16++) {
        uint32_t a[STRIPS][4];
#pragma unroll
        for (int strip = 0; strip < STRIPS; strip++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                a[strip][e] =
                    number<T>::pack(weight[strip][8 * step16 + 2 * e], weight[strip][8 * step16 + 2 * e + 1]);
#pragma unroll
        for (int i = 0; i < OUTPUTS; i += 2) {
            uint32_t b[4];
            load_matrix_transposed(b, v + (step16 * 16 * ROW + i * 8) * 2);
#pragma unroll
            for (int strip = 0; strip < STRIPS; strip++) {
                number<T>::multiply(&out[strip][4 * i], a[strip], b[0], b[1]);
                number<T>::multiply(&out[strip][4 * i + 4], a[strip], b[2], b[3]);
            }
        }
    }
}

// score → cap·tanh(score·scale / cap) / scale, plus the bias, which must not be capped.
__device__ __forceinline__ void cap_scores(float (&score)[SCORES * 4], float scale, float cap, float bias,
                                           float step)
{
#pragma unroll
    for (int i = 0; i < SCORES * 4; i++) {
        float column = static_cast<float>(8 * (i / 4) + (i & 1));
        score[i] = fmaf(cap / scale, tanhf(score[i] * scale / cap), fmaf(step, column, bias));
    }
}

__device__ __forceinline__ void hide_scores(float (&score)[SCORES * 4], const mask &mask, int position,
                                            int key)
{
#pragma unroll
    for (int i = 0; i < SCORES * 4; i++)
        if (!mask.sees(position + 8 * ((i >> 1) & 1), key + 8 * (i / 4) + (i & 1)))
            score[i] = -INFINITY;
}

// Normalises a strip, turns it through its own rows of the query tile and stores 16 bytes a lane.
template <typename T>
__device__ __forceinline__ void store_strip(const float (&out)[OUTPUTS * 4], const softmax &state, T *rows,
                                            int lane, T *to, int64_t stride, int valid, bool bf16)
{
    float inverse[2];
#pragma unroll
    for (int r = 0; r < 2; r++) {
        float sum = quad_sum(state.sum[r]);
        inverse[r] = sum > 0.0f ? 1.0f / sum : 0.0f;
    }
    uint32_t *words = reinterpret_cast<uint32_t *>(rows);
#pragma unroll
    for (int i = 0; i < OUTPUTS; i++)
#pragma unroll
        for (int r = 0; r < 2; r++)
            words[((lane / 4 + 8 * r) * ROW + 8 * i) / 2 + lane % 4] =
                pack_out<T>(bf16, out[4 * i + 2 * r] * inverse[r], out[4 * i + 2 * r + 1] * inverse[r]);
    __syncwarp();
    constexpr int chunks = HEAD_DIM / 8;
#pragma unroll
    for (int i = 0; i < 16 * chunks / 32; i++) {
        int row = (i * 32 + lane) / chunks, column = (i * 32 + lane) % chunks * 8;
        if (row < valid)
            *reinterpret_cast<uint4 *>(to + row * stride + column) =
                *reinterpret_cast<const uint4 *>(rows + row * ROW + column);
    }
}

template <typename T, bool ALIBI>
__global__ __launch_bounds__(THREADS,
                             HEAD_DIM > 128 ? 1 : 2) void prefill(const __grid_constant__ attention_call call)
{
    extern __shared__ __align__(128) unsigned char shared[];
    T *q_tile = reinterpret_cast<T *>(shared), *k_tile = q_tile + ROWS * ROW, *v_tile = k_tile + KEYS * ROW;
    int thread = static_cast<int>(threadIdx.x), lane = thread & 31, warp = thread / 32;
    chain_wait();
    work<T> work(call);
    mask mask(call);
    walk<KEYS> walk(mask, work.lowest);
    int tile = work.next(walk, work.highest / KEYS + 1);

    const T *q_rows = static_cast<const T *>(call.q) +
                      (static_cast<int64_t>(work.sequence.first_row) + work.first) * call.q_stride +
                      work.head * HEAD_DIM;
    tile_load<T, HEAD_DIM, ROWS, THREADS>(shared_address(q_tile), q_rows, call.q_stride, work.rows, thread);
    if (tile >= 0)
        tile_load<T, HEAD_DIM, KEYS, THREADS>(shared_address(k_tile),
                                              work.keys(call, call.k, work.page(tile), tile), HEAD_DIM,
                                              work.highest + 1 - tile * KEYS, thread);
    copy_commit();

    float factor = call.scale * LOG2E; // raw scores to powers of two
    reach reach;
    float step = 0.0f; // the slope in units of raw scores
    if (ALIBI) {
        reach.begin(call, work.head, work.highest);
        step = call.slopes[work.head] / call.scale;
    }
    softmax state[STRIPS];
    float out[STRIPS][OUTPUTS * 4];
#pragma unroll
    for (int strip = 0; strip < STRIPS; strip++) {
        state[strip].begin();
#pragma unroll
        for (int i = 0; i < OUTPUTS * 4; i++)
            out[strip][i] = 0.0f;
    }
    int row = warp * STRIPS * 16; // of the warp in the query tile
    float bound[STRIPS][2];
    copy_wait<0>();
    __syncthreads();
    if (ALIBI)
#pragma unroll
        for (int strip = 0; strip < STRIPS; strip++)
            row_bounds(q_tile + (row + strip * 16) * ROW, lane, factor, bound[strip]);

    uint32_t q_lane = shared_address(q_tile + row * ROW + fragment_a<HEAD_DIM>(lane));
    uint32_t k_lane = shared_address(k_tile + fragment_b<HEAD_DIM>(lane));
    uint32_t v_lane = shared_address(v_tile + fragment_bt<HEAD_DIM>(lane));
    while (tile >= 0) {
        int key = tile * KEYS, after = work.next(walk, tile);
        tile_load<T, HEAD_DIM, KEYS, THREADS>(shared_address(v_tile),
                                              work.keys(call, call.v, work.page(tile), tile), HEAD_DIM,
                                              work.highest + 1 - key, thread);
        copy_commit();
        float norm = ALIBI && reach.on && after >= 0 ? work.norm(call, after) : 0.0f;

        float score[STRIPS][SCORES * 4];
        float bias = ALIBI ? step * static_cast<float>(key + 2 * (lane & 3) - work.highest) : 0.0f;
        bool capped = call.softcap > 0.0f;
        multiply_keys<T>(score, q_lane, k_lane, capped ? 0.0f : bias, capped ? 0.0f : step);
        copy_wait<0>();
        __syncthreads(); // V is here, K is free
        if (after >= 0)
            tile_load<T, HEAD_DIM, KEYS, THREADS>(shared_address(k_tile),
                                                  work.keys(call, call.k, work.page(after), after), HEAD_DIM,
                                                  KEYS, thread);
        copy_commit();

        bool whole = mask.whole(work.lowest, work.highest, key, key + KEYS - 1);
        bool done = true;
#pragma unroll
        for (int strip = 0; strip < STRIPS; strip++) {
            if (capped)
                cap_scores(score[strip], call.scale, call.softcap, bias, step);
            if (!whole)
                hide_scores(score[strip], mask, work.lowest + row + strip * 16 + lane / 4,
                            key + 2 * (lane & 3));
            float rescale[2];
            state[strip].tile<SCORES>(score[strip], factor, 0.0f, rescale);
            if (any_rescale(rescale))
#pragma unroll
                for (int i = 0; i < OUTPUTS * 4; i++)
                    out[strip][i] *= rescale[(i >> 1) & 1];
            if (ALIBI && reach.on)
#pragma unroll
                for (int r = 0; r < 2; r++) {
                    bool absent = row + strip * 16 + lane / 4 + 8 * r >= work.rows;
                    float sum = quad_sum(state[strip].sum[r]);
                    done = done && (absent || reach.beyond(bound[strip][r], norm, after * KEYS + KEYS - 1,
                                                           state[strip].max[r], sum));
                }
        }
        add_values<T>(out, score, v_lane);
        copy_wait<0>();
        if (ALIBI && reach.on) {
            if (__syncthreads_and(done))
                break;
        } else {
            __syncthreads(); // K is here, V is free
        }
        tile = after;
    }

    T *out_rows = static_cast<T *>(call.out) +
                  (static_cast<int64_t>(work.sequence.first_row) + work.first + row) * call.out_stride +
                  work.head * HEAD_DIM;
#pragma unroll
    for (int strip = 0; strip < STRIPS; strip++)
        store_strip(out[strip], state[strip], q_tile + (row + strip * 16) * ROW, lane,
                    out_rows + strip * 16 * call.out_stride, call.out_stride, work.rows - row - strip * 16,
                    call.out_type == DT_BF16);
}

template <typename T, bool ALIBI> int launch(const attention_call *call, void *stream)
{
    cudaError_t error = cudaFuncSetAttribute(prefill<T, ALIBI>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             static_cast<int>(SHARED_BYTES));
    if (error != cudaSuccess)
        return error;
    const dim3 grid(static_cast<unsigned>(call->tile_count * call->heads));
    return chain_launch(prefill<T, ALIBI>, grid, THREADS, SHARED_BYTES, stream, *call);
}

} // namespace

#define NAME_(size) attention_prefill_##size
#define NAME(size) NAME_(size)
extern "C" int NAME(HEAD_DIM)(const attention_call *call, void *stream)
{
    if (call->tile_rows != ROWS)
        return cudaErrorInvalidValue;
    if (call->dtype == DT_BF16)
        return call->slopes ? launch<__nv_bfloat16, true>(call, stream)
                            : launch<__nv_bfloat16, false>(call, stream);
    return call->slopes ? launch<__half, true>(call, stream) : launch<__half, false>(call, stream);
}
