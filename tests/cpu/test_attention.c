/* Attention over paged caches on every instruction set, against the plain backend.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Bounds are on the error relative to the largest value in the cache: F32 rounding of scores enters the
 * softmax as exp, so a score of size s costs s · 2^-22. */
#include "cpu/harness.h"

#include <math.h>

#include "tensor/dequant.h"

static const char *current_set;

struct setting {
    int heads, kv_heads, head_dim, block_tokens;
    enum dtype k_type, v_type;
    struct backend_attention attention;
    float key_size;
};

/* ---- a cache and its contents ---- */
static void *cache_memory(struct backend *backend, uint64_t bytes)
{
    void *memory = NULL;
    assert_int_equal(backend->table->memory_new(backend, MEMORY_CACHE, bytes, &memory, NULL), LL_OK);
    return memory;
}

static struct backend_cache cache_new(struct backend *backend, const struct setting *s, int32_t blocks)
{
    struct backend_cache cache = {.k_type = s->k_type, .v_type = s->v_type, .kv_heads = s->kv_heads,
                                  .head_dim = s->head_dim, .block_tokens = s->block_tokens};
    int64_t rows = (int64_t)s->kv_heads * s->block_tokens;
    cache.k_block_bytes = rows * (int64_t)dtype_row_bytes(s->k_type, (uint64_t)s->head_dim);
    cache.v_block_bytes = rows * (int64_t)dtype_row_bytes(s->v_type, (uint64_t)s->head_dim);
    cache.k = cache_memory(backend, (uint64_t)(blocks * cache.k_block_bytes));
    cache.v = cache_memory(backend, (uint64_t)(blocks * cache.v_block_bytes));
    cache.k_norms = cache_memory(backend, (uint64_t)blocks * (uint64_t)s->kv_heads * sizeof(float));
    return cache;
}

/* Runs one step: writes its keys and values, then attends. Matrices cover all rows of `step`. */
static void run_step(struct backend *backend, const struct backend_cache *cache, const struct setting *s,
                     const struct backend_step *step, const struct tensor *q, const struct tensor *k,
                     const struct tensor *v, struct tensor *out)
{
    backend->table->begin(backend, step, NULL);
    backend->table->cache_write(backend, cache, k, v);
    backend->table->attention(backend, &s->attention, cache, q, out);
    end_step(backend);
}

/* Every sequence from its first key on, in steps of random sizes up to `most` rows. */
struct inputs {
    struct test_step whole; /* all rows of all sequences, start 0 */
    struct tensor q, k, v;
};

static struct inputs inputs_new(const struct setting *s, int count, const int64_t *lengths)
{
    int64_t starts[8] = {0};
    struct inputs in = {.whole = step_new(count, starts, lengths, s->block_tokens)};
    in.q = matrix_new(in.whole.step.rows, (int64_t)s->heads * s->head_dim);
    in.k = matrix_new(in.whole.step.rows, (int64_t)s->kv_heads * s->head_dim);
    in.v = matrix_new(in.whole.step.rows, (int64_t)s->kv_heads * s->head_dim);
    for (int64_t row = 0; row < in.k.rows; row++)
        for (int64_t i = 0; i < in.k.cols; i++)
            ((float *)tensor_row(&in.k, row))[i] *= s->key_size;
    return in;
}

static void inputs_free(struct inputs *in)
{
    matrix_free(&in->q), matrix_free(&in->k), matrix_free(&in->v);
    step_free(&in->whole);
}

static void run_chunk(struct backend *backend, const struct backend_cache *cache, const struct setting *s,
                      const struct inputs *in, int sequence, int64_t start, int64_t rows, struct tensor *out)
{
    const struct backend_sequence *whole = &in->whole.sequences[sequence];
    int64_t first = whole->first_row + start;
    struct backend_sequence part = {.first_row = 0, .rows = rows, .start = start, .blocks = whole->blocks,
                                    .block_count = whole->block_count};
    struct backend_step step = {.rows = rows,
                                .tokens = in->whole.tokens + first,
                                .positions = in->whole.positions + first,
                                .sequences = &part,
                                .sequence_count = 1};
    struct tensor q = tensor_rows(&in->q, first, rows), k = tensor_rows(&in->k, first, rows);
    struct tensor v = tensor_rows(&in->v, first, rows), to = tensor_rows(out, first, rows);
    run_step(backend, cache, s, &step, &q, &k, &v, &to);
}

