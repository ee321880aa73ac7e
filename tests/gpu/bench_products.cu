/* Times the products of the CUDA plug-in beside the card's read ceiling, measured in the same run.
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: bench_products [small|layer|large|unpack|TYPE …]; all of them by default, of all types unless some
 * are named
 *
 * Weights are random and so many that none is read twice within the L2's reach; launches are timed inside a
 * graph; every figure is the median of several replays. Shares are of the best read rate of this run. */
extern "C" {
#include "tensor/dtype.h"
}

#include "cuda/product.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <cuda_runtime.h>

static void check_call(int status, const char *what)
{
    if (status == cudaSuccess)
        return;
    printf("%s: %s\n", what, cudaGetErrorString(static_cast<cudaError_t>(status)));
    exit(1);
}
#define CUDA(call) check_call(static_cast<int>(call), #call)

static constexpr size_t POOL_BYTES = size_t{6} << 30;
static char *pool; // weights
static char *input, *output, *scratch;
static float *floats; // biases and norm weights
static product_context *context;
static cudaStream_t stream;
static double ceiling; // bytes a second

// Random bits, but no number in it is infinite, NaN or large, whichever sixteen or thirty-two bits it is made
// of.
static __global__ void fill(uint32_t *to, size_t words, uint32_t seed)
{
    for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < words;
         i += static_cast<size_t>(gridDim.x) * blockDim.x) {
        uint32_t x = static_cast<uint32_t>(i) * 2654435761u + seed;
        x ^= x >> 16, x *= 0x7feb352du, x ^= x >> 15, x *= 0x846ca68bu, x ^= x >> 16;
        to[i] = x & 0xbfffbfffu;
    }
}

static __global__ void read_all(const uint4 *from, size_t count, uint32_t *sink)
{
    uint32_t x = 0;
    size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
    size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
    for (; i + 3 * step < count; i += 4 * step) {
        uint4 a = __ldcs(from + i), b = __ldcs(from + i + step), c = __ldcs(from + i + 2 * step),
              d = __ldcs(from + i + 3 * step);
        x ^= a.x ^ a.y ^ a.z ^ a.w ^ b.x ^ b.y ^ b.z ^ b.w ^ c.x ^ c.y ^ c.z ^ c.w ^ d.x ^ d.y ^ d.z ^ d.w;
    }
    if (x == 0x12345678u)
        *sink = x;
}

// Median seconds of one replay of what `queue` queues.
static double seconds_of(const std::function<void()> &queue, int replays = 9)
{
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    cudaEvent_t begin, end;
    queue();
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    queue();
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&ready, graph, 0));
    CUDA(cudaEventCreate(&begin));
    CUDA(cudaEventCreate(&end));
    std::vector<float> times;
    for (int i = 0; i < replays + 2; i++) {
        float ms;
        CUDA(cudaEventRecord(begin, stream));
        CUDA(cudaGraphLaunch(ready, stream));
        CUDA(cudaEventRecord(end, stream));
        CUDA(cudaEventSynchronize(end));
        CUDA(cudaEventElapsedTime(&ms, begin, end));
        if (i >= 2)
            times.push_back(ms);
    }
    CUDA(cudaEventDestroy(begin));
    CUDA(cudaEventDestroy(end));
    CUDA(cudaGraphExecDestroy(ready));
    CUDA(cudaGraphDestroy(graph));
    std::nth_element(times.begin(), times.begin() + replays / 2, times.end());
    return static_cast<double>(times[static_cast<size_t>(replays / 2)]) * 1e-3;
}

static void measure_ceiling()
{
    ceiling = 0.0;
    for (int blocks : {264, 528, 1056, 2112}) {
        double s = seconds_of([&] {
            read_all<<<blocks, 512, 0, stream>>>(reinterpret_cast<const uint4 *>(pool), POOL_BYTES / 16,
                                                 reinterpret_cast<uint32_t *>(scratch));
        });
        ceiling = std::max(ceiling, static_cast<double>(POOL_BYTES) / s);
    }
    printf("read ceiling, 6 GiB: %.0f GB/s\n", ceiling * 1e-9);
}

struct shape {
    const char *name;
    int64_t n, k;
};
static const shape shapes[] = {
    {"4096 x 4096", 4096, 4096},          {"6144 x 4096 (qkv)", 6144, 4096},
    {"14336 x 4096", 14336, 4096},        {"28672 x 4096", 28672, 4096},
    {"4096 x 14336 (down)", 4096, 14336}, {"128256 x 4096 (head)", 128256, 4096},
};
static const enum dtype types[] = {DT_BF16, DT_F16,  DT_Q8_0, DT_Q6_K, DT_Q5_K,
                                   DT_Q4_K, DT_Q4_0, DT_Q4_1, DT_Q5_0, DT_F32};

