/* Decode attention over Q8_0 keys and values: multiplied as the bytes that they are (HEAD_DIM a compilation).
 * SPDX-License-Identifier: Apache-2.0
 *
 * Eight packed rows a block. Scores are products of bytes: the queries are whole numbers of two digits
 * (digits.cuh), the high ones in rows 0 … 7 of the first operand and the low ones in rows 8 … 15, so that one
 * product gives a thread both; a block of 32 numbers is one step, and its sum is scaled in fp32. Values
 * become f16 on their way from shared memory into registers. They are the first operand, and the weights the
 * second: a thread's scores are then the weights that it must bring, and no row of the product is idle. */
#include "cuda/decode_body.cuh"
#include "cuda/softmax.cuh"

namespace
{

constexpr int PACKED_ROWS = 8, BLOCKS = HEAD_DIM / 32;
// From one key, or row of digits, to the next, in bytes: an odd number of 16-byte units (tile.cuh).
constexpr int PITCH = HEAD_DIM + 16;
constexpr int SCALES = 2 * BLOCKS * CHUNK; // bytes of a chunk's
constexpr int K_AT = 0, V_AT = CHUNK * PITCH, K_SCALES_AT = 2 * CHUNK * PITCH,
              V_SCALES_AT = K_SCALES_AT + SCALES;

__device__ __forceinline__ void multiply_bytes(int (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// WORDS words from shared memory, in loads as wide as their alignment allows.
template <int WORDS> __device__ __forceinline__ void load_words(uint32_t (&to)[WORDS], uint32_t address)
{
    constexpr int WIDE = WORDS % 4 == 0 ? 4 : WORDS % 2 == 0 ? 2 : 1;
#pragma unroll
    for (int i = 0; i < WORDS; i += WIDE) {
        if constexpr (WIDE == 4)
            asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
                         : "=r"(to[i]), "=r"(to[i + 1]), "=r"(to[i + 2]), "=r"(to[i + 3])
                         : "r"(address + 4 * i)
                         : "memory");
        else if constexpr (WIDE == 2)
            asm volatile("ld.shared.v2.u32 {%0,%1}, [%2];"
                         : "=r"(to[i]), "=r"(to[i + 1])
                         : "r"(address + 4 * i)
                         : "memory");
        else
            asm volatile("ld.shared.u32 %0, [%1];" : "=r"(to[i]) : "r"(address + 4 * i) : "memory");
    }
}

// The scales of two neighbouring keys, all blocks of the first and then all of the second.
struct two_scales {
    uint32_t word[BLOCKS];

    __device__ __forceinline__ two_scales(uint32_t scales, int key)
    {
        load_words<BLOCKS>(word, scales + static_cast<uint32_t>(key * 2 * BLOCKS));
    }

    __device__ __forceinline__ float one(int which, int block) const
    {
        int at = which * BLOCKS + block;
        uint32_t half = at % 2 ? word[at / 2] >> 16 : word[at / 2] & 0xffffu;
        return __half2float(__ushort_as_half(static_cast<unsigned short>(half)));
    }

    __device__ __forceinline__ __half2 both(int block) const
    {
        int a = block, b = BLOCKS + block;
        uint32_t pair =
            __byte_perm(word[a / 2], word[b / 2], (a % 2 ? 0x32u : 0x10u) | (b % 2 ? 0x7600u : 0x5400u));
        return *reinterpret_cast<__half2 *>(&pair);
    }
};

// Bytes 0 and 2 (ODD: 1 and 3) of a word, signed once its sign bits are turned, as f16: exactly, for a byte
// is the low part of 1024 + 128 + x. Then scaled.
template <bool ODD> __device__ __forceinline__ uint32_t halves_of(uint32_t turned, __half2 scale)
{
    uint32_t word = __byte_perm(turned, 0x64646464u, ODD ? 0x4341 : 0x4240);
    __half2 x = __hmul2(__hsub2(*reinterpret_cast<__half2 *>(&word), __float2half2_rn(1152.0f)), scale);
    return *reinterpret_cast<uint32_t *>(&x);
}

// A row of queries as digits: eight numbers a thread, four neighbours a block.
__device__ __forceinline__ void put_digits(unsigned char *digits, float *scales, int row, int eight,
                                           uint4 numbers)
{
    uint32_t words[4] = {numbers.x, numbers.y, numbers.z, numbers.w}, most = 0, raised[8];
    float x[8];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float2 two = number<__half>::unpack(words[i]);
        x[2 * i] = two.x, x[2 * i + 1] = two.y;
        most = max(most, max(__float_as_uint(two.x) & 0x7fffffffu, __float_as_uint(two.y) & 0x7fffffffu));
    }
    most = max(most, __shfl_xor_sync(~0u, most, 1));
    most = max(most, __shfl_xor_sync(~0u, most, 2));
    uint32_t exponent = max(most >> 23, 27u) - 13u;
    float inverse = __uint_as_float((254u - exponent) << 23);
#pragma unroll
    for (int i = 0; i < 8; i++) // 1.5 · 2^23 + 128 + the whole number: its bytes are the digits (digits.cuh)
        raised[i] = __float_as_uint(fmaf(x[i], inverse, 12583040.0f));
    uint32_t high[2], low[2];
#pragma unroll
    for (int i = 0; i < 2; i++) {
        uint32_t a = __byte_perm(raised[4 * i], raised[4 * i + 1], 0x5140);
        uint32_t b = __byte_perm(raised[4 * i + 2], raised[4 * i + 3], 0x5140);
        high[i] = __byte_perm(a, b, 0x7632);
        low[i] = __byte_perm(a, b, 0x5410) ^ 0x80808080u;
    }
    *reinterpret_cast<uint2 *>(digits + row * PITCH + eight * 8) = make_uint2(high[0], high[1]);
    *reinterpret_cast<uint2 *>(digits + (row + 8) * PITCH + eight * 8) = make_uint2(low[0], low[1]);
    if (eight % 4 == 0) // infinite or NaN: so is every score
        scales[row * BLOCKS + eight / 4] =
            most >= 0x7f800000u ? __int_as_float(0x7fffffff) : __uint_as_float(exponent << 23);
}

struct packed_cache {
    using number = __half;
    static constexpr int ROWS = PACKED_ROWS, STAGE_BYTES = 2 * (CHUNK * PITCH + SCALES);
    static constexpr int DIGITS = 16 * PITCH, QUERY_BYTES = DIGITS + 4 * PACKED_ROWS * BLOCKS;
    static_assert(STAGE_BYTES % 16 == 0 && QUERY_BYTES % 16 == 0, "16-byte units");

