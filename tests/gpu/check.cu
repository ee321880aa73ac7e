/* Random inputs, a paged cache and a double-precision truth for the attention tests.
 * SPDX-License-Identifier: Apache-2.0 */
#include "gpu/check.cuh"

#include <algorithm>
#include <cmath>
#include <cstring>

uint64_t random_source::next() // splitmix64
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

double random_source::uniform()
{
    return static_cast<double>(next() >> 11) * 0x1p-53;
}

double random_source::normal()
{
    return std::sqrt(-2.0 * std::log(1.0 - uniform())) * std::cos(6.283185307179586 * uniform());
}

static uint16_t half_bits(float x)
{
    _Float16 half = static_cast<_Float16>(x);
    uint16_t bits;
    std::memcpy(&bits, &half, 2);
    return bits;
}

uint16_t to_bits(float x, enum dtype dtype)
{
    if (dtype == DT_F16)
        return half_bits(x);
    uint32_t word;
    std::memcpy(&word, &x, 4);
    return static_cast<uint16_t>((word + 0x7fff + (word >> 16 & 1)) >> 16);
}

float from_bits(uint16_t bits, enum dtype dtype)
{
    if (dtype == DT_F16) {
        _Float16 half;
        std::memcpy(&half, &bits, 2);
        return static_cast<float>(half);
    }
    uint32_t word = static_cast<uint32_t>(bits) << 16;
    float x;
    std::memcpy(&x, &word, 4);
    return x;
}

static std::vector<float> normals(size_t count, float scale, enum dtype dtype, random_source &random)
{
    std::vector<float> x(count);
    for (float &value : x)
        value = from_bits(to_bits(static_cast<float>(random.normal()) * scale, dtype), dtype);
    return x;
}

// Standard slopes, also for head counts that are no power of two (docs/attention.md).
static std::vector<float> standard_slopes(int heads)
{
    int power = 1;
    while (power * 2 <= heads)
        power *= 2;
    std::vector<float> slopes;
    for (int h = 0; h < heads; h++)
        slopes.push_back(static_cast<float>(h < power ? std::exp2(-8.0 / power * (h + 1))
                                                      : std::exp2(-4.0 / power * (2 * (h - power) + 1))));
    return slopes;
}

// Makes key `key` of a sequence point where the queries of row `row` point, `length` times as long.
static void point(test_data &data, const test_case &test, int64_t key, int64_t row, float length)
{
    int group = test.heads / test.kv_heads;
    for (int h = 0; h < test.kv_heads; h++)
        for (int d = 0; d < test.head_dim; d++) {
            float q = data.q[static_cast<size_t>((row * test.heads + h * group) * test.head_dim + d)];
            data.k[static_cast<size_t>((key * test.kv_heads + h) * test.head_dim + d)] =
                from_bits(to_bits(q * length, test.dtype), test.dtype);
        }
}

// Each block of 32 as a Q8_0 cache keeps it: signed bytes times an f16.
static void pack(std::vector<float> &numbers)
{
    for (size_t block = 0; block < numbers.size(); block += 32) {
        float most = 0.0f;
        for (size_t i = block; i < block + 32; i++)
            most = std::max(most, std::fabs(numbers[i]));
        float scale = from_bits(half_bits(most / 127.0f), DT_F16);
        for (size_t i = block; i < block + 32 && scale > 0.0f; i++)
            numbers[i] = std::max(-127.0f, std::min(127.0f, std::rint(numbers[i] / scale))) * scale;
    }
}

static void shape_keys(test_data &data, const test_case &test, random_source &random)
{
    for (size_t s = 0; s < data.sequences.size(); s++) {
        const attention_sequence &sequence = data.sequences[s];
        int keys = sequence.start + sequence.rows;
        if (sequence.rows == 0)
            continue;
        if (test.data == DATA_FAR_KEY)
            point(data, test, data.first_key[s], sequence.first_row + sequence.rows - 1, 40.0f);
        for (int i = 0; test.data == DATA_OUTLIER && i < 5; i++)
            point(data, test,
                  data.first_key[s] + static_cast<int64_t>(random.next() % static_cast<uint64_t>(keys)),
                  sequence.first_row +
                      static_cast<int64_t>(random.next() % static_cast<uint64_t>(sequence.rows)),
                  20.0f);
    }
}