static std::vector<std::string> named; // types

static bool is_wanted(enum dtype type)
{
    return named.empty() || std::find(named.begin(), named.end(), dtype_info(type)->name) != named.end();
}

static product_weight weight_at(size_t offset, enum dtype type, int64_t n, int64_t k)
{
    return {type, n, k, product_stride(type, k), pool + offset};
}

static product_call call_of(enum dtype dtype, int64_t rows, int64_t k)
{
    product_call call = {};
    call.dtype = dtype;
    call.in = input;
    call.in_dtype = dtype;
    call.rows = rows;
    call.in_stride = k;
    call.scratch = scratch;
    call.scratch_bytes = product_scratch_bytes(context, rows);
    return call;
}

// As many weights of this shape as the pool holds, at most `most`, one product of each.
static double product_seconds(enum dtype type, int64_t rows, int64_t n, int64_t k, size_t most)
{
    size_t bytes = static_cast<size_t>(product_stride(type, k) * n);
    size_t weights = std::min(most, POOL_BYTES / bytes);
    double s = seconds_of([&] {
        for (size_t i = 0; i < weights; i++) {
            product_call call = call_of(DT_BF16, rows, k);
            call.count = 1;
            call.outputs[0] = {weight_at(i * bytes, type, n, k), nullptr, output, DT_BF16, n, false};
            CUDA(product_run(context, &call, stream));
        }
    });
    return s / static_cast<double>(weights);
}

static void bench_small()
{
    printf("\none to sixty-four rows, bf16: us a product, GB/s of weights (share of the ceiling)\n");
    for (const shape &s : shapes)
        for (enum dtype type : types) {
            if (!is_wanted(type))
                continue;
            double bytes = static_cast<double>(product_stride(type, s.k) * s.n);
            printf("%-22s %-5s", s.name, dtype_info(type)->name);
            for (int64_t rows : {1, 2, 8, 16, 32, 64}) {
                if (s.n > 100000 && rows > 16)
                    continue;
                double seconds = product_seconds(type, rows, s.n, s.k, 64);
                printf(" | %lld: %.1f us %.0f (%.2f)", static_cast<long long>(rows), seconds * 1e6,
                       bytes / seconds * 1e-9, bytes / seconds / ceiling);
            }
            printf("\n");
            fflush(stdout);
        }
}

// The products of a decoder layer, 8B shape, as four launches: normed q, k, v; output; normed and gated gate
// and up; down.
static size_t queue_layer(enum dtype type, size_t offset)
{
    auto take = [&](int64_t n, int64_t k) {
        product_weight weight = weight_at(offset, type, n, k);
        offset += static_cast<size_t>(weight.stride * n);
        return weight;
    };
    float *residual = reinterpret_cast<float *>(output);
    char *inner = output + (1 << 20);
    product_call qkv = call_of(DT_BF16, 1, 4096), out = qkv, gate = qkv, down = call_of(DT_BF16, 1, 14336);
    for (product_call *normed : {&qkv, &gate}) {
        normed->in = residual;
        normed->in_dtype = DT_F32;
        normed->norm = PRODUCT_NORM_RMS;
        normed->norm_weight = floats;
        normed->norm_eps = 1e-5f;
    }
    qkv.count = 3;
    qkv.outputs[0] = {take(4096, 4096), nullptr, inner, DT_BF16, 4096, false};
    qkv.outputs[1] = {take(1024, 4096), nullptr, inner + 8192, DT_BF16, 1024, false};
    qkv.outputs[2] = {take(1024, 4096), nullptr, inner + 8192 + 2048, DT_BF16, 1024, false};
    out.in = inner;
    out.count = 1;
    out.outputs[0] = {take(4096, 4096), nullptr, residual, DT_F32, 4096, true};
    gate.count = 2;
    gate.gate = PRODUCT_GATE_SILU;
    gate.outputs[0] = {take(14336, 4096), nullptr, nullptr, DT_BF16, 14336, false};
    gate.outputs[1] = {take(14336, 4096), nullptr, inner, DT_BF16, 14336, false};
    down.in = inner;
    down.count = 1;
    down.outputs[0] = {take(4096, 14336), nullptr, residual, DT_F32, 4096, true};
    for (const product_call *call : {&qkv, &out, &gate, &down})
        CUDA(product_run(context, call, stream));
    return offset;
}

