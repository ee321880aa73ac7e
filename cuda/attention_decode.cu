/* Decode attention: few query rows against a long cache, split over the keys (HEAD_DIM a compilation).
 * SPDX-License-Identifier: Apache-2.0
 *
 * A block takes a run of granules of one sequence's keys for one KV head. The query rows of the
 * sequence and the query heads of the group are packed as the 16 rows of a matrix, so each key is read
 * once. Every warp streams its own chunks of CHUNK keys through its own stages of shared memory and
 * meets the other warps only where a granule ends; what is in flight for the next granule stays so.
 * Each granule's result goes to scratch; the last block to arrive of a (sequence, KV head) merges them
 * in order, so the bytes depend neither on timing nor on the rest of the batch. */
#include "cuda/chain.cuh"
#include "cuda/launch.h"
#include "cuda/mask.cuh"
#include "cuda/number.cuh"
#include "cuda/reach.cuh"
#include "cuda/softmax.cuh"
#include "cuda/tile.cuh"
#include "cuda/turn.cuh"

namespace
{

constexpr int CHUNK = 16; // keys a warp takes at a time
constexpr int ROW = tile_row<HEAD_DIM>;
constexpr int STEPS = HEAD_DIM / 16, OUTPUTS = HEAD_DIM / 8;
constexpr int STAGE = 2 * CHUNK * ROW; // K, then V
// A partial result: outputs, then maxima, then sums of the packed rows.
constexpr int SLOT = attention_slot_floats(HEAD_DIM), HEADER = DECODE_ROWS * HEAD_DIM;
constexpr size_t Q_BYTES = sizeof(uint16_t) * DECODE_ROWS * ROW;

static_assert(STAGE * sizeof(uint16_t) >= SLOT * sizeof(float), "a warp's result fits a stage");

// A chunk of a Q8_0 cache as it lies in its page: signed bytes, then the scales, f16, one for 32 numbers.
constexpr int PACKED_BYTES = CHUNK * HEAD_DIM + CHUNK * HEAD_DIM / 32 * 2; // of K, and again of V

// A packed cache's chunks arrive in stages of their own and are unpacked into one more of the usual kind.
template <bool PACKED, int WARPS, int STAGES> constexpr size_t shared_bytes()
{
    size_t streams = PACKED ? WARPS * (sizeof(uint16_t) * STAGE + STAGES * 2 * PACKED_BYTES)
                            : sizeof(uint16_t) * WARPS * STAGES * STAGE;
    size_t headers = sizeof(float) * DECODE_GRANULES * 2 * DECODE_ROWS;
    return Q_BYTES + (streams > headers ? streams : headers);
}

// Row r of the block is packed row part.first_packed + r of the sequence: query row packed / group of
// query head kv_head · group + packed % group.
struct work {
    attention_part part;
    int kv_head, group, rows; // rows: of the block
    const int32_t *pages;

    __device__ __forceinline__ explicit work(const attention_call &call)
    {
        part = call.parts[blockIdx.x / call.kv_heads];
        kv_head = static_cast<int>(blockIdx.x) % call.kv_heads;
        group = call.heads / call.kv_heads;
        rows = min(part.sequence.rows * group - part.first_packed, DECODE_ROWS);
        pages = call.pages + part.sequence.first_page;
    }

    __device__ __forceinline__ int packed(int row) const
    {
        return part.first_packed + min(row, rows - 1);
    }

    __device__ __forceinline__ int position(int row) const
    {
        return part.sequence.start + packed(row) / group;
    }

    __device__ __forceinline__ int head(int row) const
    {
        return kv_head * group + packed(row) % group;
    }

    // Of the row in q or out.
    __device__ __forceinline__ int64_t offset(int row, int64_t stride) const
    {
        return (static_cast<int64_t>(part.sequence.first_row) + packed(row) / group) * stride +
               head(row) * HEAD_DIM;
    }

    // The block's first result in the scratch, in slots.
    __device__ __forceinline__ int64_t first_slot(const attention_call &call) const
    {
        return static_cast<int64_t>(part.first_slot) * call.kv_heads + kv_head * part.all_granules;
    }
};

// The keys a block has to look at: 0 … sinks-1, then first … end-1, both whole chunks.
struct range {
    int sinks, first, end;

