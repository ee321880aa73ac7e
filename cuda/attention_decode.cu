/* Decode attention over keys of the queries' type: few query rows, a long cache (HEAD_DIM a compilation).
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/decode_body.cuh"
#include "cuda/softmax.cuh"

namespace
{

constexpr int STEPS = HEAD_DIM / 16, OUTPUTS = HEAD_DIM / 8;

struct rows2 {     // what a thread's two packed rows need
    float step[2]; // slope in raw score units
    int position[2];

    __device__ __forceinline__ rows2(const attention_call &call, const work &work, int lane)
    {
#pragma unroll
        for (int r = 0; r < 2; r++) {
            int row = lane / 4 + 8 * r;
            step[r] = call.slopes ? call.slopes[work.head(row)] / call.scale : 0.0f;
            position[r] = work.position(row);
        }
    }
};

// The queries as the products' first operand: in registers where there is room, else in the tile.
constexpr bool QUERIES_HELD = HEAD_DIM <= 128;
struct queries {
    uint32_t held[QUERIES_HELD ? STEPS : 1][4];
    uint32_t address; // of this lane in the tile

    __device__ __forceinline__ explicit queries(uint32_t address) : address(address)
    {
#pragma unroll
        for (int step16 = 0; QUERIES_HELD && step16 < STEPS; step16++)
            load_matrix(held[step16], address + step16 * 32);
    }

    __device__ __forceinline__ void get(uint32_t (&a)[4], int step16) const
    {
        if constexpr (QUERIES_HELD) {
#pragma unroll
            for (int i = 0; i < 4; i++)
                a[i] = held[step16][i];
        } else {
            load_matrix(a, address + step16 * 32);
        }
    }
};

// Even and odd steps are summed apart: two short chains instead of a long one.
template <typename T>
__device__ __forceinline__ void chunk_scores(float (&score)[8], const queries &queries, uint32_t k)
{
    float odd[8];
#pragma unroll
    for (int i = 0; i < 8; i++)
        score[i] = odd[i] = 0.0f;
#pragma unroll(QUERIES_HELD ? STEPS : 4)
    for (int step16 = 0; step16 < STEPS; step16++) {
        uint32_t a[4], b[4];
        queries.get(a, step16);
        load_matrix(b, k + step16 * 32);
        float(&sum)[8] = step16 % 2 ? odd : score;
        number<T>::multiply(&sum[0], a, b[0], b[1]);
        number<T>::multiply(&sum[4], a, b[2], b[3]);
    }
#pragma unroll
    for (int i = 0; i < 8; i++)
        score[i] += odd[i];
}

template <typename T>
__device__ __forceinline__ void chunk_values(float (&out)[OUTPUTS * 4], const float (&weight)[8], uint32_t v)
{
    uint32_t a[4];
#pragma unroll
    for (int e = 0; e < 4; e++)
        a[e] = number<T>::pack(weight[2 * e], weight[2 * e + 1]);
#pragma unroll
    for (int i = 0; i < OUTPUTS; i += 2) {
        uint32_t b[4];
        load_matrix_transposed(b, v + i * 16);
        number<T>::multiply(&out[4 * i], a, b[0], b[1]);
        number<T>::multiply(&out[4 * i + 4], a, b[2], b[3]);
    }
}

// Softcap, bias and mask of one chunk; key: of this thread's first column.
__device__ __forceinline__ void chunk_bias(float (&score)[8], const attention_call &call, const mask &mask,
                                           const rows2 &rows, int key, bool hide)
{
    if (call.softcap > 0.0f)
#pragma unroll
        for (int i = 0; i < 8; i++)
            score[i] = call.softcap / call.scale * tanhf(score[i] * call.scale / call.softcap);
#pragma unroll
    for (int i = 0; i < 8; i++) {
        int r = (i >> 1) & 1, column = key + 8 * (i / 4) + (i & 1);
        score[i] = fmaf(rows.step[r], static_cast<float>(column - rows.position[r]), score[i]);
    }
    if (hide)
#pragma unroll
        for (int i = 0; i < 8; i++)
            if (!mask.sees(rows.position[(i >> 1) & 1], key + 8 * (i / 4) + (i & 1)))
                score[i] = -INFINITY;
}

template <typename T> struct plain_cache {
    using number = T;
    static constexpr int ROWS = DECODE_ROWS, STAGE_BYTES = 2 * 2 * CHUNK * ROW, QUERY_BYTES = 0; // K, then V

    static __device__ __forceinline__ void load(uint32_t to, const attention_call &call, int64_t head_page,
                                                int key, int valid, int lane)
    {
        int64_t from = (head_page * PAGE_KEYS + key) * HEAD_DIM;
        tile_load<T, HEAD_DIM, CHUNK, 32>(to, static_cast<const T *>(call.k) + from, HEAD_DIM, valid, lane);
        tile_load<T, HEAD_DIM, CHUNK, 32>(to + CHUNK * ROW * 2, static_cast<const T *>(call.v) + from,
                                          HEAD_DIM, valid, lane);
    }

    static __device__ __forceinline__ void place_key(const attention_call &call, const work &work, int lane)
    {
        place_plain_key<T>(call, work, lane);
    }

    template <int> static __device__ __forceinline__ void prepare(const uint16_t *, unsigned char *, int)
    {
    }

    struct rows {
        queries q;
        rows2 two;

        __device__ __forceinline__ rows(const attention_call &call, const work &work, const void *q_tile,
                                        const unsigned char *, int lane)
            : q(shared_address(static_cast<const T *>(q_tile) + fragment_a<HEAD_DIM>(lane))),
              two(call, work, lane)
        {
        }
    };

    // Two rows a thread, in the layout of a product's result.
    struct gathered {
        softmax state;
        float out[OUTPUTS * 4];

        __device__ __forceinline__ void begin()
        {
            state.begin();
#pragma unroll
            for (int i = 0; i < OUTPUTS * 4; i++)
                out[i] = 0.0f;
        }

        __device__ __forceinline__ void take(const attention_call &call, const mask &mask, const rows &rows,
                                             const chunk &chunk, int lane)
        {
            float score[8], rescale[2];
            chunk_scores<T>(score, rows.q, chunk.address + fragment_b<HEAD_DIM>(lane) * 2);
            chunk_bias(score, call, mask, rows.two, chunk.key + 2 * (lane & 3), chunk.hide);
            state.tile<2>(score, call.scale * LOG2E, 0.0f, rescale);
            if (any_rescale(rescale))
#pragma unroll
                for (int i = 0; i < OUTPUTS * 4; i++)
                    out[i] *= rescale[(i >> 1) & 1];
            chunk_values<T>(out, score, chunk.address + (CHUNK * ROW + fragment_bt<HEAD_DIM>(lane)) * 2);
        }

        __device__ __forceinline__ void write(float *slot, int rows, int lane) const
        {
#pragma unroll
            for (int r = 0; r < 2; r++) {
                int row = lane / 4 + 8 * r;
                float sum = quad_sum(state.sum[r]);
                if (row >= rows)
                    continue;
                if (lane % 4 == 0) {
                    slot[HEADER + row] = state.max[r];
                    slot[HEADER + DECODE_ROWS + row] = sum;
                }
#pragma unroll
                for (int i = 0; i < OUTPUTS; i++)
                    *reinterpret_cast<float2 *>(slot + row * HEAD_DIM + 8 * i + 2 * (lane % 4)) =
                        make_float2(out[4 * i + 2 * r], out[4 * i + 2 * r + 1]);
            }
        }
    };
};

} // namespace

#define NAME_(size) attention_decode_##size
#define NAME(size) NAME_(size)
extern "C" int NAME(HEAD_DIM)(const attention_call *call, void *stream)
{
    constexpr int warps = HEAD_DIM > 128 ? 2 : 4;
    return call->dtype == DT_BF16 ? decode_launch_some<plain_cache<__nv_bfloat16>, warps, 3>(call, stream)
                                  : decode_launch_some<plain_cache<__half>, warps, 3>(call, stream);
}
