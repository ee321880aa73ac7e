/* Holds the products of the CUDA plug-in to plain loops in double precision, and their bytes to each other.
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: test_products [SEED [PART]]   PART: run only the cases whose name holds it */
extern "C" {
#include "tensor/dequant.h"
#include "tensor/dtype.h"
}

#include "cuda/product.h"
#include "gpu/check.cuh"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

static int count, failures;
static random_source randoms;
static const char *wanted = "";

static void check_call(int status, const char *what)
{
    if (status == cudaSuccess)
        return;
    printf("Bail out! %s: %s\n", what, cudaGetErrorString(static_cast<cudaError_t>(status)));
    exit(1);
}
#define CUDA(call) check_call(static_cast<int>(call), #call)

static void result(bool good, const std::string &name, const std::string &note)
{
    printf("%sok %d - %s: %s\n", good ? "" : "not ", ++count, name.c_str(), note.c_str());
    fflush(stdout);
    failures += !good;
}

static int64_t below(int64_t limit)
{
    return static_cast<int64_t>(randoms.next() % static_cast<uint64_t>(limit));
}

static const enum dtype all_types[] = {DT_F32,  DT_F16,  DT_BF16, DT_Q4_0, DT_Q4_1, DT_Q5_0,
                                       DT_Q5_1, DT_Q8_0, DT_Q4_K, DT_Q5_K, DT_Q6_K};

static bool is_quantised(enum dtype dtype)
{
    return dtype != DT_F32 && dtype != DT_F16 && dtype != DT_BF16;
}

// ---- device memory with poison around and in it ----
static constexpr unsigned char POISON = 0xff; // NaN in every number format
static constexpr size_t GUARD = 256;

struct device_memory {
    char *base = nullptr;
    size_t bytes;
    explicit device_memory(size_t size) : bytes(size)
    {
        CUDA(cudaMalloc(&base, bytes + 2 * GUARD));
        CUDA(cudaMemset(base, POISON, bytes + 2 * GUARD));
    }
    device_memory(const device_memory &) = delete;
    device_memory &operator=(const device_memory &) = delete;
    ~device_memory()
    {
        cudaFree(base);
    }
    char *at() const
    {
        return base + GUARD;
    }
    void put(const void *from, size_t size)
    {
        CUDA(cudaMemcpy(at(), from, size, cudaMemcpyHostToDevice));
    }
    std::vector<unsigned char> get() const
    {
        std::vector<unsigned char> to(bytes);
        CUDA(cudaMemcpy(to.data(), at(), bytes, cudaMemcpyDeviceToHost));
        return to;
    }
    bool guarded() const
    {
        std::vector<unsigned char> around(2 * GUARD);
        CUDA(cudaMemcpy(around.data(), base, GUARD, cudaMemcpyDeviceToHost));
        CUDA(cudaMemcpy(around.data() + GUARD, base + GUARD + bytes, GUARD, cudaMemcpyDeviceToHost));
        return std::all_of(around.begin(), around.end(), [](unsigned char x) { return x == POISON; });
    }
};

static size_t size_of(enum dtype dtype)
{
    return dtype == DT_F32 ? 4 : 2;
}

static float number_at(const unsigned char *from, enum dtype dtype, size_t i)
{
    if (dtype == DT_F32) {
        float x;
        memcpy(&x, from + 4 * i, 4);
        return x;
    }
    uint16_t bits;
    memcpy(&bits, from + 2 * i, 2);
    return from_bits(bits, dtype);
}

static void put_number(unsigned char *to, enum dtype dtype, size_t i, float x)
{
    if (dtype == DT_F32) {
        memcpy(to + 4 * i, &x, 4);
        return;
    }
    uint16_t bits = to_bits(x, dtype);
    memcpy(to + 2 * i, &bits, 2);
}

// ---- weights ----
struct weight {
    std::vector<float> numbers; // [n][k]
    std::vector<unsigned char> raw;
    device_memory prepared;
    product_weight on_device;
};