    __device__ __forceinline__ int count() const
    {
        return sinks + end - first;
    }

    __device__ __forceinline__ int key(int index) const
    {
        return index < sinks ? index : index - sinks + first;
    }
};

// The first key that the reach leaves to any packed row; 0 when nothing may be skipped.
template <typename T>
__device__ __forceinline__ int first_in_reach(const attention_call &call, const work &work, const T *q_tile,
                                              int lane)
{
    if (!call.slopes || call.reach <= 0.0f || !call.k_norms || work.part.sequence.holes)
        return 0;
    int row = lane % DECODE_ROWS, position = work.position(row); // two lanes share a row
    reach reach;
    reach.begin(call, work.head(row), position);
    const uint4 *units =
        reinterpret_cast<const uint4 *>(q_tile + row * ROW) + lane / DECODE_ROWS * (HEAD_DIM / 16);
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < HEAD_DIM / 16; i++)
        sum += squares<T>(units[i]);
    sum += __shfl_xor_sync(~0u, sum, DECODE_ROWS);
    float bound = sqrtf(sum) * call.scale * LOG2E * norm_margin;
    int64_t page = work.pages[position / PAGE_KEYS];
    float norm = call.k_norms[page * call.kv_heads + work.kv_head];
    float nearest = reach.on ? static_cast<float>(position) - reach.furthest(bound, norm) : 0.0f;
    int needed = row < work.rows ? static_cast<int>(fmaxf(floorf(nearest), 0.0f)) : INT_MAX;
    return __reduce_min_sync(~0u, needed);
}

template <typename T>
__device__ __forceinline__ range keys_range(const attention_call &call, const work &work, const T *q_tile,
                                            int lane)
{
    int reached = first_in_reach(call, work, q_tile, lane);
    int window = call.window > 0 ? max(work.position(0) - call.window + 1, 0) : 0;
    int sinks = call.window > 0 && reached < call.sinks ? (call.sinks + CHUNK - 1) / CHUNK * CHUNK : 0;
    int first = max(window, reached) / CHUNK * CHUNK;
    range range = {sinks, first, work.part.sequence.start + work.part.sequence.rows};
    if (sinks >= first) {
        range.sinks = 0;
        range.first = sinks > 0 ? 0 : first;
    }
    return range;
}

// One warp's stages of shared memory. Page numbers are read a round before they are needed: a copy that
// waits for its page number would hold up everything behind it.
template <typename T, bool PACKED> struct stream {
    const attention_call &call;
    const work &work;
    const range &range;
    uint32_t stages;
    int lane;
    int page; // of the chunk to be loaded next

    __device__ __forceinline__ void look_up(int index, int stop)
    {
        page = index < stop ? work.pages[range.key(index) / PAGE_KEYS] : -1;
    }

    __device__ __forceinline__ void load_packed(uint32_t to, const void *pool, int64_t head_page, int key,
                                                int valid) const
    {
        constexpr int units = CHUNK * HEAD_DIM / 16, scale_units = CHUNK * HEAD_DIM / 32 * 2 / 16;
        const char *page = static_cast<const char *>(pool) + head_page * (PAGE_KEYS * (HEAD_DIM / 32 * 34));
        const char *numbers = page + key * HEAD_DIM,
                   *scales = page + PAGE_KEYS * HEAD_DIM + key * (HEAD_DIM / 32 * 2);
#pragma unroll
        for (int i = 0; i < units / 32; i++) {
            int unit = i * 32 + lane;
            bool keep = unit / (HEAD_DIM / 16) < valid;
            copy_async(to + unit * 16, numbers + (keep ? unit * 16 : 0), keep);
        }
        // Scales of keys behind the end come along: their numbers are zeros.
        if (lane < scale_units)
            copy_async(to + CHUNK * HEAD_DIM + lane * 16, scales + lane * 16, valid > 0);
    }

    // Chunk at `index` of the range, when it is before stop; then looks up the one at `next`.
    __device__ __forceinline__ void load(int stage, int index, int next, int stop)
    {
        if (index < stop) {
            int key = range.key(index);
            int64_t head_page = static_cast<int64_t>(max(page, 0)) * call.kv_heads + work.kv_head;
            if constexpr (PACKED) {
                uint32_t to = stages + stage * 2 * PACKED_BYTES;
                int valid = page < 0 ? 0 : range.end - key;
                load_packed(to, call.k, head_page, key % PAGE_KEYS, valid);
                load_packed(to + PACKED_BYTES, call.v, head_page, key % PAGE_KEYS, valid);
                copy_commit();
                look_up(next, stop);
                return;
            }
            int64_t from = (head_page * PAGE_KEYS + key % PAGE_KEYS) * HEAD_DIM;
            uint32_t to = stages + stage * STAGE * 2;
            int valid = page < 0 ? 0 : range.end - key;
            tile_load<T, HEAD_DIM, CHUNK, 32>(to, static_cast<const T *>(call.k) + from, HEAD_DIM, valid,
                                              lane);
            tile_load<T, HEAD_DIM, CHUNK, 32>(to + CHUNK * ROW * 2, static_cast<const T *>(call.v) + from,
                                              HEAD_DIM, valid, lane);
        }
        copy_commit();
        look_up(next, stop);
    }
};

