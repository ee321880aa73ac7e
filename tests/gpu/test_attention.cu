/* Compares the attention and cache kernels with plain double-precision loops on fresh random inputs.
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: test_attention [SEED [WORDS…]]     TAP on stdout; only cases whose name holds all the words. */
#include "gpu/check.cuh"

#include "cuda/place.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#define CUDA_CHECK(call)                                                                                     \
    do {                                                                                                     \
        int error_ = (call);                                                                                 \
        if (error_ != 0) {                                                                                   \
            printf("Bail out! %s: %s\n", #call, cudaGetErrorString(static_cast<cudaError_t>(error_)));       \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

namespace
{

constexpr int GUARD_ROWS = 5; // behind the outputs; must stay poisoned

template <typename X> struct device_array {
    X *data = nullptr;
    size_t count;

    explicit device_array(size_t count) : count(count)
    {
        CUDA_CHECK(cudaMalloc(&data, std::max<size_t>(count, 1) * sizeof(X)));
    }
    device_array(const std::vector<X> &from) : device_array(from.size())
    {
        CUDA_CHECK(cudaMemcpy(data, from.data(), count * sizeof(X), cudaMemcpyHostToDevice));
    }
    device_array(const device_array &) = delete;
    ~device_array()
    {
        cudaFree(data);
    }
    void poison()
    {
        CUDA_CHECK(cudaMemset(data, 0xff, count * sizeof(X)));
    }
    std::vector<X> host() const
    {
        std::vector<X> to(count);
        CUDA_CHECK(cudaMemcpy(to.data(), data, count * sizeof(X), cudaMemcpyDeviceToHost));
        return to;
    }
};

std::vector<uint16_t> bits_of(const std::vector<float> &numbers, dtype dtype)
{
    std::vector<uint16_t> bits;
    for (float x : numbers)
        bits.push_back(to_bits(x, dtype));
    return bits;
}

// The device's side of a case.
struct fixture {
    const test_case &test;
    const test_data &data;
    device_array<uint16_t> q, out, k, v;
    device_array<float> norms, slopes;
    device_array<int32_t> pages;
    device_array<attention_sequence> sequences;

    fixture(const test_case &test, const test_data &data)
        : test(test), data(data), q(bits_of(data.q, test.dtype)),
          out(static_cast<size_t>((data.rows + GUARD_ROWS) * test.heads * test.head_dim)), k(pool_numbers()),
          v(pool_numbers()), norms(static_cast<size_t>(data.page_count * test.kv_heads)), slopes(data.slopes),
          pages(data.pages), sequences(data.sequences)
    {
        k.poison();
        v.poison();
        norms.poison();
        fill_cache();
    }

    // Of 16 bits: a packed page takes 34 bytes for 32 numbers.
    size_t pool_numbers() const
    {
        int64_t numbers = data.page_count * test.kv_heads * PAGE_KEYS * test.head_dim;
        return static_cast<size_t>(test.packed ? numbers / 32 * 17 : numbers);
    }

    dtype cache_type() const
    {
        return test.packed ? DT_Q8_0 : test.dtype;
    }

    // Every sequence's keys in two steps, as an engine does: what was there, then the new rows.
    void fill_cache()
    {
        device_array<float> k_rows(data.k), v_rows(data.v);
        std::vector<int32_t> table = data.pages;
        for (int32_t &page : table) // a dropped page held keys once; where does not matter
            page = page < 0 ? spare_page() : page;
        device_array<int32_t> all_pages(table);
        for (int step = 0; step < 2; step++) {
            std::vector<attention_sequence> part = data.sequences;
            int most = 0;
            for (size_t i = 0; i < part.size(); i++) {
                part[i].first_row = static_cast<int32_t>(data.first_key[i]) + (step == 0 ? 0 : part[i].start);
                int rows = step == 0 ? part[i].start : part[i].rows;
                part[i].start = step == 0 ? 0 : part[i].start;
                part[i].rows = rows;
                most = std::max(most, rows);
            }
            device_array<attention_sequence> where(part);
            int64_t stride = static_cast<int64_t>(test.kv_heads) * test.head_dim;
            place_call call = {};
            call.in_type = DT_F32;
            call.cache_type = cache_type();
            call.kv_heads = test.kv_heads;
            call.head_dim = test.head_dim;
            call.k = k_rows.data;
            call.v = v_rows.data;
            call.k_stride = call.v_stride = stride;
            call.k_pages = k.data;
            call.v_pages = v.data;
            call.k_norms = norms.data;
            call.pages = all_pages.data;
            call.sequences = where.data;
            call.sequence_count = static_cast<int>(part.size());
            call.max_rows = most;
            CUDA_CHECK(place(&call, nullptr));
            CUDA_CHECK(cudaDeviceSynchronize());
        }
    }

    int32_t spare_page() const
    {
        std::vector<bool> used(static_cast<size_t>(data.page_count), false);
        for (int32_t page : data.pages)
            if (page >= 0)
                used[static_cast<size_t>(page)] = true;
        return static_cast<int32_t>(std::find(used.begin(), used.end(), false) - used.begin());
    }

    attention_call call() const
    {
        attention_call c;
        memset(&c, 0, sizeof c);
        c.dtype = c.out_type = test.dtype;
        c.cache_type = cache_type();
        c.heads = test.heads;
        c.kv_heads = test.kv_heads;
        c.head_dim = test.head_dim;
        c.scale = static_cast<float>(1.0 / std::sqrt(test.head_dim));
        c.softcap = test.softcap;
        c.window = test.window;
        c.sinks = test.sinks;
        c.slopes = test.alibi ? slopes.data : nullptr;
        c.reach = test.reach;
        c.q = q.data;
        c.out = out.data;
        c.rows = data.rows;
        c.q_stride = c.out_stride = static_cast<int64_t>(test.heads) * test.head_dim;
        c.k = k.data;
        c.v = v.data;
        c.k_norms = norms.data;
        c.pages = pages.data;
        c.sequences = sequences.data;
        return c;
    }
};

// Runs prefill and decode as planned; the outputs as numbers, guard rows included.
std::vector<float> run(fixture &fixture, float reach, attention_kernel kernel, int decode_blocks)
{
    const test_case &test = fixture.test;
    const test_data &data = fixture.data;
    attention_call call = fixture.call();
    call.reach = reach;
    call.tile_rows = attention_tile_rows(&call, kernel);
    attention_shape shape = {test.heads,
                             test.kv_heads,
                             call.tile_rows,
                             decode_blocks,
                             attention_decode_rows(call.cache_type),
                             attention_spread(attention_decode_blocks(), test.kv_heads)};
    int count = static_cast<int>(data.sequences.size());
    attention_counts counts = attention_plan_count(data.sequences.data(), count, &shape);
    std::vector<attention_tile> tiles(static_cast<size_t>(counts.tiles));
    std::vector<attention_part> parts(static_cast<size_t>(counts.parts));
    attention_plan_fill(data.sequences.data(), count, &shape, tiles.data(), parts.data());
    device_array<attention_tile> device_tiles(tiles);
    device_array<attention_part> device_parts(parts);
    size_t slots = static_cast<size_t>(counts.slots * test.kv_heads);
    device_array<float> partial(slots * static_cast<size_t>(attention_slot_floats(test.head_dim)));
    device_array<int32_t> tickets(slots + ATTENTION_TICKETS);
    partial.poison();
    CUDA_CHECK(cudaMemset(tickets.data, 0, tickets.count * sizeof(int32_t)));
    call.tiles = device_tiles.data;
    call.tile_count = counts.tiles;
    call.heads_together = attention_heads_together(test.heads, test.kv_heads, test.head_dim, 4096);
    call.parts = device_parts.data;
    call.part_count = counts.parts;
    call.partial = partial.data;
    call.tickets = tickets.data;
    fixture.out.poison();
    CUDA_CHECK(attention_prefill(&call, kernel, nullptr));
    CUDA_CHECK(attention_decode(&call, nullptr));
    CUDA_CHECK(cudaDeviceSynchronize());
    for (int32_t ticket : tickets.host())
        if (ticket != 0)
            printf("# a ticket was left at %d\n", ticket);
    std::vector<float> numbers;
    for (uint16_t bits : fixture.out.host())
        numbers.push_back(from_bits(bits, test.dtype));
    return numbers;
}

struct difference {
    double relative, worst; // ‖out - truth‖ / ‖truth‖; worst row of the same
    bool guard;             // nothing was written behind the last row
};

struct sample {
    int sequence, row, head;
};

std::vector<sample> choose_samples(const test_case &test, const test_data &data, random_source &random)
{
    std::vector<sample> samples;
    for (size_t s = 0; s < data.sequences.size(); s++) {
        int rows = data.sequences[s].rows;
        if (rows == 0)
            continue;
        for (int h = 0; h < test.heads; h++)
            for (int row : {0, rows - 1})
                samples.push_back({static_cast<int>(s), row, h});
        for (int i = 0; i < 160; i++)
            samples.push_back({static_cast<int>(s),
                               static_cast<int>(random.next() % static_cast<uint64_t>(rows)),
                               static_cast<int>(random.next() % static_cast<uint64_t>(test.heads))});
    }
    return samples;
}

difference compare(const test_case &test, const test_data &data, const std::vector<float> &out,
                   const std::vector<sample> &samples)
{
    std::vector<double> errors(samples.size()), sizes(samples.size());
    auto check = [&](size_t from, size_t step) {
        for (size_t i = from; i < samples.size(); i += step) {
            const sample &s = samples[i];
            std::vector<double> truth = true_attention(test, data, s.sequence, s.row, s.head);
            size_t row =
                static_cast<size_t>(data.sequences[static_cast<size_t>(s.sequence)].first_row + s.row);
            const float *mine =
                &out[(row * static_cast<size_t>(test.heads) + static_cast<size_t>(s.head)) * truth.size()];
            for (size_t d = 0; d < truth.size(); d++) {
                errors[i] += (mine[d] - truth[d]) * (mine[d] - truth[d]);
                sizes[i] += truth[d] * truth[d];
            }
        }
    };
    size_t workers = std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < workers; i++)
        threads.emplace_back(check, i, workers);
    for (std::thread &thread : threads)
        thread.join();
    difference difference = {0.0, 0.0, true};
    double error = 0.0, size = 0.0;
    for (size_t i = 0; i < samples.size(); i++) {
        error += errors[i];
        size += sizes[i];
        double row = std::sqrt(errors[i] / sizes[i]);
        difference.worst = row <= difference.worst ? difference.worst : row; // keeps a NaN
    }
    difference.relative = std::sqrt(error / size);
    for (size_t i = out.size() - static_cast<size_t>(GUARD_ROWS * test.heads * test.head_dim); i < out.size();
         i++)
        difference.guard = difference.guard && std::isnan(out[i]);
    return difference;
}

// Every row in the step must have been written, whether it is sampled or not.
bool all_written(const test_case &test, const test_data &data, const std::vector<float> &out)
{
    size_t count = static_cast<size_t>(data.rows * test.heads * test.head_dim);
    return std::none_of(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(count),
                        [](float x) { return std::isnan(x); });
}

// Largest difference in units in the last place of the row's largest number.
double difference_in_ulps(const test_case &test, const test_data &data, const std::vector<float> &a,
                          const std::vector<float> &b)
{
    double ulps = 0.0, precision = test.dtype == DT_BF16 ? 0x1p-7 : 0x1p-10;
    size_t dim = static_cast<size_t>(test.head_dim);
    for (size_t row = 0; row < static_cast<size_t>(data.rows * test.heads); row++) {
        double largest = 0.0, apart = 0.0;
        for (size_t d = 0; d < dim; d++) {
            largest = std::max(largest, std::fabs(static_cast<double>(a[row * dim + d])));
            apart = std::max(apart, std::fabs(static_cast<double>(a[row * dim + d]) -
                                              static_cast<double>(b[row * dim + d])));
        }
        if (largest > 0.0)
            ulps = std::max(ulps, apart / (std::exp2(std::floor(std::log2(largest))) * precision));
    }
    return ulps;
}

bool norms_hold(const test_case &test, const test_data &data, const std::vector<float> &norms)
{
    for (size_t s = 0; s < data.sequences.size(); s++)
        for (int h = 0; h < test.kv_heads; h++) {
            double most = 0.0;
            int keys = data.sequences[s].start + data.sequences[s].rows;
            for (int key = 0; key < keys; key++) {
                int page = data.pages[static_cast<size_t>(data.sequences[s].first_page + key / PAGE_KEYS)];
                if (page < 0)
                    continue;
                const float *k = &data.k[static_cast<size_t>(((data.first_key[s] + key) * test.kv_heads + h) *
                                                             test.head_dim)];
                double sum = 0.0;
                for (int d = 0; d < test.head_dim; d++)
                    sum += static_cast<double>(k[d]) * static_cast<double>(k[d]);
                most = std::max(most, std::sqrt(sum));
                if ((key % PAGE_KEYS != PAGE_KEYS - 1 && key != keys - 1))
                    continue;
                double kept = norms[static_cast<size_t>(page * test.kv_heads + h)];
                if (!(kept >= most && (test.holes || kept <= most * (1.0 + 1e-4))))
                    return false;
            }
        }
    return true;
}

double bound_of(dtype dtype)
{
    return dtype == DT_BF16 ? 6e-3 : 9e-4;
}

bool same_bits(const std::vector<float> &a, const std::vector<float> &b)
{
    return a.size() == b.size() && memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

bool check_case(const test_case &test, uint64_t seed)
{
    random_source random = {seed};
    test_data data = make_data(test, random);
    fixture fixture(test, data);
    std::vector<float> out = run(fixture, test.reach, test.kernel, attention_decode_blocks());
    std::vector<sample> samples = choose_samples(test, data, random);
    difference difference = compare(test, data, out, samples);
    bool written = all_written(test, data, out), norms = norms_hold(test, data, fixture.norms.host());
    // However the granules are dealt to blocks, the bytes are the same.
    bool again = same_bits(out, run(fixture, test.reach, test.kernel, 7));
    bool right = difference.relative <= bound_of(test.dtype) &&
                 difference.worst <= 4 * bound_of(test.dtype) && difference.guard && written && norms &&
                 again;
    printf("# %s: error %.2e, worst row %.2e over %zu rows%s%s%s%s\n", test.name, difference.relative,
           difference.worst, samples.size(), difference.guard ? "" : ", WROTE BEHIND THE END",
           written ? "" : ", LEFT ROWS UNWRITTEN", norms ? "" : ", NORMS ARE WRONG",
           again ? "" : ", A SECOND RUN DIFFERS");
    if (test.reach > 0.0f) {
        double ulps = difference_in_ulps(test, data, out, run(fixture, 0.0f, test.kernel, 64));
        printf("#   with and without skipping differ by at most %.2f ulp of a row's largest number\n", ulps);
        right = right && ulps <= 1.0;
    }
    return right;
}

std::vector<test_case> cases()
{
    const float eps = 0x1p-24f;
    std::vector<test_case> all;
    for (attention_kernel kernel : {ATTENTION_MMA, ATTENTION_HOPPER}) {
        bool hopper = kernel == ATTENTION_HOPPER;
        auto name = [&](const char *text) {
            return strdup((std::string(text) + (hopper ? " (hopper)" : " (mma)")).c_str());
        };
        for (int dim : hopper ? std::vector<int>{64, 128} : std::vector<int>{64, 80, 96, 112, 128, 256})
            for (dtype dtype : {DT_BF16, DT_F16}) {
                std::string size = "head size " + std::to_string(dim) + (dtype == DT_BF16 ? " bf16" : " f16");
                all.push_back({name((size + " causal, ragged").c_str()),
                               dtype,
                               dim,
                               4,
                               2,
                               {{0, 517}, {0, 1}, {130, 77}, {0, 0}, {1021, 3}, {64, 300}},
                               false,
                               0,
                               0,
                               0,
                               0,
                               DATA_NORMAL,
                               false,
                               kernel});
                all.push_back({name((size + " ALiBi, no skipping").c_str()),
                               dtype,
                               dim,
                               6,
                               3,
                               {{0, 700}, {900, 130}, {777, 1}},
                               true,
                               0,
                               0,
                               0,
                               0,
                               DATA_NORMAL,
                               false,
                               kernel});
                all.push_back({name((size + " ALiBi, skipping").c_str()),
                               dtype,
                               dim,
                               8,
                               4,
                               {{0, 1500}, {2900, 130}, {3777, 2}},
                               true,
                               eps,
                               0,
                               0,
                               0,
                               DATA_SMALL,
                               false,
                               kernel});
            }
        for (int dim : {64, 96, 128, 256}) {
            if (hopper) // decode alone
                break;
            std::string size = "Q8_0 keys, head size " + std::to_string(dim);
            all.push_back({name((size + ", ragged").c_str()),
                           DT_F16,
                           dim,
                           4,
                           2,
                           {{3777, 1}, {130, 3}, {0, 1}, {1021, 2}, {64, 30}, {0, 0}},
                           false,
                           0,
                           0,
                           0,
                           0,
                           DATA_NORMAL,
                           false,
                           kernel,
                           true});
            all.push_back({name((size + ", ALiBi, skipping").c_str()),
                           DT_F16,
                           dim,
                           16,
                           2,
                           {{3777, 1}, {2900, 2}, {12000, 1}},
                           true,
                           eps,
                           0,
                           0,
                           0,
                           DATA_SMALL,
                           false,
                           kernel,
                           true});
            all.push_back({name((size + ", a window, sinks and dropped pages").c_str()),
                           DT_F16,
                           dim,
                           40,
                           1,
                           {{3000, 1}, {1200, 1}},
                           true,
                           eps,
                           700,
                           130,
                           0,
                           DATA_NORMAL,
                           true,
                           kernel,
                           true});
            all.push_back({name((size + ", a far key and a softcap").c_str()),
                           DT_F16,
                           dim,
                           12,
                           4,
                           {{1500, 4}, {2500, 1}},
                           true,
                           eps,
                           0,
                           0,
                           20.0f,
                           DATA_FAR_KEY,
                           false,
                           kernel,
                           true});
        }
        all.push_back({name("an outlier key is never skipped"),
                       DT_BF16,
                       128,
                       8,
                       8,
                       {{0, 2100}, {3000, 1}, {2500, 100}},
                       true,
                       eps,
                       0,
                       0,
                       0,
                       DATA_OUTLIER,
                       false,
                       kernel});
        all.push_back({name("one huge key far away is found"),
                       DT_BF16,
                       64,
                       12,
                       4,
                       {{0, 4000}, {3500, 1}, {3333, 70}},
                       true,
                       eps,
                       0,
                       0,
                       0,
                       DATA_FAR_KEY,
                       false,
                       kernel});
        all.push_back({name("one huge key far away is found, f16"),
                       DT_F16,
                       128,
                       12,
                       4,
                       {{0, 1600}, {1500, 4}},
                       true,
                       eps,
                       0,
                       0,
                       0,
                       DATA_FAR_KEY,
                       false,
                       kernel});
        all.push_back({name("one KV head for forty query heads"),
                       DT_BF16,
                       128,
                       40,
                       1,
                       {{3000, 1}, {700, 1}, {0, 130}},
                       true,
                       eps,
                       0,
                       0,
                       0,
                       DATA_SMALL,
                       false,
                       kernel});
        all.push_back({name("a window"),
                       DT_BF16,
                       128,
                       4,
                       2,
                       {{0, 1500}, {2000, 1}, {2000, 50}},
                       false,
                       0,
                       300,
                       0,
                       0,
                       DATA_NORMAL,
                       false,
                       kernel});
        all.push_back({name("a window and sinks"),
                       DT_BF16,
                       64,
                       4,
                       1,
                       {{0, 1500}, {2000, 1}, {2000, 50}, {5, 3}},
                       false,
                       0,
                       256,
                       4,
                       0,
                       DATA_NORMAL,
                       false,
                       kernel});
        all.push_back({name("a window, sinks and ALiBi with skipping"),
                       DT_BF16,
                       128,
                       4,
                       1,
                       {{0, 1500}, {2000, 1}, {2000, 50}},
                       true,
                       eps,
                       700,
                       130,
                       0,
                       DATA_SMALL,
                       false,
                       kernel});
        all.push_back({name("dropped pages"),
                       DT_BF16,
                       128,
                       4,
                       2,
                       {{1000, 300}, {1200, 2}, {0, 200}},
                       true,
                       eps,
                       0,
                       0,
                       0,
                       DATA_NORMAL,
                       true,
                       kernel});
        all.push_back({name("a softcap"),
                       DT_BF16,
                       128,
                       4,
                       2,
                       {{0, 400}, {500, 1}},
                       false,
                       0,
                       0,
                       0,
                       20.0f,
                       DATA_NORMAL,
                       false,
                       kernel});
        all.push_back({name("a softcap and ALiBi"),
                       DT_BF16,
                       64,
                       4,
                       2,
                       {{0, 400}, {500, 1}},
                       true,
                       eps,
                       0,
                       0,
                       5.0f,
                       DATA_NORMAL,
                       false,
                       kernel});
        all.push_back({name("a long sequence"),
                       DT_BF16,
                       128,
                       8,
                       2,
                       {{0, 9000}, {20000, 300}, {40001, 1}},
                       true,
                       eps,
                       0,
                       0,
                       0,
                       DATA_NORMAL,
                       false,
                       kernel});
        all.push_back({name("many sequences"), DT_BF16, 64, 2, 2,
                       std::vector<std::pair<int, int>>(70, {190, 33}), false, 0, 0, 0, 0, DATA_NORMAL, false,
                       kernel});
    }
    return all;
}

bool wanted(const char *name, int argc, char **argv)
{
    for (int i = 2; i < argc; i++)
        if (!strstr(name, argv[i]))
            return false;
    return true;
}

} // namespace

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], nullptr, 0) : static_cast<uint64_t>(time(nullptr));
    printf("# seed %llu\n", static_cast<unsigned long long>(seed));
    int number = 0, failed = 0;
    for (const test_case &test : cases()) {
        if (!wanted(test.name, argc, argv))
            continue;
        bool right = check_case(test, seed + static_cast<uint64_t>(number));
        printf("%sok %d - %s\n", right ? "" : "not ", ++number, test.name);
        fflush(stdout);
        failed += !right;
    }
    printf("1..%d\n", number);
    return failed > 0 || number == 0;
}