static void random_block(enum dtype dtype, unsigned char *block)
{
    for (int i = 0; i < dtype_info(dtype)->block_bytes; i++)
        block[i] = static_cast<unsigned char>(randoms.next());
    uint16_t d = f32_to_f16(static_cast<float>(0.002 + 0.01 * randoms.uniform()) *
                            (randoms.next() % 2 ? 1.0f : -1.0f));
    uint16_t m = f32_to_f16(static_cast<float>(0.05 * randoms.normal()));
    memcpy(dtype == DT_Q6_K ? block + 208 : block, &d, 2);
    if (dtype == DT_Q4_1 || dtype == DT_Q5_1 || dtype == DT_Q4_K || dtype == DT_Q5_K)
        memcpy(block + 2, &m, 2);
}

static weight *make_weight(enum dtype dtype, int64_t n, int64_t k)
{
    const struct dtype_info *info = dtype_info(dtype);
    size_t row_bytes = static_cast<size_t>(k / info->block_elements * info->block_bytes);
    std::vector<unsigned char> raw(row_bytes * static_cast<size_t>(n));
    for (size_t i = 0; i < raw.size() / static_cast<size_t>(info->block_bytes); i++) {
        if (is_quantised(dtype))
            random_block(dtype, raw.data() + i * static_cast<size_t>(info->block_bytes));
        else
            put_number(raw.data(), dtype, i, static_cast<float>(0.05 * randoms.normal()));
    }
    weight *made = new weight{std::vector<float>(static_cast<size_t>(n * k)),
                              raw,
                              device_memory(static_cast<size_t>(product_stride(dtype, k) * n)),
                              {}};
    for (int64_t row = 0; row < n; row++)
        dequantize_row(dtype, raw.data() + static_cast<size_t>(row) * row_bytes,
                       made->numbers.data() + row * k, k);
    device_memory file(raw.size());
    file.put(raw.data(), raw.size());
    CUDA(product_prepare(dtype, n, k, file.at(), static_cast<int64_t>(row_bytes), made->prepared.at(),
                         nullptr));
    CUDA(cudaDeviceSynchronize());
    if (!made->prepared.guarded())
        result(false, "prepare", "writes past its end");
    made->on_device = {dtype, n, k, product_stride(dtype, k), made->prepared.at()};
    return made;
}

static int64_t random_k(enum dtype dtype, bool large)
{
    static const int64_t k_of_k[] = {256, 512, 768, 2304, 4096}, k_of_32[] = {32, 96, 128, 576, 1536, 4096},
                         plain[] = {1, 7, 8, 33, 100, 333, 1024, 4096};
    if (large)
        return 14336;
    if (dtype == DT_Q4_K || dtype == DT_Q5_K || dtype == DT_Q6_K)
        return k_of_k[below(5)];
    return is_quantised(dtype) ? k_of_32[below(6)] : plain[below(8)];
}

// ---- one product of a call ----
struct out_matrix {
    int64_t rows, n, stride;
    enum dtype dtype;
    std::vector<unsigned char> before;
    device_memory memory;
};

static out_matrix *make_out(int64_t rows, int64_t n, enum dtype dtype, bool accumulate)
{
    int64_t stride = n + (below(2) ? 0 : below(40));
    size_t bytes = static_cast<size_t>(rows * stride) * size_of(dtype);
    std::vector<unsigned char> before(bytes, POISON);
    for (int64_t row = 0; accumulate && row < rows; row++)
        for (int64_t o = 0; o < n; o++)
            put_number(before.data(), dtype, static_cast<size_t>(row * stride + o),
                       static_cast<float>(randoms.normal()));
    out_matrix *out = new out_matrix{rows, n, stride, dtype, before, device_memory(bytes)};
    out->memory.put(before.data(), bytes);
    return out;
}

// What lies between the rows must be as it was.
static bool gaps_untouched(const out_matrix &out, const std::vector<unsigned char> &after)
{
    size_t size = size_of(out.dtype);
    for (int64_t row = 0; row < out.rows; row++)
        for (int64_t o = out.n; o < out.stride; o++) {
            size_t at = static_cast<size_t>(row * out.stride + o) * size;
            if (memcmp(&after[at], &out.before[at], size) != 0)
                return false;
        }
    return out.memory.guarded();
}

struct input_matrix {
    int64_t rows, k, stride;
    enum dtype dtype;
    std::vector<unsigned char> bytes;
    device_memory memory;
};