// Signed bytes as f16, exactly: with the sign bit turned, a byte is the low part of 1024 + 128 + x.
__device__ __forceinline__ uint32_t bytes_to_halves(uint32_t flipped, uint32_t selector, __half2 scale)
{
    uint32_t word = __byte_perm(flipped, 0x64646464u, selector);
    __half2 x = __hsub2(*reinterpret_cast<__half2 *>(&word), __float2half2_rn(1152.0f));
    x = __hmul2(x, scale);
    return *reinterpret_cast<uint32_t *>(&x);
}

// K or V of a chunk from its packed form into a tile of f16, by one warp.
__device__ __forceinline__ void unpack_chunk(uint16_t *tile, const unsigned char *packed, int lane)
{
    const __half *scales = reinterpret_cast<const __half *>(packed + CHUNK * HEAD_DIM);
#pragma unroll
    for (int i = 0; i < CHUNK * HEAD_DIM / 16 / 32; i++) {
        int unit = i * 32 + lane, row = unit / (HEAD_DIM / 16), column = unit % (HEAD_DIM / 16) * 16;
        uint4 bytes = *reinterpret_cast<const uint4 *>(packed + unit * 16);
        __half2 scale = __half2half2(scales[unit / 2]);
        uint32_t words[4] = {bytes.x ^ 0x80808080u, bytes.y ^ 0x80808080u, bytes.z ^ 0x80808080u,
                             bytes.w ^ 0x80808080u};
        uint32_t halves[8];
#pragma unroll
        for (int w = 0; w < 4; w++) {
            halves[2 * w] = bytes_to_halves(words[w], 0x4140, scale);
            halves[2 * w + 1] = bytes_to_halves(words[w], 0x4342, scale);
        }
        uint4 *to = reinterpret_cast<uint4 *>(tile + row * ROW + column);
        to[0] = make_uint4(halves[0], halves[1], halves[2], halves[3]);
        to[1] = make_uint4(halves[4], halves[5], halves[6], halves[7]);
    }
}

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