    // From a page: signed bytes, then the scales (place.h).
    static __device__ __forceinline__ void load(uint32_t to, const attention_call &call, int64_t head_page,
                                                int key, int valid, int lane)
    {
        constexpr int UNITS = HEAD_DIM / 16;
        int64_t page = head_page * (PAGE_KEYS * BLOCKS * 34);
        const char *k = static_cast<const char *>(call.k) + page,
                   *v = static_cast<const char *>(call.v) + page;
#pragma unroll
        for (int i = 0; i < CHUNK * UNITS / 32; i++) {
            int unit = i * 32 + lane, row = unit / UNITS;
            uint32_t at = static_cast<uint32_t>(row * PITCH + unit % UNITS * 16);
            bool keep = row < valid;
            int from = keep ? key * HEAD_DIM + unit * 16 : 0;
            copy_async(to + K_AT + at, k + from, keep);
            copy_async(to + V_AT + at, v + from, keep);
        }
        // Scales of keys behind the end come along: their numbers are zeros.
        int unit = lane % 16;
        const char *scales = (lane < 16 ? k : v) + PAGE_KEYS * HEAD_DIM + key * 2 * BLOCKS + unit * 16;
        if (unit < SCALES / 16)
            copy_async(to + (lane < 16 ? K_SCALES_AT : V_SCALES_AT) + static_cast<uint32_t>(unit) * 16,
                       scales, valid > 0);
    }

    static __device__ __forceinline__ void place_key(const attention_call &call, const work &work, int lane)
    {
        place_packed_key(call, work, lane);
    }