static input_matrix *make_input(int64_t rows, int64_t k, enum dtype dtype)
{
    int64_t stride = (k + 7) / 8 * 8 + 8 * below(3);
    std::vector<unsigned char> bytes(static_cast<size_t>(rows * stride) * size_of(dtype), POISON);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t i = 0; i < k; i++)
            put_number(bytes.data(), dtype, static_cast<size_t>(row * stride + i),
                       static_cast<float>(randoms.normal()));
    input_matrix *in = new input_matrix{rows, k, stride, dtype, bytes, device_memory(bytes.size())};
    in->memory.put(bytes.data(), bytes.size());
    return in;
}

struct error_of_case {
    double worst = 0.0; // of |difference| / bound: at most 1
    double norm = 0.0;  // ‖difference‖ / ‖truth‖
    std::string where;
    bool whole = true; // every number was written and is finite
};

// What a product may be wrong by, as a share of Σ|w·x|, and what its output's rounding adds as a share of
// itself.
static double bound_of(enum dtype weight, enum dtype dtype, int64_t rows)
{
    bool unpacked = weight != dtype && rows > 16;
    double product = dtype == DT_BF16 ? 4e-5 : 6e-5;
    return product + (unpacked ? dtype == DT_BF16 ? 0x1p-8 : 0x1p-11 : 0.0);
}

static double rounding_of(enum dtype out)
{
    return out == DT_BF16 ? 0x1p-8 : out == DT_F16 ? 0x1p-10 : 1e-6;
}

static error_of_case compare(const weight &w, const input_matrix &in, const std::vector<float> &bias,
                             bool accumulate, const out_matrix &out, const std::vector<unsigned char> &after,
                             enum dtype dtype)
{
    error_of_case error;
    double squares = 0.0, true_squares = 0.0;
    for (int64_t i = 0; i < out.rows * out.n; i++) {
        float x = number_at(after.data(), out.dtype, static_cast<size_t>(i / out.n * out.stride + i % out.n));
        error.whole &= std::isfinite(x) != 0;
    }
    int64_t samples = std::min<int64_t>(out.rows * out.n, 3000);
    bool every = samples == out.rows * out.n;
    for (int64_t s = 0; s < samples; s++) {
        int64_t row = every ? s / out.n : below(out.rows), o = every ? s % out.n : below(out.n);
        if (!every && s < 200) // the borders always
            row = s % 2 ? out.rows - 1 : 0, o = s % 4 < 2 ? out.n - 1 - std::min(out.n - 1, s / 4) : o;
        double truth = 0.0, size = 0.0;
        for (int64_t i = 0; i < w.on_device.k; i++) {
            double product = static_cast<double>(w.numbers[static_cast<size_t>(o * w.on_device.k + i)]) *
                             static_cast<double>(number_at(in.bytes.data(), in.dtype,
                                                           static_cast<size_t>(row * in.stride + i)));
            truth += product;
            size += std::fabs(product);
        }
        size_t at = static_cast<size_t>(row * out.stride + o);
        double rounded = 0.0; // the library's sum is rounded before the bias is added
        if (!bias.empty()) {
            rounded = std::fabs(truth);
            truth += static_cast<double>(bias[static_cast<size_t>(o)]);
        }
        if (accumulate) {
            double held = static_cast<double>(number_at(out.before.data(), out.dtype, at));
            rounded += std::fabs(held) + std::fabs(truth); // the library may round before it adds
            truth += held;
        }
        double difference = std::fabs(static_cast<double>(number_at(after.data(), out.dtype, at)) - truth);
        double most = bound_of(w.on_device.dtype, dtype, out.rows) * size +
                      rounding_of(out.dtype) * (std::fabs(truth) + rounded) + 1e-6;
        squares += difference * difference;
        true_squares += truth * truth;
        if (!(difference / most <= error.worst)) {
            error.worst = difference / most;
            error.where = "row " + std::to_string(row) + " output " + std::to_string(o);
        }
    }
    error.norm = std::sqrt(squares / std::max(true_squares, 1e-300));
    return error;
}

// ---- cases ----
static product_context *context;
static device_memory *scratch;

static product_call call_of(const input_matrix &in, enum dtype dtype)
{
    product_call call = {};
    call.dtype = dtype;
    call.in = in.memory.at();
    call.in_dtype = in.dtype;
    call.rows = in.rows;
    call.in_stride = in.stride;
    call.scratch = scratch->at();
    call.scratch_bytes = scratch->bytes;
    return call;
}