static void deal_pages(test_data &data, const test_case &test, random_source &random)
{
    for (attention_sequence &sequence : data.sequences) {
        sequence.first_page = static_cast<int32_t>(data.pages.size());
        int count = (sequence.start + sequence.rows + PAGE_KEYS - 1) / PAGE_KEYS;
        for (int i = 0; i < count; i++)
            data.pages.push_back(static_cast<int32_t>(data.page_count++));
    }
    data.page_count += 3; // never used, so a stray access shows
    std::vector<int32_t> numbers(static_cast<size_t>(data.page_count));
    for (size_t i = 0; i < numbers.size(); i++)
        numbers[i] = static_cast<int32_t>(i);
    for (size_t i = numbers.size(); i > 1; i--)
        std::swap(numbers[i - 1], numbers[random.next() % i]);
    for (int32_t &page : data.pages)
        page = numbers[static_cast<size_t>(page)];
    for (attention_sequence &sequence : data.sequences) {
        int last = (sequence.start + sequence.rows - 1) / PAGE_KEYS, first_new = sequence.start / PAGE_KEYS;
        sequence.holes = test.holes && first_new > 2;
        if (sequence.holes) // the second page and one in the middle were dropped
            data.pages[static_cast<size_t>(sequence.first_page + 1)] =
                data.pages[static_cast<size_t>(sequence.first_page + std::min(first_new - 1, last / 2))] = -1;
    }
}

test_data make_data(const test_case &test, random_source &random)
{
    test_data data;
    data.rows = data.page_count = 0;
    int64_t keys = 0;
    for (auto [start, rows] : test.sequences) {
        data.sequences.push_back({static_cast<int32_t>(data.rows), rows, start, 0, 0});
        data.first_key.push_back(keys);
        data.rows += rows;
        keys += start + rows;
    }
    size_t row = static_cast<size_t>(test.head_dim);
    data.q = normals(static_cast<size_t>(data.rows * test.heads) * row,
                     test.data == DATA_SMALL ? 0.35f : 1.0f, test.dtype, random);
    data.k = normals(static_cast<size_t>(keys * test.kv_heads) * row, 1.0f, test.dtype, random);
    data.v = normals(static_cast<size_t>(keys * test.kv_heads) * row, 1.0f, test.dtype, random);
    shape_keys(data, test, random);
    if (test.packed) {
        pack(data.k);
        pack(data.v);
    }
    deal_pages(data, test, random);
    if (test.alibi)
        data.slopes = standard_slopes(test.heads);
    return data;
}

std::vector<double> true_attention(const test_case &test, const test_data &data, int sequence, int row,
                                   int head)
{
    const attention_sequence &s = data.sequences[static_cast<size_t>(sequence)];
    int position = s.start + row, kv_head = head / (test.heads / test.kv_heads);
    size_t dim = static_cast<size_t>(test.head_dim);
    const float *q = &data.q[(static_cast<size_t>(s.first_row + row) * static_cast<size_t>(test.heads) +
                              static_cast<size_t>(head)) *
                             dim];
    double scale = static_cast<float>(1.0 / std::sqrt(test.head_dim)), most = -INFINITY, sum = 0.0;
    std::vector<double> scores(static_cast<size_t>(position) + 1, -INFINITY), out(dim, 0.0);
    auto at = [&](int key) {
        return ((static_cast<size_t>(data.first_key[static_cast<size_t>(sequence)]) +
                 static_cast<size_t>(key)) *
                    static_cast<size_t>(test.kv_heads) +
                static_cast<size_t>(kv_head)) *
               dim;
    };
    for (int key = 0; key <= position; key++) {
        bool seen = test.window == 0 || position - key < test.window || key < test.sinks;
        if (!seen || data.pages[static_cast<size_t>(s.first_page + key / PAGE_KEYS)] < 0)
            continue;
        double score = 0.0;
        for (size_t d = 0; d < dim; d++)
            score += static_cast<double>(q[d]) * static_cast<double>(data.k[at(key) + d]);
        score *= scale;
        if (test.softcap > 0.0f)
            score = test.softcap * std::tanh(score / test.softcap);
        if (test.alibi)
            score -= static_cast<double>(data.slopes[static_cast<size_t>(head)]) * (position - key);
        scores[static_cast<size_t>(key)] = score;
        most = std::max(most, score);
    }
    for (int key = 0; key <= position; key++) {
        double weight = std::exp(scores[static_cast<size_t>(key)] - most);
        sum += weight;
        for (size_t d = 0; weight > 0.0 && d < dim; d++)
            out[d] += weight * static_cast<double>(data.v[at(key) + d]);
    }
    for (double &x : out)
        x /= sum;
    return out;
}