static void run_in_chunks(struct backend *backend, const struct backend_cache *cache, const struct setting *s,
                          const struct inputs *in, int64_t most, struct tensor *out)
{
    for (int sequence = 0; sequence < in->whole.step.sequence_count; sequence++) {
        int64_t length = in->whole.sequences[sequence].rows;
        for (int64_t start = 0, rows; start < length; start += rows) {
            rows = 1 + (int64_t)unit_below((size_t)most);
            rows = rows < length - start ? rows : length - start;
            run_chunk(backend, cache, s, in, sequence, start, rows, out);
        }
    }
}

static struct tensor uniform_bound(const struct tensor *shape, float most)
{
    struct tensor bound = matrix_copy(shape);
    for (int64_t row = 0; row < bound.rows; row++)
        for (int64_t i = 0; i < bound.cols; i++)
            ((float *)tensor_row(&bound, row))[i] = most;
    return bound;
}

/* The largest |q·k·scale| and bias decide how well scores are known; values enter with their size. */
static float error_bound(const struct setting *s, const struct inputs *in, int64_t longest)
{
    float most_q = 0, most_k = 0, most_v = 0;
    for (int64_t row = 0; row < in->q.rows; row++) {
        for (int64_t i = 0; i < in->q.cols; i++)
            most_q = fmaxf(most_q, fabsf(((float *)tensor_row(&in->q, row))[i]));
        for (int64_t i = 0; i < in->k.cols; i++) {
            most_k = fmaxf(most_k, fabsf(((float *)tensor_row(&in->k, row))[i]));
            most_v = fmaxf(most_v, fabsf(((float *)tensor_row(&in->v, row))[i]));
        }
    }
    float score = most_q * most_k * (float)s->head_dim * s->attention.scale * 0.2f;
    if (s->attention.slopes)
        score += (float)longest;
    return 2 * most_v * (ldexpf(1, -22) * (score + 16) + s->attention.reach);
}

static void compare_with_plain(const struct setting *s, int count, const int64_t *lengths, int threads,
                               const char *what)
{
    struct backend *fast = open_fast(current_set, threads), *plain = open_reference();
    struct inputs in = inputs_new(s, count, lengths);
    struct backend_cache fast_cache = cache_new(fast, s, in.whole.block_count);
    struct backend_cache plain_cache = cache_new(plain, s, in.whole.block_count);
    struct tensor out = matrix_new(in.q.rows, in.q.cols), want = matrix_copy(&out), parts = matrix_copy(&out);
    matrix_poison(&out), matrix_poison(&want), matrix_poison(&parts);
    run_step(fast, &fast_cache, s, &in.whole.step, &in.q, &in.k, &in.v, &out);
    run_step(plain, &plain_cache, s, &in.whole.step, &in.q, &in.k, &in.v, &want);
    int64_t longest = 0;
    for (int i = 0; i < count; i++)
        longest = lengths[i] > longest ? lengths[i] : longest;
    struct tensor bound = uniform_bound(&out, error_bound(s, &in, longest));
    assert_matrix(&out, &want, &bound, what);
    struct backend *other = open_fast(current_set, 1 + (int)unit_below(5));
    struct backend_cache other_cache = cache_new(other, s, in.whole.block_count);
    run_in_chunks(other, &other_cache, s, &in, unit_below(2) ? 3 : 90, &parts);
    assert_matrix(&parts, &out, NULL, what);
    assert_memory_equal(fast_cache.k, other_cache.k,
                        (size_t)(in.whole.block_count * fast_cache.k_block_bytes));
    assert_memory_equal(fast_cache.k_norms, other_cache.k_norms,
                        (size_t)in.whole.block_count * (size_t)s->kv_heads * sizeof(float));
    inputs_free(&in);
    matrix_free(&out), matrix_free(&want), matrix_free(&parts), matrix_free(&bound);
    close_backend(fast), close_backend(plain), close_backend(other);
}

static enum dtype random_cache_type(int head_dim)
{
    static const enum dtype types[] = {DT_F32, DT_F16, DT_BF16, DT_Q8_0};
    return types[unit_below(head_dim % 32 ? 3 : 4)];
}