    template <int THREADS>
    static __device__ __forceinline__ void prepare(const uint16_t *q_tile, unsigned char *own, int thread)
    {
        constexpr int EIGHTS = HEAD_DIM / 8; // whole warps take part: a multiple of four times eight rows
        for (int item = thread; item < PACKED_ROWS * EIGHTS; item += THREADS)
            put_digits(own, reinterpret_cast<float *>(own + DIGITS), item / EIGHTS, item % EIGHTS,
                       *reinterpret_cast<const uint4 *>(q_tile + item / EIGHTS * ROW + item % EIGHTS * 8));
        __syncthreads();
    }

    // A thread's row is lane / 4.
    struct rows {
        uint32_t digits[BLOCKS][4];
        float scales[BLOCKS];
        float step; // slope in raw score units
        int position;

        __device__ __forceinline__ rows(const attention_call &call, const work &work, const void *,
                                        const unsigned char *own, int lane)
        {
            int row = lane / 4;
            uint32_t at = shared_address(own) + static_cast<uint32_t>(row * PITCH + lane % 4 * 4);
            const float *kept = reinterpret_cast<const float *>(own + DIGITS) + row * BLOCKS;
#pragma unroll
            for (int block = 0; block < BLOCKS; block++) {
#pragma unroll
                for (int i = 0; i < 4; i++) { // rows g and g+8, columns 4t and 16 + 4t
                    uint32_t word[1];
                    load_words<1>(word,
                                  at + static_cast<uint32_t>(i % 2 * 8 * PITCH + block * 32 + i / 2 * 16));
                    digits[block][i] = word[0];
                }
                scales[block] = kept[block];
            }
            step = call.slopes ? call.slopes[work.head(row)] / call.scale : 0.0f;
            position = work.position(row);
        }
    };

    struct gathered {
        float max, sum;              // of row lane / 4; the sum of this thread's keys only
        float out[HEAD_DIM / 16][4]; // numbers 2g, 2g+1 of sixteen: of rows 2t, 2t+1, then 2t, 2t+1 again

        __device__ __forceinline__ void begin()
        {
            max = -INFINITY;
            sum = 0.0f;
#pragma unroll
            for (int m = 0; m < HEAD_DIM / 16; m++)
#pragma unroll
                for (int i = 0; i < 4; i++)
                    out[m][i] = 0.0f;
        }

        // Keys 2t, 2t+1, 8+2t and 9+2t of the chunk.
        static __device__ __forceinline__ void scores(float (&score)[4], const rows &rows, uint32_t chunk,
                                                      int lane)
        {
            uint32_t k = chunk + K_AT +
                         static_cast<uint32_t>(((lane & 7) + (lane >> 4) * 8) * PITCH + (lane >> 3 & 1) * 16);
            const two_scales scales[2] = {two_scales(chunk + K_SCALES_AT, 2 * (lane & 3)),
                                          two_scales(chunk + K_SCALES_AT, 8 + 2 * (lane & 3))};
#pragma unroll
            for (int i = 0; i < 4; i++)
                score[i] = 0.0f;
#pragma unroll
            for (int block = 0; block < BLOCKS; block++) {
                uint32_t b[4];
                load_matrix(b, k + static_cast<uint32_t>(block) * 32);
#pragma unroll
                for (int half = 0; half < 2; half++) {
                    int d[4] = {0, 0, 0, 0};
                    multiply_bytes(d, rows.digits[block], b[2 * half], b[2 * half + 1]);
#pragma unroll
                    for (int i = 0; i < 2; i++)
                        score[2 * half + i] =
                            fmaf(rows.scales[block] * scales[half].one(i, block),
                                 static_cast<float>(d[i] * 256 + d[2 + i]), score[2 * half + i]);
                }
            }
        }

        static __device__ __forceinline__ void bias(float (&score)[4], const attention_call &call,
                                                    const mask &mask, const rows &rows, int key, bool hide)
        {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                int column = key + 8 * (i / 2) + i % 2;
                if (call.softcap > 0.0f)
                    score[i] = call.softcap / call.scale * tanhf(score[i] * call.scale / call.softcap);
                score[i] = fmaf(rows.step, static_cast<float>(column - rows.position), score[i]);
                if (hide && !mask.sees(rows.position, column))
                    score[i] = -INFINITY;
            }
        }