static std::string words(const error_of_case &error)
{
    char text[200];
    snprintf(text, sizeof text, "error %.3g of the bound, norm %.2e, worst at %s%s", error.worst, error.norm,
             error.where.c_str(), error.whole ? "" : "; NOT ALL WRITTEN");
    return text;
}

struct bias_vector {
    std::vector<float> host;
    device_memory memory;
    explicit bias_vector(int64_t n) : host(static_cast<size_t>(n)), memory(static_cast<size_t>(n) * 4)
    {
        for (float &x : host)
            x = static_cast<float>(randoms.normal());
        memory.put(host.data(), host.size() * 4);
    }
};

// Rows that the fused kernels take keep their bytes when they are alone.
static bool same_alone(const product_call &call, const input_matrix &in, const out_matrix &out,
                       const std::vector<unsigned char> &after)
{
    for (int trial = 0; trial < 3; trial++) {
        int64_t row = trial == 0 ? in.rows - 1 : below(in.rows);
        out_matrix *alone = make_out(1, out.n, out.dtype, false);
        size_t row_bytes = static_cast<size_t>(out.n) * size_of(out.dtype);
        const unsigned char *before =
            out.before.data() + static_cast<size_t>(row * out.stride) * size_of(out.dtype);
        CUDA(cudaMemcpy(alone->memory.at(), before, row_bytes, cudaMemcpyHostToDevice));
        product_call one = call;
        one.in = in.memory.at() + static_cast<size_t>(row * in.stride) * size_of(in.dtype);
        one.rows = 1;
        one.count = 1;
        one.outputs[0].out = alone->memory.at();
        one.outputs[0].out_stride = alone->stride;
        CUDA(product_run(context, &one, nullptr));
        CUDA(cudaDeviceSynchronize());
        std::vector<unsigned char> bytes = alone->memory.get();
        bool same =
            memcmp(bytes.data(), after.data() + static_cast<size_t>(row * out.stride) * size_of(out.dtype),
                   row_bytes) == 0;
        delete alone;
        if (!same)
            return false;
    }
    return true;
}

static void product_case(enum dtype type, enum dtype dtype, int64_t rows, int64_t n, int64_t k)
{
    bool with_bias = below(2), accumulate = below(2);
    enum dtype out_dtype = below(2) ? DT_F32 : dtype;
    char name[200];
    snprintf(name, sizeof name, "%s, %s, %lld rows, %lld x %lld%s%s, %s out", dtype_info(type)->name,
             dtype_info(dtype)->name, static_cast<long long>(rows), static_cast<long long>(n),
             static_cast<long long>(k), with_bias ? ", bias" : "", accumulate ? ", accumulated" : "",
             dtype_info(out_dtype)->name);
    if (!strstr(name, wanted))
        return;
    weight *w = make_weight(type, n, k);
    input_matrix *in = make_input(rows, k, dtype);
    out_matrix *out = make_out(rows, n, out_dtype, accumulate);
    bias_vector bias(n);
    product_call call = call_of(*in, dtype);
    call.count = 1;
    call.outputs[0] = {
        w->on_device,     with_bias ? reinterpret_cast<const float *>(bias.memory.at()) : nullptr,
        out->memory.at(), out_dtype,
        out->stride,      accumulate};
    CUDA(product_run(context, &call, nullptr));
    CUDA(cudaDeviceSynchronize());
    std::vector<unsigned char> after = out->memory.get();
    error_of_case error =
        compare(*w, *in, with_bias ? bias.host : std::vector<float>(), accumulate, *out, after, dtype);
    bool good = error.whole && error.worst <= 1.0, gaps = gaps_untouched(*out, after), same = true;
    if (rows <= PRODUCT_FUSED_ROWS)
        same = same_alone(call, *in, *out, after);
    result(good && gaps && same, name,
           words(error) + (gaps ? "" : "; WRITES BESIDE ITS OUTPUT") +
               (same ? "" : "; DIFFERS FROM THE ROW ALONE"));
    delete w;
    delete in;
    delete out;
}