static struct setting random_setting(float *slopes, struct tensor *slope_tensor)
{
    static const int dims[] = {64, 32, 128, 80, 4, 7, 36, 96}, blocks[] = {64, 16, 7, 128, 33, 256};
    struct setting s = {.kv_heads = 1 + (int)unit_below(3), .head_dim = dims[unit_below(8)],
                        .block_tokens = blocks[unit_below(6)], .key_size = 1};
    s.heads = s.kv_heads * (1 + (int)unit_below(4));
    s.k_type = random_cache_type(s.head_dim);
    s.v_type = random_cache_type(s.head_dim);
    s.attention = (struct backend_attention){.heads = s.heads, .scale = 1 / sqrtf((float)s.head_dim)};
    if (unit_below(3) == 0)
        s.attention.window = 1 + (int)unit_below(unit_below(2) ? 20 : 300);
    if (s.attention.window && unit_below(2))
        s.attention.sinks = 1 + (int)unit_below(70);
    if (unit_below(3) == 0)
        s.attention.softcap = 5 + (float)unit_below(40);
    if (unit_below(3) == 0)
        s.attention.slopes = slope_tensor;
    if (s.attention.slopes && unit_below(2))
        s.attention.reach = ldexpf(1, -24);
    for (int h = 0; h < s.heads; h++)
        slopes[h] = ldexpf(1, -(int)unit_below(9));
    *slope_tensor =
        (struct tensor){.dtype = DT_F32, .rows = 1, .cols = s.heads, .stride = s.heads * 4, .data = slopes};
    return s;
}

static void check_random_settings(const char *set)
{
    const bool emulated = getenv("LL_EMULATED") != NULL;
    current_set = set;
    for (size_t round = 0; round < unit_rounds(16); round++) {
        float slopes[16];
        struct tensor slope_tensor;
        struct setting s = random_setting(slopes, &slope_tensor);
        int64_t lengths[3];
        int count = 1 + (int)unit_below(3);
        for (int i = 0; i < count; i++)
            lengths[i] = 1 + (int64_t)unit_below(emulated ? 100 : unit_below(4) ? 150 : 700);
        char what[200];
        snprintf(what, sizeof what,
                 "%s heads %d/%d of %d, blocks of %d, %s/%s, window %d, sinks %d, cap %g, alibi %d", set,
                 s.heads, s.kv_heads, s.head_dim, s.block_tokens, dtype_info(s.k_type)->name,
                 dtype_info(s.v_type)->name, s.attention.window, s.attention.sinks,
                 (double)s.attention.softcap, s.attention.slopes != NULL);
        compare_with_plain(&s, count, lengths, 1 + (int)unit_below(4), what);
    }
}

static void ragged_batches_agree_with_the_plain_backend_and_with_their_parts(void **state)
{
    (void)state;
    each_set(check_random_settings);
}

/* ---- reach ---- */
static struct setting alibi_setting(float *slopes, struct tensor *tensor, float reach)
{
    struct setting s = {.heads = 4, .kv_heads = 2, .head_dim = 32, .block_tokens = 32, .k_type = DT_F16,
                        .v_type = DT_F16, .key_size = 0.3f};
    for (int h = 0; h < 4; h++)
        slopes[h] = ldexpf(1, -h);
    *tensor = (struct tensor){.dtype = DT_F32, .rows = 1, .cols = 4, .stride = 16, .data = slopes};
    s.attention = (struct backend_attention){.heads = 4, .scale = 0.18f, .slopes = tensor, .reach = reach};
    return s;
}

/* max |with - without| ≤ 2 · reach · max |v|, and the first trial's skipping must have shown. */
static void check_reach(const char *set)
{
    current_set = set;
    float slopes[4];
    struct tensor tensor;
    for (int trial = 0; trial < 4; trial++) {
        /* The first is so large that what is skipped shows in fp32 whatever the random norms are. */
        const float reach = trial == 0 ? 0.05f : trial == 1 ? 1e-3f : ldexpf(1, -24);
        struct setting with = alibi_setting(slopes, &tensor, reach), without = with;
        without.attention.reach = 0;
        int64_t length = 600;
        struct backend *fast = open_fast(set, 2);
        struct inputs in = inputs_new(&with, 1, &length);
        for (int64_t row = 0; row < length; row++)
            for (int64_t i = 0; i < in.q.cols; i++) /* all queries point the same way */
                ((float *)tensor_row(&in.q, row))[i] = 1 + 0.1f * random_float();
        for (int64_t i = 0; i < in.k.cols && trial % 2; i++) /* and one far key is enormous that way */
            ((float *)tensor_row(&in.k, 5))[i] = 60;
        struct backend_cache cache = cache_new(fast, &with, in.whole.block_count);
        struct tensor a = matrix_new(length, in.q.cols), b = matrix_copy(&a);
        run_step(fast, &cache, &with, &in.whole.step, &in.q, &in.k, &in.v, &a);
        run_step(fast, &cache, &without, &in.whole.step, &in.q, &in.k, &in.v, &b);
        float most_v = 0;
        for (int64_t row = 0; row < length; row++)
            for (int64_t i = 0; i < in.v.cols; i++)
                most_v = fmaxf(most_v, fabsf(((float *)tensor_row(&in.v, row))[i]));
        struct tensor bound = uniform_bound(&a, 2 * most_v * (reach + ldexpf(1, -21)));
        assert_matrix(&a, &b, &bound, set);
        if (trial == 0)
            assert_memory_not_equal(a.data, b.data, (size_t)(length * a.stride));
        inputs_free(&in);
        matrix_free(&a), matrix_free(&b), matrix_free(&bound);
        close_backend(fast);
    }
}