static void bench_layer()
{
    printf("\nthe products of 8B layers without attention, one row, four launches each: us a layer, share of "
           "the ceiling\n");
    for (enum dtype type : types) {
        if (!is_wanted(type))
            continue;
        size_t bytes = 0;
        int layers = 0;
        double s = seconds_of([&] {
            bytes = 0;
            for (layers = 0; layers < 16 && bytes + (size_t{960} << 20) < POOL_BYTES; layers++)
                bytes = queue_layer(type, bytes);
        });
        printf("%-5s %6.1f us, %.0f GB/s (%.2f)\n", dtype_info(type)->name, s / layers * 1e6,
               static_cast<double>(bytes) / s * 1e-9, static_cast<double>(bytes) / s / ceiling);
    }
}

static void bench_large()
{
    printf("\nmany rows, bf16: TFLOP/s\n");
    for (const shape &s : shapes) {
        if (s.n > 100000)
            continue;
        for (enum dtype type : {DT_BF16, DT_Q8_0, DT_Q4_K, DT_Q6_K}) {
            printf("%-22s %-5s", s.name, dtype_info(type)->name);
            for (int64_t rows : {64, 96, 128, 256, 512, 1024, 2048, 4096}) {
                double seconds = product_seconds(type, rows, s.n, s.k, 8);
                printf(" | %lld: %.0f", static_cast<long long>(rows),
                       2e-12 * static_cast<double>(rows * s.n * s.k) / seconds);
            }
            printf("\n");
            fflush(stdout);
        }
    }
}

static void bench_unpack()
{
    printf("\nunpacking 4096 x 14336 to bf16: GB/s read and written (share of the read ceiling)\n");
    for (enum dtype type : types) {
        int64_t n = 4096, k = 14336;
        size_t bytes = static_cast<size_t>(product_stride(type, k) * n),
               weights = std::min<size_t>(16, POOL_BYTES / bytes);
        double s = seconds_of([&] {
            for (size_t i = 0; i < weights; i++) {
                product_weight weight = weight_at(i * bytes, type, n, k);
                CUDA(product_unpack(&weight, nullptr, 0, n, 1.0f, output, DT_BF16, k, stream));
            }
        });
        double moved =
            static_cast<double>(bytes + static_cast<size_t>(2 * n * k)) * static_cast<double>(weights) / s;
        printf("%-5s %.0f GB/s (%.2f)\n", dtype_info(type)->name, moved * 1e-9, moved / ceiling);
    }
}

int main(int argc, char **argv)
{
    size_t output_bytes = size_t{512} << 20, input_bytes = size_t{4096} * 14336 * 2;
    CUDA(product_open(&context));
    const char *reason = product_library_reason(context);
    printf("matrix library: %s\n", reason ? reason : "open");
    CUDA(cudaStreamCreate(&stream));
    CUDA(cudaMalloc(&pool, POOL_BYTES));
    CUDA(cudaMalloc(&input, input_bytes));
    CUDA(cudaMalloc(&output, output_bytes));
    CUDA(cudaMalloc(&scratch, std::max<size_t>(product_scratch_bytes(context, 4096), 4096)));
    CUDA(cudaMalloc(&floats, 1 << 20));
    fill<<<1056, 256, 0, stream>>>(reinterpret_cast<uint32_t *>(pool), POOL_BYTES / 4, 1);
    fill<<<1056, 256, 0, stream>>>(reinterpret_cast<uint32_t *>(input), input_bytes / 4, 2);
    fill<<<1056, 256, 0, stream>>>(reinterpret_cast<uint32_t *>(output), output_bytes / 4, 3);
    fill<<<1056, 256, 0, stream>>>(reinterpret_cast<uint32_t *>(floats), (1 << 20) / 4, 4);
    CUDA(cudaGetLastError());
    measure_ceiling();
    struct {
        const char *name;
        void (*run)();
    } parts[] = {
        {"small", bench_small}, {"layer", bench_layer}, {"large", bench_large}, {"unpack", bench_unpack}};
    bool every = true;
    for (int i = 1; i < argc; i++) {
        bool part = std::any_of(std::begin(parts), std::end(parts),
                                [&](auto &p) { return strcmp(argv[i], p.name) == 0; });
        every &= !part;
        if (!part)
            named.push_back(argv[i]);
    }
    for (auto &part : parts) {
        bool run = every;
        for (int i = 1; i < argc; i++)
            run |= strcmp(argv[i], part.name) == 0;
        if (run)
            part.run();
    }
    product_close(context);
    return 0;
}