static void product_cases()
{
    static const int64_t rows[] = {1,  1,  2,  3,  5,  7,  8,   9,   13,  15,
                                   16, 17, 31, 33, 64, 65, 100, 128, 257, 300};
    static const int64_t ns[] = {1, 15, 16, 17, 48, 133, 500, 1000};
    for (enum dtype type : all_types)
        for (enum dtype dtype : {DT_BF16, DT_F16})
            for (int64_t r : rows)
                product_case(type, dtype, r, ns[below(8)], random_k(type, r < 3 && below(3) == 0));
    for (enum dtype type : {DT_Q4_K, DT_Q8_0, DT_BF16}) // more tiles than blocks
        product_case(type, DT_BF16, 1 + below(16), 14336, 512);
}

// Several weights of mixed types and one input, in one call.
static void mixed_case(const enum dtype types[4], int64_t rows)
{
    std::string name = "four weights of mixed types";
    for (int i = 0; i < 4; i++)
        name += std::string(i ? ", " : " (") + dtype_info(types[i])->name;
    name += "), " + std::to_string(rows) + " rows";
    if (name.find(wanted) == std::string::npos)
        return;
    int64_t k = 256 * (1 + below(17));
    input_matrix *in = make_input(rows, k, DT_BF16);
    product_call call = call_of(*in, DT_BF16);
    call.count = 4;
    weight *w[4];
    out_matrix *out[4];
    for (int i = 0; i < 4; i++) {
        int64_t n = 1 + below(700);
        w[i] = make_weight(types[i], n, k);
        out[i] = make_out(rows, n, DT_BF16, false);
        call.outputs[i] = {w[i]->on_device, nullptr, out[i]->memory.at(), DT_BF16, out[i]->stride, false};
    }
    CUDA(product_run(context, &call, nullptr));
    CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < 4; i++) {
        std::vector<unsigned char> after = out[i]->memory.get();
        error_of_case error = compare(*w[i], *in, {}, false, *out[i], after, DT_BF16);
        product_call only = call; // alone, a weight must give the same bytes
        only.outputs[0] = call.outputs[i];
        bool same = rows > PRODUCT_FUSED_ROWS || same_alone(only, *in, *out[i], after);
        result(error.whole && error.worst <= 1.0 && same && gaps_untouched(*out[i], after), name,
               words(error) + (same ? "" : "; DIFFERS FROM THE ROW ALONE"));
        delete w[i];
        delete out[i];
    }
    delete in;
}

// ---- norms and gates ----
static std::vector<double> normed(const input_matrix &in, enum product_norm norm,
                                  const std::vector<float> &weight, const std::vector<float> &bias,
                                  double eps)
{
    std::vector<double> x(static_cast<size_t>(in.k));
    double mean = 0.0, square = 0.0;
    for (size_t i = 0; i < x.size(); i++)
        mean += x[i] = static_cast<double>(number_at(in.bytes.data(), in.dtype, i));
    mean = norm == PRODUCT_NORM_LAYER ? mean / static_cast<double>(in.k) : 0.0;
    for (double v : x)
        square += (v - mean) * (v - mean);
    double factor = 1.0 / std::sqrt(square / static_cast<double>(in.k) + eps);
    for (size_t i = 0; i < x.size(); i++)
        x[i] = (x[i] - mean) * factor * static_cast<double>(weight[i]) +
               (bias.empty() ? 0.0 : static_cast<double>(bias[i]));
    return x;
}