        // Scores into weights; what was gathered is rescaled when the maximum grew.
        __device__ __forceinline__ void soften(float (&score)[4], float factor, int lane)
        {
            float most = quad_max(fmaxf(fmaxf(score[0], score[1]), fmaxf(score[2], score[3]))), before = max;
            max = fmaxf(before, most * factor);
            float base = max == -INFINITY ? 0.0f : max, rescale = power2(before - base);
#pragma unroll
            for (int i = 0; i < 4; i++)
                score[i] = power2(fmaf(score[i], factor, -base));
            sum = fmaf(sum, rescale, (score[0] + score[1]) + (score[2] + score[3]));
            if (!__any_sync(~0u, rescale != 1.0f))
                return;
            float even = __shfl_sync(~0u, rescale, lane % 4 * 8),
                  odd = __shfl_sync(~0u, rescale, lane % 4 * 8 + 4);
#pragma unroll
            for (int m = 0; m < HEAD_DIM / 16; m++)
#pragma unroll
                for (int i = 0; i < 4; i++)
                    out[m][i] *= i % 2 ? odd : even;
        }

        __device__ __forceinline__ void values(const float (&weight)[4], uint32_t chunk, int lane)
        {
            uint32_t v = chunk + V_AT + static_cast<uint32_t>((lane & 15) * PITCH + (lane >> 4) * 16);
            const two_scales scales[2] = {two_scales(chunk + V_SCALES_AT, 2 * (lane & 3)),
                                          two_scales(chunk + V_SCALES_AT, 8 + 2 * (lane & 3))};
            uint32_t b[2] = {::number<__half>::pack(weight[0], weight[1]),
                             ::number<__half>::pack(weight[2], weight[3])};
#pragma unroll
            for (int block = 0; block < BLOCKS; block++) {
                uint32_t raw[4]; // sixteen numbers: keys 0 … 7, then 8 … 15; the other sixteen
                load_matrix_transposed(raw, v + static_cast<uint32_t>(block) * 32);
                __half2 first = scales[0].both(block), second = scales[1].both(block);
#pragma unroll
                for (int m = 0; m < 2; m++) {
                    uint32_t low = raw[2 * m] ^ 0x80808080u, high = raw[2 * m + 1] ^ 0x80808080u;
                    uint32_t a[4] = {halves_of<false>(low, first), halves_of<true>(low, first),
                                     halves_of<false>(high, second), halves_of<true>(high, second)};
                    ::number<__half>::multiply(out[2 * block + m], a, b[0], b[1]);
                }
            }
        }

        __device__ __forceinline__ void take(const attention_call &call, const mask &mask, const rows &rows,
                                             const chunk &chunk, int lane)
        {
            float score[4];
            scores(score, rows, chunk.address, lane);
            bias(score, call, mask, rows, chunk.key + 2 * (lane & 3), chunk.hide);
            soften(score, call.scale * LOG2E, lane);
            values(score, chunk.address, lane);
        }

        __device__ __forceinline__ void write(float *result, int rows, int lane) const
        {
            float whole = quad_sum(sum);
            if (lane % 4 == 0 && lane / 4 < rows) {
                result[PACKED_ROWS * HEAD_DIM + lane / 4] = max;
                result[PACKED_ROWS * HEAD_DIM + PACKED_ROWS + lane / 4] = whole;
            }
#pragma unroll
            for (int r = 0; r < 2; r++) {
                int row = 2 * (lane % 4) + r;
                if (row >= rows)
                    continue;
#pragma unroll
                for (int m = 0; m < HEAD_DIM / 16; m++)
                    *reinterpret_cast<float2 *>(result + row * HEAD_DIM + 16 * m + 2 * (lane / 4)) =
                        make_float2(out[m][r], out[m][2 + r]);
            }
        }
    };
};

} // namespace

#define NAME_(size) attention_packed_##size
#define NAME(size) NAME_(size)
extern "C" int NAME(HEAD_DIM)(const attention_call *call, void *stream)
{
    if (call->dtype != DT_F16)
        return cudaErrorInvalidValue;
    constexpr int warps = HEAD_DIM > 128 ? 3 : 6;
    return decode_launch_some<packed_cache, warps, 3>(call, stream);
}
