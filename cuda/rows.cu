/* Operations along rows: norms, activations, sums, limits, gathering, copying out.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/rows.h"

#include "cuda/cells.cuh"
#include "cuda/chain.cuh"

namespace
{

constexpr int THREADS = 256;
constexpr int MOST_HELD = 8; // groups of four that a thread of a norm keeps in registers

// ---- norms ----

template <int TEAM> __device__ __forceinline__ float team_sum(float x, float *shared)
{
#pragma unroll
    for (int other = 16; other > 0; other /= 2)
        x += __shfl_xor_sync(~0u, x, other);
    if (TEAM == 32)
        return x;
    int warp = static_cast<int>(threadIdx.x) / 32, warps = static_cast<int>(blockDim.x) / 32;
    __syncthreads(); // the sum before this one has been read
    if (threadIdx.x % 32 == 0)
        shared[warp] = x;
    __syncthreads();
    float sum = 0.0f;
    for (int i = 0; i < warps; i++)
        sum += shared[i];
    return sum;
}

struct norm_call {
    cells in, weight, bias, out;
    int64_t rows;
    int groups, part;
    bool layer, add;
    float eps;
};

__device__ __forceinline__ float sum_of(float4 x)
{
    return (x.x + x.y) + (x.z + x.w);
}

// One part of a row: by a warp (TEAM 32, eight parts a block) or by a whole block (TEAM 0). HELD: groups of
// four a thread keeps; 0: reads them anew for each pass.
template <int TEAM, int HELD> __global__ void norm(const norm_call call)
{
    __shared__ float shared[32];
    chain_wait();
    int team = TEAM ? TEAM : static_cast<int>(blockDim.x);
    int lane = static_cast<int>(threadIdx.x) % team;
    int64_t unit =
        TEAM ? static_cast<int64_t>(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32 : blockIdx.x;
    if (unit >= call.rows * call.groups)
        return;
    int64_t row = unit / call.groups;
    int first = static_cast<int>(unit % call.groups) * call.part, end = first + call.part;
    float4 held[HELD ? HELD : 1] = {};
    int count = HELD ? HELD : (call.part + team * 4 - 1) / (team * 4);
#pragma unroll
    for (int i = 0; i < HELD; i++) {
        int col = first + (i * team + lane) * 4;
        held[i] = col < end ? call.in.get4(row, col, end) : make_float4(0, 0, 0, 0);
    }
    auto get = [&](int i) { return HELD ? held[i] : call.in.get4(row, first + (i * team + lane) * 4, end); };
    float mean = 0.0f;
    if (call.layer) {
        float sum = 0.0f;
#pragma unroll
        for (int i = 0; i < count; i++)
            if (first + (i * team + lane) * 4 < end)
                sum += sum_of(get(i));
        mean = team_sum<TEAM>(sum, shared) / static_cast<float>(call.part);
    }
    float squares = 0.0f;
#pragma unroll
    for (int i = 0; i < count; i++) {
        int col = first + (i * team + lane) * 4;
        if (col >= end)
            continue;
        float4 x = get(i);
        float a = x.x - mean, b = col + 1 < end ? x.y - mean : 0.0f, c = col + 2 < end ? x.z - mean : 0.0f,
              d = col + 3 < end ? x.w - mean : 0.0f;
        squares += (a * a + b * b) + (c * c + d * d);
    }
    float factor = rsqrtf(team_sum<TEAM>(squares, shared) / static_cast<float>(call.part) + call.eps);
    chain_release();
#pragma unroll
    for (int i = 0; i < count; i++) {
        int col = first + (i * team + lane) * 4, at = col - first;
        if (col >= end)
            continue;
        float4 x = get(i);
        x = make_float4((x.x - mean) * factor, (x.y - mean) * factor, (x.z - mean) * factor,
                        (x.w - mean) * factor);
        if (call.weight.present()) {
            float4 w = call.weight.get4(0, at, call.part);
            x = make_float4(x.x * w.x, x.y * w.y, x.z * w.z, x.w * w.w);
        }
        if (call.bias.present()) {
            float4 b = call.bias.get4(0, at, call.part);
            x = make_float4(x.x + b.x, x.y + b.y, x.z + b.z, x.w + b.w);
        }
        if (call.add) {
            float4 before = call.out.get4(row, col, end);
            x = make_float4(x.x + before.x, x.y + before.y, x.z + before.z, x.w + before.w);
        }
        call.out.put4(row, col, end, x);
    }
}

int launch_norm(const norm_call &call, void *stream)
{
    int64_t units = call.rows * call.groups;
    bool whole = call.in.wide && call.out.wide;
    if (call.part <= 512 && (whole || call.groups > 1 || call.part <= 128)) {
        dim3 grid(static_cast<unsigned>((units + 7) / 8));
        if (call.part <= 128)
            return chain_launch(norm<32, 1>, grid, 256, 0, stream, call);
        return chain_launch(norm<32, 4>, grid, 256, 0, stream, call);
    }
    int threads = (call.part / 4 + 31) / 32 * 32;
    threads = threads < 32 ? 32 : threads > 1024 ? 1024 : threads;
    dim3 grid(static_cast<unsigned>(units));
    int held = (call.part + threads * 4 - 1) / (threads * 4);
    if (held <= 1)
        return chain_launch(norm<0, 1>, grid, threads, 0, stream, call);
    if (held <= 2)
        return chain_launch(norm<0, 2>, grid, threads, 0, stream, call);
    if (held <= MOST_HELD)
        return chain_launch(norm<0, MOST_HELD>, grid, threads, 0, stream, call);
    return chain_launch(norm<0, 0>, grid, threads, 0, stream, call);
}

// ---- elementwise ----

__device__ __forceinline__ float activation(int kind, float x)
{
    switch (kind) {
    case ROWS_SILU:
        return x / (1.0f + expf(-x));
    case ROWS_GELU_TANH:
        return 0.5f * x * (1.0f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
    default:
        return 0.5f * x * erfcf(-x * 0.70710678118f);
    }
}

struct activate_op {
    int kind;
    bool gated;

    __device__ __forceinline__ float operator()(float gate, float up) const
    {
        float y = activation(kind, gate);
        return gated ? y * up : y;
    }
};

struct add_op {
    __device__ __forceinline__ float operator()(float a, float b) const
    {
        return a + b;
    }
};

struct clamp_op {
    float limit;

    __device__ __forceinline__ float operator()(float x, float) const
    {
        return x > limit ? limit : x < -limit ? -limit : x;
    }
};

struct softcap_op {
    float limit;

    __device__ __forceinline__ float operator()(float x, float) const
    {
        return limit * tanhf(x / limit);
    }
};

struct copy_op {
    __device__ __forceinline__ float operator()(float x, float) const
    {
        return x;
    }
};

// out[r, c] = op(a[from[r], c], b[r, c]); b may be absent. A block takes runs of a row.
template <typename Op>
__global__ __launch_bounds__(THREADS) void elementwise(const cells a, const cells b, const cells out,
                                                       const int32_t *from, const Op op)
{
    chain_wait();
    chain_release();
    int64_t row = blockIdx.x, source = from ? from[row] : row;
    int step = static_cast<int>(gridDim.y * THREADS) * 4;
    for (int col = static_cast<int>(blockIdx.y * THREADS + threadIdx.x) * 4; col < out.cols; col += step) {
        float4 x = a.get4(source, col, out.cols);
        float4 y = b.present() ? b.get4(row, col, out.cols) : make_float4(0, 0, 0, 0);
        out.put4(row, col, out.cols, make_float4(op(x.x, y.x), op(x.y, y.y), op(x.z, y.z), op(x.w, y.w)));
    }
}

template <typename Op>
int launch_elementwise(const tensor *a, const tensor *b, const tensor *out, const int32_t *from, const Op &op,
                       void *stream)
{
    if (!cells::known(a->dtype) || !cells::known(out->dtype) || (b && !cells::known(b->dtype)) ||
        a->cols != out->cols || (b && b->cols != out->cols) || out->cols > INT32_MAX / 2)
        return cudaErrorInvalidValue;
    if (out->rows == 0)
        return cudaSuccess;
    int64_t runs = (out->cols + THREADS * 4 - 1) / (THREADS * 4);
    dim3 grid(static_cast<unsigned>(out->rows), static_cast<unsigned>(runs < 1024 ? runs : 1024));
    return chain_launch(elementwise<Op>, grid, THREADS, 0, stream, cells(a), cells(b), cells(out), from, op);
}

// ---- the greatest number of a row ----

struct best {
    unsigned long long
        packed; // the number, ordered as an integer, above the complement of its column; 0: none
    unsigned arrived;
};

// Larger numbers give larger integers, and of equal numbers the lower column does; minus infinity and NaN are
// 0.
__device__ __forceinline__ unsigned long long pack(float x, int col)
{
    if (!(x > -INFINITY))
        return 0;
    unsigned bits = __float_as_uint(x == 0.0f ? 0.0f : x);
    bits = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    return static_cast<unsigned long long>(bits) << 32 | ~static_cast<unsigned>(col);
}

// A row's blocks meet in the scratch; the last to arrive answers and leaves it as it was.
__global__ __launch_bounds__(THREADS) void greatest(const cells in, best *scratch, int32_t *ret)
{
    chain_wait();
    int64_t row = blockIdx.x;
    unsigned long long most = 0;
    int step = static_cast<int>(gridDim.y * THREADS) * 4;
    for (int col = static_cast<int>(blockIdx.y * THREADS + threadIdx.x) * 4; col < in.cols; col += step) {
        float4 x = in.get4(row, col, in.cols);
        most = max(most, pack(x.x, col));
        most = col + 1 < in.cols ? max(most, pack(x.y, col + 1)) : most;
        most = col + 2 < in.cols ? max(most, pack(x.z, col + 2)) : most;
        most = col + 3 < in.cols ? max(most, pack(x.w, col + 3)) : most;
    }
#pragma unroll
    for (int other = 16; other > 0; other /= 2)
        most = max(most, __shfl_xor_sync(~0u, most, other));
    __shared__ unsigned long long warps[THREADS / 32];
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = most;
    __syncthreads();
    if (threadIdx.x > 0)
        return;
    for (int i = 1; i < THREADS / 32; i++)
        most = max(most, warps[i]);
    best *mine = scratch + row;
    atomicMax(&mine->packed, most);
    __threadfence();
    if (atomicAdd(&mine->arrived, 1) < gridDim.y - 1)
        return;
    __threadfence();
    most = atomicExch(&mine->packed, 0);
    mine->arrived = 0;
    ret[row] = most ? static_cast<int32_t>(~static_cast<unsigned>(most)) : -1;
}

} // namespace

extern "C" size_t rows_greatest_bytes(int64_t rows)
{
    return static_cast<size_t>(rows) * sizeof(best);
}

extern "C" int rows_greatest(const tensor *in, void *scratch, int32_t *ret, void *stream)
{
    if (!cells::known(in->dtype) || in->cols > INT32_MAX / 2)
        return cudaErrorInvalidValue;
    if (in->rows == 0)
        return cudaSuccess;
    int64_t runs = (in->cols + THREADS * 4 - 1) / (THREADS * 4);
    dim3 grid(static_cast<unsigned>(in->rows), static_cast<unsigned>(runs < 128 ? runs : 128));
    return chain_launch(greatest, grid, THREADS, 0, stream, cells(in), static_cast<best *>(scratch), ret);
}

extern "C" int rows_norm(bool layer, const tensor *in, const tensor *weight, const tensor *bias, float eps,
                         int groups, const tensor *out, bool add, void *stream)
{
    if (groups < 1 || in->cols % groups || !cells::known(in->dtype) || !cells::known(out->dtype) ||
        in->cols > INT32_MAX / 2)
        return cudaErrorInvalidValue;
    if (in->rows == 0)
        return cudaSuccess;
    norm_call call = {cells(in, groups),
                      cells(weight),
                      cells(bias),
                      cells(out, groups),
                      in->rows,
                      groups,
                      static_cast<int>(in->cols / groups),
                      layer,
                      add,
                      eps};
    return launch_norm(call, stream);
}

extern "C" int rows_activate(enum rows_activation kind, const tensor *gate, const tensor *up,
                             const tensor *out, void *stream)
{
    return launch_elementwise(gate, up, out, nullptr, activate_op{kind, up != nullptr}, stream);
}

extern "C" int rows_add(const tensor *a, const tensor *b, const tensor *out, void *stream)
{
    return launch_elementwise(a, b, out, nullptr, add_op{}, stream);
}

extern "C" int rows_clamp(const tensor *x, float limit, void *stream)
{
    return launch_elementwise(x, nullptr, x, nullptr, clamp_op{limit}, stream);
}

extern "C" int rows_softcap(const tensor *x, float limit, void *stream)
{
    return launch_elementwise(x, nullptr, x, nullptr, softcap_op{limit}, stream);
}

extern "C" int rows_gather(const tensor *in, const int32_t *rows, const tensor *out, void *stream)
{
    return launch_elementwise(in, nullptr, out, rows, copy_op{}, stream);
}

extern "C" int device_has_code(void)
{
    cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, elementwise<copy_op>);
}