static double activation(enum product_gate gate, double x)
{
    if (gate == PRODUCT_GATE_SILU)
        return x / (1.0 + std::exp(-x));
    if (gate == PRODUCT_GATE_GELU_TANH)
        return 0.5 * x * (1.0 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    return 0.5 * x * std::erfc(-x * 0.7071067811865476);
}

// One row: normed, multiplied by two weights, gated. The norm's result is rounded once to dtype, which is
// most of the error.
static void layer_case(enum dtype type, enum dtype dtype, enum product_norm norm, enum product_gate gate,
                       int64_t k)
{
    static const char *const norms[] = {"no norm", "RMS norm", "layer norm"};
    static const char *const gates[] = {"no gate", "SiLU", "GELU (tanh)", "GELU (erf)"};
    char name[200];
    enum dtype in_dtype = norm != PRODUCT_NORM_NONE && below(2) ? DT_F32 : dtype;
    snprintf(name, sizeof name, "%s, %s from %s, %s and %s, %lld columns", dtype_info(type)->name,
             dtype_info(dtype)->name, dtype_info(in_dtype)->name, norms[norm], gates[gate],
             static_cast<long long>(k));
    if (!strstr(name, wanted))
        return;
    int64_t n = 1 + below(900);
    input_matrix *in = make_input(1, k, in_dtype);
    weight *w[2] = {make_weight(type, n, k), make_weight(type, n, k)};
    out_matrix *out[2] = {make_out(1, n, DT_F32, false), make_out(1, n, DT_F32, false)};
    bias_vector norm_weight(k), norm_bias(k), bias(n);
    bool biased = below(2);
    product_call call = call_of(*in, dtype);
    call.count = 2;
    call.norm = norm;
    call.norm_eps = 1e-5f;
    call.norm_weight = reinterpret_cast<const float *>(norm_weight.memory.at());
    call.norm_bias = biased ? reinterpret_cast<const float *>(norm_bias.memory.at()) : nullptr;
    call.gate = gate;
    for (int i = 0; i < 2; i++)
        call.outputs[i] = {
            w[i]->on_device,     biased ? reinterpret_cast<const float *>(bias.memory.at()) : nullptr,
            out[i]->memory.at(), DT_F32,
            out[i]->stride,      false};
    if (gate != PRODUCT_GATE_NONE)
        call.outputs[0].out = nullptr;
    bool fuses = product_fuses(context, &call);
    CUDA(product_run(context, &call, nullptr));
    CUDA(cudaDeviceSynchronize());
    std::vector<double> x =
        normed(*in, norm, norm_weight.host, biased ? norm_bias.host : std::vector<float>(), 1e-5f);
    for (size_t i = 0; norm == PRODUCT_NORM_NONE && i < x.size(); i++)
        x[i] = static_cast<double>(number_at(in->bytes.data(), in->dtype, i));
    double squares = 0.0, true_squares = 0.0;
    std::vector<unsigned char> after[2] = {out[0]->memory.get(), out[1]->memory.get()};
    for (int64_t o = 0; o < n; o++) {
        double sums[2];
        for (int i = 0; i < 2; i++) {
            sums[i] = biased ? static_cast<double>(bias.host[static_cast<size_t>(o)]) : 0.0;
            for (int64_t c = 0; c < k; c++)
                sums[i] += x[static_cast<size_t>(c)] *
                           static_cast<double>(w[i]->numbers[static_cast<size_t>(o * k + c)]);
        }
        double truth = gate == PRODUCT_GATE_NONE ? sums[1] : activation(gate, sums[0]) * sums[1];
        double got = static_cast<double>(number_at(after[1].data(), DT_F32, static_cast<size_t>(o)));
        squares += (got - truth) * (got - truth);
        true_squares += truth * truth;
        if (gate == PRODUCT_GATE_NONE) {
            got = static_cast<double>(number_at(after[0].data(), DT_F32, static_cast<size_t>(o)));
            squares += (got - sums[0]) * (got - sums[0]);
            true_squares += sums[0] * sums[0];
        }
    }
    double norm_error =
        squares == 0.0 ? 0.0 : std::sqrt(squares / true_squares); // a shut gate: nothing at all
    double most = norm == PRODUCT_NORM_NONE ? 1e-4 : dtype == DT_BF16 ? 6e-3 : k < 256 ? 2e-3 : 1e-3;
    bool gaps = gaps_untouched(*out[0], after[0]) && gaps_untouched(*out[1], after[1]);
    char note[120];
    snprintf(note, sizeof note, "norm %.2e of %.0e%s%s", norm_error, most, fuses ? "" : "; NOT FUSED",
             gaps ? "" : "; WRITES BESIDE ITS OUTPUT");
    result(norm_error <= most && fuses && gaps, name, note);
    for (int i = 0; i < 2; i++) {
        delete w[i];
        delete out[i];
    }
    delete in;
}

static void layer_cases()
{
    for (enum dtype type : all_types)
        for (enum dtype dtype : {DT_BF16, DT_F16}) {
            layer_case(type, dtype, PRODUCT_NORM_RMS, static_cast<enum product_gate>(below(4)),
                       random_k(type, false));
            layer_case(type, dtype, PRODUCT_NORM_LAYER, static_cast<enum product_gate>(below(4)),
                       random_k(type, false));
            layer_case(type, dtype, PRODUCT_NORM_NONE, static_cast<enum product_gate>(1 + below(3)),
                       random_k(type, false));
        }
}

// ---- unpacking ----
static void unpack_case(enum dtype type, enum dtype out_dtype)
{
    std::string name = std::string("unpack ") + dtype_info(type)->name + " to " + dtype_info(out_dtype)->name;
    if (name.find(wanted) == std::string::npos)
        return;
    int64_t n = 1 + below(200), k = random_k(type, false), listed = 1 + below(40);
    weight *w = make_weight(type, n, k);
    float scale = below(2) ? 1.0f : 5.5f;
    std::vector<int32_t> rows;
    for (int64_t i = 0; i < listed; i++)
        rows.push_back(static_cast<int32_t>(below(n)));
    device_memory row_numbers(rows.size() * 4);
    row_numbers.put(rows.data(), rows.size() * 4);
    bool by_list = below(2);
    int64_t first = below(n), many = by_list ? listed : n - first;
    out_matrix *out = make_out(many, k, out_dtype, false);
    CUDA(product_unpack(&w->on_device,
                        by_list ? reinterpret_cast<const int32_t *>(row_numbers.at()) : nullptr, first, many,
                        scale, out->memory.at(), out_dtype, out->stride, nullptr));
    CUDA(cudaDeviceSynchronize());
    std::vector<unsigned char> after = out->memory.get();
    double worst = 0.0;
    bool whole = true;
    for (int64_t i = 0; i < many; i++)
        for (int64_t c = 0; c < k; c++) {
            int64_t row = by_list ? rows[static_cast<size_t>(i)] : first + i;
            double truth = static_cast<double>(w->numbers[static_cast<size_t>(row * k + c)]) *
                           static_cast<double>(scale);
            double got = static_cast<double>(
                number_at(after.data(), out_dtype, static_cast<size_t>(i * out->stride + c)));
            whole &= std::isfinite(got) != 0;
            worst =
                std::max(worst, std::fabs(got - truth) / (rounding_of(out_dtype) * std::fabs(truth) + 1e-6));
        }
    bool gaps = gaps_untouched(*out, after);
    char note[100];
    snprintf(note, sizeof note, "error %.3g of the bound%s", worst, whole && gaps ? "" : "; NOT WHOLE");
    result(whole && gaps && worst <= 1.0, name, note);
    delete w;
    delete out;
}

// ---- overlap and graphs ----
// A chain of products that read each other's outputs must not depend on whether each waits for the one
// before.
static void chain_case(enum dtype type)
{
    std::string name = std::string("a chain of products, ") + dtype_info(type)->name;
    if (name.find(wanted) == std::string::npos)
        return;
    int64_t k = 2048;
    weight *w[2] = {make_weight(type, k, k), make_weight(type, k, k)};
    input_matrix *in = make_input(1, k, DT_BF16);
    bias_vector gain(k);
    device_memory residual(static_cast<size_t>(k) * 4), inner(static_cast<size_t>(k) * 2);
    std::vector<float> start(static_cast<size_t>(k));
    for (float &x : start)
        x = static_cast<float>(randoms.normal());
    cudaStream_t stream;
    CUDA(cudaStreamCreate(&stream));
    auto step = [&](bool wait) {
        for (int i = 0; i < 12; i++) {
            product_call up = call_of(*in, DT_BF16), down = call_of(*in, DT_BF16);
            up.in = residual.at(), up.in_dtype = DT_F32, up.in_stride = k, up.count = 1;
            up.norm = PRODUCT_NORM_RMS, up.norm_eps = 1e-5f;
            up.norm_weight = reinterpret_cast<const float *>(gain.memory.at());
            up.outputs[0] = {w[0]->on_device, nullptr, inner.at(), DT_BF16, k, false};
            down.in = inner.at(), down.in_stride = k, down.count = 1;
            down.outputs[0] = {w[1]->on_device, nullptr, residual.at(), DT_F32, k, true};
            for (const product_call *call : {&up, &down}) {
                CUDA(product_run(context, call, stream));
                if (wait)
                    CUDA(cudaStreamSynchronize(stream));
            }
        }
    };
    auto begin = [&] {
        CUDA(cudaStreamSynchronize(stream));
        residual.put(start.data(), start.size() * 4);
    };
    begin();
    step(true);
    std::vector<unsigned char> truth = residual.get();
    bool finite = std::isfinite(number_at(truth.data(), DT_F32, 5)) != 0, same = true;
    for (int trial = 0; trial < 20 && same; trial++) {
        begin();
        step(false);
        CUDA(cudaStreamSynchronize(stream));
        same = residual.get() == truth;
    }
    result(finite && same, name, same ? "overlapping changes nothing" : "OVERLAPPING CHANGES THE RESULT");
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    step(false);
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&ready, graph, 0));
    for (int trial = 0; trial < 20 && same; trial++) {
        begin();
        CUDA(cudaGraphLaunch(ready, stream));
        CUDA(cudaStreamSynchronize(stream));
        same = residual.get() == truth;
    }
    result(same, name, same ? "a graph changes nothing" : "A GRAPH CHANGES THE RESULT");
    CUDA(cudaGraphExecDestroy(ready));
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaStreamDestroy(stream));
    delete w[0];
    delete w[1];
    delete in;
}