// Merges `count` results of the packed rows; outputs and headers (maxima, sums) lie that many floats
// apart. Hands store(row, column, four outputs, maximum, sum) the merged ones, in a fixed order of sums.
template <int THREADS, bool SHARED, typename Store>
__device__ __forceinline__ void merge(const float *outputs, int64_t outputs_apart, const float *headers,
                                      int headers_apart, int count, int rows, int thread, Store store)
{
    for (int item = thread; item < rows * (HEAD_DIM / 4); item += THREADS) {
        int row = item / (HEAD_DIM / 4), column = item % (HEAD_DIM / 4) * 4;
        float most = -INFINITY;
        for (int i = 0; i < count; i++)
            most = fmaxf(most, headers[i * headers_apart + row]);
        float base = most == -INFINITY ? 0.0f : most, sum = 0.0f;
        float4 total = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        const float *from = outputs + row * HEAD_DIM + column;
        // Sixteen loads in flight at a time, whatever the count.
        for (int begin = 0; begin < count; begin += 16) {
            float4 part[16];
#pragma unroll
            for (int i = 0; i < 16; i++) {
                const float4 *at = reinterpret_cast<const float4 *>(from + (begin + i) * outputs_apart);
                if (begin + i < count)
                    part[i] = SHARED ? *at : __ldcg(at); // other blocks' results are in the L2
            }
#pragma unroll
            for (int i = 0; i < 16; i++) {
                if (begin + i >= count)
                    break;
                const float *header = headers + (begin + i) * headers_apart + row;
                float share = power2(header[0] - base);
                sum = fmaf(share, header[DECODE_ROWS], sum);
                total.x = fmaf(share, part[i].x, total.x);
                total.y = fmaf(share, part[i].y, total.y);
                total.z = fmaf(share, part[i].z, total.z);
                total.w = fmaf(share, part[i].w, total.w);
            }
        }
        store(row, column, total, most, sum);
    }
}

// Counts a block in; true in every thread of the last one, which then sees what the others wrote: the
// block's barrier orders its writes before the count, and the count releases and acquires them.
__device__ __forceinline__ bool last_to_arrive(int32_t *ticket, int count, int thread)
{
    __shared__ bool last;
    __syncthreads();
    if (thread == 0) {
        int before;
        asm volatile("atom.add.acq_rel.gpu.global.s32 %0, [%1], 1;" : "=r"(before) : "l"(ticket) : "memory");
        last = before == count - 1;
        if (last)
            *ticket = 0;
    }
    __syncthreads();
    return last;
}

template <typename T, int THREADS>
__device__ __forceinline__ void load_queries(const attention_call &call, const work &work, T *q_tile,
                                             int thread)
{
    for (int item = thread; item < DECODE_ROWS * HEAD_DIM / 8; item += THREADS) {
        int row = item / (HEAD_DIM / 8), column = item % (HEAD_DIM / 8) * 8;
        const T *from = static_cast<const T *>(call.q) + work.offset(row, call.q_stride) + column;
        *reinterpret_cast<uint4 *>(q_tile + row * ROW + column) =
            row < work.rows ? *reinterpret_cast<const uint4 *>(from) : make_uint4(0, 0, 0, 0);
    }
    __syncthreads();
}

// ---- rows that are not in place yet ----
template <typename T> __device__ __forceinline__ T rounded_to(float x);
template <> __device__ __forceinline__ __half rounded_to<__half>(float x)
{
    return __float2half_rn(x);
}
template <> __device__ __forceinline__ __nv_bfloat16 rounded_to<__nv_bfloat16>(float x)
{
    return __float2bfloat16_rn(x);
}

template <typename T, int THREADS>
__device__ __forceinline__ void turn_queries(const attention_call &call, const work &work, T *q_tile,
                                             int thread)
{
    rows_in in = {call.fresh.q, call.fresh.q_stride, call.fresh.in_type};
    int64_t row = work.part.sequence.first_row;
    turned value(in, row * in.stride + work.head(0) * HEAD_DIM, call.fresh.q_turn, row);
#pragma unroll 4
    for (int item = thread; item < work.rows * HEAD_DIM; item += THREADS) {
        turned head = value;
        head.begin += item / HEAD_DIM * HEAD_DIM;
        q_tile[item / HEAD_DIM * ROW + item % HEAD_DIM] = rounded_to<T>(head(item % HEAD_DIM));
    }
    for (int item = work.rows * HEAD_DIM + thread; item < DECODE_ROWS * HEAD_DIM; item += THREADS)
        q_tile[item / HEAD_DIM * ROW + item % HEAD_DIM] = T(0.0f);
}

