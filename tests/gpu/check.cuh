/* Random inputs, a paged cache and a double-precision truth for the attention tests.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_GPU_CHECK_H
#define TESTS_GPU_CHECK_H

#include "cuda/attention_plan.h"
#include "cuda/launch.h"

#include <cstdint>
#include <vector>

// ---- numbers ----
struct random_source {
    uint64_t state;
    uint64_t next();
    double uniform(); // [0, 1)
    double normal();
};

uint16_t to_bits(float x, enum dtype dtype); // rounds to nearest even
float from_bits(uint16_t bits, enum dtype dtype);

// ---- one case ----
enum data_kind {
    DATA_NORMAL,  // everything normal(0, 1)
    DATA_SMALL,   // queries scaled by 0.35: a short reach
    DATA_OUTLIER, // a few keys 20 times as long, that many queries point at
    DATA_FAR_KEY, // the first key alone is huge and every query points at it
};

struct test_case {
    const char *name;
    enum dtype dtype;
    int head_dim, heads, kv_heads;
    std::vector<std::pair<int, int>> sequences; // start, rows
    bool alibi;
    float reach;
    int window, sinks;
    float softcap;
    enum data_kind data;
    bool holes;
    enum attention_kernel kernel;
    bool packed = false; // keys and values as Q8_0; then only sequences that decode takes
};

// Host copies of everything; numbers are exactly those on the device.
struct test_data {
    std::vector<float> q, k, v;     // q [rows][heads][dim]; k, v [sequence keys][kv_heads][dim]
    std::vector<int64_t> first_key; // of each sequence in k and v
    std::vector<attention_sequence> sequences;
    std::vector<int32_t> pages;
    std::vector<float> slopes;
    int64_t rows, page_count;
};

test_data make_data(const test_case &test, random_source &random);

// softmax(q·k …)·v of one row and head, in double. lost: the share of the mass at keys before `from`.
std::vector<double> true_attention(const test_case &test, const test_data &data, int sequence, int row,
                                   int head);

#endif