// Calls that break the contract are refused and touch nothing.
static void refusals()
{
    weight *w = make_weight(DT_Q8_0, 64, 64);
    input_matrix *in = make_input(3, 64, DT_BF16);
    out_matrix *out = make_out(3, 64, DT_BF16, false);
    product_call good = call_of(*in, DT_BF16);
    good.count = 1;
    good.outputs[0] = {w->on_device, nullptr, out->memory.at(), DT_BF16, out->stride, false};
    std::vector<product_call> bad(9, good);
    bad[0].in = static_cast<const char *>(good.in) + 2;
    bad[1].in_stride += 1;
    bad[2].outputs[0].weight.stride += 16;
    bad[3].outputs[0].dtype = DT_F16;
    bad[4].norm = PRODUCT_NORM_RMS;
    bad[5].gate = PRODUCT_GATE_SILU;
    bad[6].in_dtype = DT_F32;
    bad[7].count = 5;
    bad[8].rows = 0;
    int refused = 0;
    for (const product_call &call : bad)
        refused += product_run(context, &call, nullptr) == cudaErrorInvalidValue;
    CUDA(cudaDeviceSynchronize());
    result(refused == 9 && out->memory.get() == out->before, "bad calls are refused",
           std::to_string(refused) + " of 9");
    result(product_stride(DT_Q4_K, 100) == 0 && product_stride(DT_Q8_0, 33) == 0 &&
               product_stride(DT_COUNT, 32) == 0,
           "rows that are no whole blocks have no stride", "");
    delete w;
    delete in;
    delete out;
}