// The sequence's new key and value into its last page; a page that is begun gets zeros behind them.
template <typename T, int THREADS>
__device__ __forceinline__ void place_key(const attention_call &call, const work &work, int thread)
{
    int key = work.part.sequence.start, page = work.pages[key / PAGE_KEYS];
    if (page < 0)
        return;
    int64_t row = work.part.sequence.first_row;
    rows_in k_in = {call.fresh.k, call.fresh.k_stride, call.fresh.in_type};
    rows_in v_in = {call.fresh.v, call.fresh.v_stride, call.fresh.in_type};
    turned k_value(k_in, row * k_in.stride + work.kv_head * HEAD_DIM, call.fresh.k_turn, row);
    turned v_value(v_in, row * v_in.stride + work.kv_head * HEAD_DIM, place_turn{}, row);
    int64_t head_page = static_cast<int64_t>(page) * call.kv_heads + work.kv_head;
    T *k =
        static_cast<T *>(const_cast<void *>(call.k)) + (head_page * PAGE_KEYS + key % PAGE_KEYS) * HEAD_DIM;
    T *v =
        static_cast<T *>(const_cast<void *>(call.v)) + (head_page * PAGE_KEYS + key % PAGE_KEYS) * HEAD_DIM;
    for (int e = thread; e < HEAD_DIM; e += THREADS) {
        float x = k_value(e), y = v_value(e);
        k[e] = rounded_to<T>(x);
        v[e] = rounded_to<T>(y);
    }
    if (key % PAGE_KEYS == 0)
        for (int e = HEAD_DIM + thread; e < PAGE_KEYS * HEAD_DIM; e += THREADS)
            k[e] = v[e] = T(0.0f);
}