static void reach_changes_nothing_beyond_its_promise(void **state)
{
    (void)state;
    each_set(check_reach);
}

static void check_reach_parts(const char *set)
{
    current_set = set;
    float slopes[4];
    struct tensor tensor;
    struct setting s = alibi_setting(slopes, &tensor, 1e-2f);
    int64_t lengths[2] = {900, 333};
    compare_with_plain(
        &(struct setting){
            .heads = s.heads,
            .kv_heads = s.kv_heads,
            .head_dim = s.head_dim,
            .block_tokens = s.block_tokens,
            .k_type = DT_F32,
            .v_type = DT_F32,
            .attention = {.heads = 4, .scale = s.attention.scale, .slopes = &tensor, .reach = 1e-9f},
            .key_size = 0.3f},
        2, lengths, 3, "reach whole and in parts");
}

static void reach_skips_the_same_keys_whole_or_in_parts(void **state)
{
    (void)state;
    each_set(check_reach_parts);
}

/* ---- what the cache keeps ---- */
static void prefix_norms_are_never_too_small_and_forget_what_was_overwritten(void **state)
{
    (void)state;
    float slopes[4];
    struct tensor tensor;
    struct setting s = alibi_setting(slopes, &tensor, 0);
    int64_t length = 200;
    struct backend *fast = open_fast(NULL, 1), *fresh = open_fast(NULL, 1);
    struct inputs in = inputs_new(&s, 1, &length);
    struct backend_cache cache = cache_new(fast, &s, in.whole.block_count);
    struct backend_cache clean = cache_new(fresh, &s, in.whole.block_count);
    struct tensor out = matrix_new(length, in.q.cols), huge = matrix_copy(&in.k), kept = in.k;
    for (int64_t row = 0; row < length; row++)
        for (int64_t i = 0; i < huge.cols; i++)
            ((float *)tensor_row(&huge, row))[i] = row >= 70 ? 100 : ((float *)tensor_row(&in.k, row))[i];
    in.k = huge;
    run_chunk(fast, &cache, &s, &in, 0, 0, length, &out); /* then rewound to the middle of a block */
    in.k = kept;
    run_chunk(fast, &cache, &s, &in, 0, 70, length - 70, &out);
    run_in_chunks(fresh, &clean, &s, &in, 9, &out);
    assert_memory_equal(cache.k_norms, clean.k_norms, (size_t)in.whole.block_count * 2 * sizeof(float));
    double most[2] = {0, 0};
    for (int64_t position = 0; position < length; position++)
        for (int head = 0; head < 2; head++) {
            int32_t block = in.whole.blocks[position / 32];
            double sum = 0;
            const uint16_t *key = (const uint16_t *)cache.k + ((block * 2 + head) * 32 + position % 32) * 32;
            for (int i = 0; i < 32; i++)
                sum += (double)f16_to_f32(key[i]) * f16_to_f32(key[i]);
            most[head] = fmax(most[head], sqrt(sum));
            assert_true((double)cache.k_norms[block * 2 + head] >= most[head]);
        }
    inputs_free(&in);
    matrix_free(&out), matrix_free(&huge);
    close_backend(fast), close_backend(fresh);
}