int main(int argc, char **argv)
{
    randoms.state = argc > 1 ? strtoull(argv[1], nullptr, 10) : static_cast<uint64_t>(time(nullptr));
    wanted = argc > 2 ? argv[2] : "";
    printf("# seed %llu\n", static_cast<unsigned long long>(randoms.state));
    CUDA(product_open(&context));
    const char *reason = product_library_reason(context);
    printf("# matrix library: %s\n", reason ? reason : "open");
    scratch = new device_memory(std::max<size_t>(product_scratch_bytes(context, 4096), 16));
    refusals();
    for (enum dtype type : all_types)
        for (enum dtype out : {DT_F32, DT_F16, DT_BF16})
            unpack_case(type, out);
    product_cases();
    static const enum dtype mixes[][4] = {{DT_Q4_K, DT_Q6_K, DT_Q4_K, DT_Q8_0},
                                          {DT_Q4_K, DT_Q4_K, DT_Q6_K, DT_Q6_K},
                                          {DT_Q6_K, DT_Q5_K, DT_Q5_K, DT_Q5_K}};
    for (auto &mix : mixes)
        for (int64_t rows : {1, 6, 16, 70})
            mixed_case(mix, rows);
    layer_cases();
    for (enum dtype type : {DT_Q4_K, DT_Q6_K, DT_Q8_0, DT_BF16})
        chain_case(type);
    if (!scratch->guarded())
        result(false, "scratch", "written past its end");
    delete scratch;
    product_close(context);
    printf("1..%d\n", count);
    return failures != 0 || count == 0;
}