// What a warp gathers over a granule.
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

    template <typename T> __device__ __forceinline__ void add(float (&score)[8], float factor, uint32_t v)
    {
        float rescale[2];
        state.tile<2>(score, factor, 0.0f, rescale);
        if (any_rescale(rescale))
#pragma unroll
            for (int i = 0; i < OUTPUTS * 4; i++)
                out[i] *= rescale[(i >> 1) & 1];
        chunk_values<T>(out, score, v);
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

// Stores merged outputs as the block's rows of the result.
template <typename T> struct store_rows {
    const attention_call &call;
    const work &work;

    __device__ __forceinline__ void operator()(int row, int column, float4 total, float, float sum) const
    {
        float inverse = sum > 0.0f ? 1.0f / sum : 0.0f;
        T *to = static_cast<T *>(call.out) + work.offset(row, call.out_stride) + column;
        bool bf16 = call.out_type == DT_BF16;
        *reinterpret_cast<uint2 *>(to) = make_uint2(pack_out<T>(bf16, total.x * inverse, total.y * inverse),
                                                    pack_out<T>(bf16, total.z * inverse, total.w * inverse));
    }
};

// Stores merged outputs as a partial result.
struct store_slot {
    float *slot;

    __device__ __forceinline__ void operator()(int row, int column, float4 total, float most, float sum) const
    {
        *reinterpret_cast<float4 *>(slot + row * HEAD_DIM + column) = total;
        if (column == 0) {
            slot[HEADER + row] = most;
            slot[HEADER + DECODE_ROWS + row] = sum;
        }
    }
};

template <typename T, int THREADS>
__device__ __forceinline__ void merge_granules(const attention_call &call, const work &work, float *headers,
                                               int thread)
{
    const float *slots = call.partial + work.first_slot(call) * SLOT;
    int granules = work.part.all_granules;
    for (int i = thread; i < granules * 2 * DECODE_ROWS; i += THREADS)
        headers[i] = __ldcg(slots + i / (2 * DECODE_ROWS) * SLOT + HEADER + i % (2 * DECODE_ROWS));
    __syncthreads();
    merge<THREADS, false>(slots, SLOT, headers, 2 * DECODE_ROWS, granules, work.rows, thread,
                          store_rows<T>{call, work});
}

// The block at work. Chunk c of the range goes to warp c % WARPS; granules are whole rounds of all warps.
template <typename T, bool PACKED, int WARPS, int STAGES> struct decoder {
    static constexpr int THREADS = WARPS * 32, ROUND = WARPS * CHUNK;
    static constexpr int APART =
        (PACKED ? 1 : STAGES) * STAGE / 2; // floats from one warp's result to the next

    const attention_call &call;
    const work &work;
    const range &range;
    T *stages;             // of all warps; PACKED: the unpacked chunks of all warps
    unsigned char *packed; // PACKED: this warp's stages
    int thread, lane, warp;
    stream<T, PACKED> stream;
    int index, stop; // of the warp's next chunk; where the block's part ends
    int stage;       // of that chunk
    int lowest;      // position of the block's first row

    __device__ __forceinline__ int border(int granule) const
    {
        int64_t rounds = (range.count() + ROUND - 1) / ROUND;
        return static_cast<int>(rounds * granule / work.part.all_granules) * ROUND;
    }

    __device__ __forceinline__ void begin()
    {
        index = border(work.part.granule) + warp * CHUNK;
        stop = min(range.count(), border(work.part.granule + work.part.granules));
        stage = 0;
        lowest = work.position(0);
        stream.look_up(index, stop);
#pragma unroll
        for (int i = 0; i < STAGES - 1; i++)
            stream.load(i, index + i * ROUND, index + (i + 1) * ROUND, stop);
    }

    // One chunk, whose K and V lie at `base`, into what the warp gathers.
    __device__ __forceinline__ void take(uint32_t base, const queries &queries, const rows2 &rows,
                                         gathered &gathered)
    {
        int key = range.key(index);
        mask mask(call);
        float score[8];
        chunk_scores<T>(score, queries, base + fragment_b<HEAD_DIM>(lane) * 2);
        chunk_bias(score, call, mask, rows, key + 2 * (lane & 3),
                   !mask.whole(lowest, range.end - 1, key, key + CHUNK - 1));
        if (work.part.sequence.holes && work.pages[key / PAGE_KEYS] < 0)
#pragma unroll
            for (int i = 0; i < 8; i++)
                score[i] = -INFINITY;
        gathered.add<T>(score, call.scale * LOG2E, base + (CHUNK * ROW + fragment_bt<HEAD_DIM>(lane)) * 2);
    }

    // A granule's chunks. All warps count the same rounds, so that all stand at the same stage after it.
    __device__ __forceinline__ void gather(int granule, const queries &queries, const rows2 &rows,
                                           gathered &gathered)
    {
        gathered.begin();
        for (int last = border(granule + 1) + warp * CHUNK; index < last; index += ROUND) {
            int ahead = stage == 0 ? STAGES - 1 : stage - 1, later = index + (STAGES - 1) * ROUND;
            __syncwarp(); // every lane has read the stage that is filled next
            stream.load(ahead, later, later + ROUND, stop);
            copy_wait<STAGES - 1>();
            __syncwarp(); // every lane's copies are here
            uint32_t base = stream.stages + stage * STAGE * 2;
            if constexpr (PACKED) {
                T *tile = stages + warp * STAGE;
                const unsigned char *from = packed + stage * 2 * PACKED_BYTES;
                unpack_chunk(reinterpret_cast<uint16_t *>(tile), from, lane);
                unpack_chunk(reinterpret_cast<uint16_t *>(tile + CHUNK * ROW), from + PACKED_BYTES, lane);
                __syncwarp();
                base = shared_address(tile);
            }
            stage = stage + 1 == STAGES ? 0 : stage + 1;
            if (index < stop)
                take(base, queries, rows, gathered);
        }
    }

    // Merges the warps' results of a granule. The stage to be filled next is free: it takes them.
    __device__ __forceinline__ void flush(int granule, const gathered &gathered)
    {
        int free_stage = PACKED ? 0 : stage == 0 ? STAGES - 1 : stage - 1;
        const float *results = reinterpret_cast<const float *>(stages + free_stage * STAGE);
        __syncwarp();
        gathered.write(
            reinterpret_cast<float *>(stages + (warp * (PACKED ? 1 : STAGES) + free_stage) * STAGE),
            work.rows, lane);
        __syncthreads();
        if (work.part.all_granules == 1)
            merge<THREADS, true>(results, APART, results + HEADER, APART, WARPS, work.rows, thread,
                                 store_rows<T>{call, work});
        else
            merge<THREADS, true>(results, APART, results + HEADER, APART, WARPS, work.rows, thread,
                                 store_slot{call.partial + (work.first_slot(call) + granule) * SLOT});
        __syncthreads();
    }
};

template <typename T, bool PACKED, int WARPS, int STAGES>
__global__ __launch_bounds__(WARPS * 32, 2) void decode(const __grid_constant__ attention_call call)
{
    constexpr int THREADS = WARPS * 32;
    extern __shared__ __align__(128) unsigned char shared[];
    T *q_tile = reinterpret_cast<T *>(shared), *stages = q_tile + DECODE_ROWS * ROW;
    int thread = static_cast<int>(threadIdx.x), lane = thread & 31, warp = thread / 32;
    work work(call);
    chain_wait();
    chain_release();
    if (work.part.granules == 0)
        return;
    // The reach needs the queries; without it the keys are asked for first, but for one that is not in place.
    bool skipping = call.slopes && call.reach > 0.0f && call.k_norms, fresh = call.fresh.q;
    if (fresh && work.part.granule + work.part.granules == work.part.all_granules) {
        place_key<T, THREADS>(call, work, thread);
        __syncthreads();
    }
    if (skipping)
        load_queries<T, THREADS>(call, work, q_tile, thread);
    range range = keys_range<T>(call, work, q_tile, lane);
    unsigned char *packed =
        reinterpret_cast<unsigned char *>(stages + WARPS * STAGE) + warp * STAGES * 2 * PACKED_BYTES;
    uint32_t mine = PACKED ? shared_address(packed) : shared_address(stages + warp * STAGES * STAGE);
    decoder<T, PACKED, WARPS, STAGES> decoder = {
        call, work, range, stages, packed, thread, lane, warp, {call, work, range, mine, lane, -1}};
    decoder.begin();
    if (fresh) {
        turn_queries<T, THREADS>(call, work, q_tile, thread);
        __syncthreads();
    } else if (!skipping) {
        load_queries<T, THREADS>(call, work, q_tile, thread);
    }
    queries queries(shared_address(q_tile + fragment_a<HEAD_DIM>(lane)));
    rows2 rows(call, work, lane);
    for (int granule = work.part.granule; granule < work.part.granule + work.part.granules; granule++) {
        gathered gathered;
        decoder.gather(granule, queries, rows, gathered);
        decoder.flush(granule, gathered);
    }
    copy_wait<0>();
    if (work.part.all_granules > 1 &&
        last_to_arrive(call.tickets + ATTENTION_TICKETS + work.first_slot(call), work.part.all_parts, thread))
        merge_granules<T, THREADS>(call, work, reinterpret_cast<float *>(stages), thread);
}

template <typename T, bool PACKED, int WARPS, int STAGES>
int launch(const attention_call *call, cudaStream_t stream)
{
    constexpr size_t bytes = shared_bytes<PACKED, WARPS, STAGES>();
    cudaError_t error =
        cudaFuncSetAttribute(decode<T, PACKED, WARPS, STAGES>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(bytes));
    if (error != cudaSuccess)
        return error;
    const dim3 grid(static_cast<unsigned>(call->part_count * call->kv_heads));
    return chain_launch(decode<T, PACKED, WARPS, STAGES>, grid, WARPS * 32, bytes, stream, *call);
}

// Two blocks an SM where shared memory allows it, else the shape that fits 99 KiB (sm_89, sm_120).
template <typename T, bool PACKED> int launch(const attention_call *call, void *stream)
{
    constexpr int warps = HEAD_DIM > 128 ? 2 : 4;
    int device = 0, most = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    if (static_cast<size_t>(most) >= 2 * 80 * 1024)
        return launch < T, PACKED, warps, PACKED ? 4 : 3 > (call, static_cast<cudaStream_t>(stream));
    return launch<T, PACKED, warps, 2>(call, static_cast<cudaStream_t>(stream));
}

} // namespace

#define NAME_(size) attention_decode_##size
#define NAME(size) NAME_(size)
extern "C" int NAME(HEAD_DIM)(const attention_call *call, void *stream)
{
    if (call->cache_type == DT_Q8_0) {
        if constexpr (HEAD_DIM % 32 == 0)
            return call->dtype == DT_F16 ? launch<__half, true>(call, stream) : cudaErrorInvalidValue;
        return cudaErrorInvalidValue;
    }
    return call->dtype == DT_BF16 ? launch<__nv_bfloat16, false>(call, stream)
                                  : launch<__half, false>(call, stream);
}