/* Heads that do not fill whole vectors, keys of either sign. */
static void check_odd_norms(const char *set)
{
    static const int dims[] = {4, 7, 20, 36, 63};
    static const enum dtype types[] = {DT_F32, DT_F16, DT_BF16};
    current_set = set;
    for (size_t i = 0; i < 5 * 3; i++) {
        struct setting s = {.heads = 2, .kv_heads = 2, .head_dim = dims[i / 3], .block_tokens = 16,
                            .k_type = types[i % 3], .v_type = DT_F16, .key_size = 1,
                            .attention = {.heads = 2, .scale = 1}};
        int64_t length = 1 + (int64_t)unit_below(40), row_bytes;
        struct backend *fast = open_fast(set, 1);
        struct inputs in = inputs_new(&s, 1, &length);
        struct backend_cache cache = cache_new(fast, &s, in.whole.block_count);
        struct tensor out = matrix_new(length, in.q.cols);
        run_chunk(fast, &cache, &s, &in, 0, 0, length, &out);
        row_bytes = (int64_t)dtype_row_bytes(s.k_type, (uint64_t)s.head_dim);
        for (int64_t position = 0; position < length; position++)
            for (int head = 0; head < 2; head++) {
                float key[64];
                double sum = 0;
                int32_t block = in.whole.blocks[position / 16];
                dequantize_row(s.k_type,
                               (char *)cache.k + block * cache.k_block_bytes +
                                   (head * 16 + position % 16) * row_bytes,
                               key, s.head_dim);
                for (int d = 0; d < s.head_dim; d++)
                    sum += (double)key[d] * key[d];
                if (!((double)cache.k_norms[block * 2 + head] >= sqrt(sum)))
                    fail_msg("%s, %s heads of %d: norm %g kept for a key of %g", set,
                             dtype_info(s.k_type)->name, s.head_dim,
                             (double)cache.k_norms[block * 2 + head], sqrt(sum));
            }
        inputs_free(&in);
        matrix_free(&out);
        close_backend(fast);
    }
}

static void norms_of_heads_that_fill_no_vector_are_never_too_small(void **state)
{
    (void)state;
    each_set(check_odd_norms);
}

static void a_copied_block_is_the_same_block(void **state)
{
    (void)state;
    float slopes[4];
    struct tensor tensor;
    struct setting s = alibi_setting(slopes, &tensor, 0);
    struct backend *fast = open_fast("scalar", 1);
    struct backend_cache cache = cache_new(fast, &s, 3);
    memset(cache.k, 7, (size_t)cache.k_block_bytes);
    memset(cache.v, 8, (size_t)cache.v_block_bytes);
    cache.k_norms[1] = 5;
    assert_int_equal(fast->table->cache_copy(fast, &cache, 0, 2, NULL), LL_OK);
    assert_memory_equal((char *)cache.k + 2 * cache.k_block_bytes, cache.k, (size_t)cache.k_block_bytes);
    assert_memory_equal((char *)cache.v + 2 * cache.v_block_bytes, cache.v, (size_t)cache.v_block_bytes);
    assert_true(cache.k_norms[5] == 5);
    assert_int_equal(((char *)cache.k)[cache.k_block_bytes], 0);
    close_backend(fast);
}

/* Dropped blocks are not looked at, on either backend. */
static void check_dropped(const char *set)
{
    current_set = set;
    float slopes[4];
    struct tensor tensor;
    struct setting s = alibi_setting(slopes, &tensor, 0);
    if (unit_below(2))
        s.attention.slopes = NULL;
    int64_t length = 300;
    struct backend *fast = open_fast(set, 2), *plain = open_reference();
    struct inputs in = inputs_new(&s, 1, &length);
    struct backend_cache a = cache_new(fast, &s, in.whole.block_count),
                         b = cache_new(plain, &s, in.whole.block_count);
    struct tensor out = matrix_new(length, in.q.cols), want = matrix_copy(&out);
    run_chunk(fast, &a, &s, &in, 0, 0, 250, &out);
    run_chunk(plain, &b, &s, &in, 0, 0, 250, &want);
    in.whole.blocks[0] = in.whole.blocks[3] = in.whole.blocks[4] = -1;
    run_chunk(fast, &a, &s, &in, 0, 250, 50, &out);
    run_chunk(plain, &b, &s, &in, 0, 250, 50, &want);
    struct tensor bound = uniform_bound(&out, error_bound(&s, &in, length));
    assert_matrix(&out, &want, &bound, set);
    inputs_free(&in);
    matrix_free(&out), matrix_free(&want), matrix_free(&bound);
    close_backend(fast), close_backend(plain);
}

static void dropped_blocks_are_not_seen(void **state)
{
    (void)state;
    each_set(check_dropped);
}

int main(void)
{
    unit_seed();
    harness_seed(unit_random());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ragged_batches_agree_with_the_plain_backend_and_with_their_parts),
        cmocka_unit_test(reach_changes_nothing_beyond_its_promise),
        cmocka_unit_test(reach_skips_the_same_keys_whole_or_in_parts),
        cmocka_unit_test(prefix_norms_are_never_too_small_and_forget_what_was_overwritten),
        cmocka_unit_test(norms_of_heads_that_fill_no_vector_are_never_too_small),
        cmocka_unit_test(a_copied_block_is_the_same_block),
        cmocka_unit_test(dropped_blocks_are_not_seen),
    };
    return cmocka_run_group_tests_name("attention of the CPU backends", tests, NULL, NULL);
}
