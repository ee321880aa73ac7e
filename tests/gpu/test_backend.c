/* Every operation of a backend's table against the reference, on fresh random inputs and odd sizes.
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: test_backend [cuda FOLDER]     the plug-in of FOLDER; without words the CPU's fast backend
 * LL_SEED repeats a run. Outputs are poisoned first, and what lies around them must stay so. */
#include "gpu/rig.h"

#include <math.h>

#include "base/cancel.h"

static bool is_cuda;
static const char *folder;

/* Shares that rounding may cost: of activations (bf16 has 8 bits), and of products whose weights or inputs
 * are rounded on the way (bf16 weights; 8-bit inputs on the CPU). */
static double rounding(const struct rig *rig, enum dtype dtype)
{
    (void)rig;
    return dtype == DT_F32 ? 2e-5 : 4e-3;
}

static double product_bound(const struct rig *rig, enum dtype weight)
{
    bool exact = weight == DT_F32 || weight == DT_F16 || weight == DT_BF16;
    return rig->is_cuda ? 8e-3 : exact ? 1e-4 : 8e-2;
}

static enum dtype either(const struct rig *rig)
{
    return unit_below(2) ? rig->tested->activation : rig->tested->residual;
}

static int64_t random_rows(void)
{
    static const int64_t most[] = {3, 16, 40, 200};
    return 1 + (int64_t)unit_below((size_t)most[unit_below(4)]);
}

static const struct tensor *maybe(const struct operand *o, bool plain)
{
    return !o ? NULL : plain ? &o->plain : &o->tested;
}

/* ---- rows ---- */

static void norms_agree(void **state)
{
    (void)state;
    struct rig rig = rig_open(is_cuda, folder);
    for (int round = 0; round < 60; round++) {
        static const int64_t parts[] = {1, 3, 64, 96, 128, 257, 576, 2048, 4096, 5120, 20000};
        int groups = unit_below(2) ? 1 : 1 + (int)unit_below(5);
        int64_t part = unit_below(3) ? parts[unit_below(11)] : 1 + (int64_t)unit_below(700);
        int64_t rows = part > 4000 ? 1 + (int64_t)unit_below(5) : random_rows();
        enum backend_norm kind = round & 1 ? NORM_LAYER : NORM_RMS;
        struct operand w = vector_random(&rig, part), b = vector_random(&rig, part);
        struct operand in = operand_random(&rig, either(&rig), rows, groups * part);
        struct operand out = operand_poisoned(&rig, either(&rig), rows, groups * part);
        bool in_place = unit_below(3) == 0;
        struct operand *to = in_place ? &in : &out, *weight = unit_below(4) ? &w : NULL,
                       *bias = unit_below(2) ? &b : NULL;
        struct test_step step = step_of_rows(rows);
        rig_begin(&rig, &step);
        rig.tested->table->norm(rig.tested, kind, &in.tested, maybe(weight, false), maybe(bias, false), 1e-5f,
                                groups, &to->tested);
        rig.plain->table->norm(rig.plain, kind, &in.plain, maybe(weight, true), maybe(bias, true), 1e-5f,
                               groups, &to->plain);
        rig_end(&rig);
        if (kind == NORM_RMS || part > 8) /* else x - mean cancels to nothing */
            operand_compare(&rig, to, rounding(&rig, to->tested.dtype) * (kind == NORM_LAYER ? 4 : 1),
                            "norm");
        operand_free(&rig, &in), operand_free(&rig, &out), operand_free(&rig, &w), operand_free(&rig, &b);
        step_free(&step);
    }
    rig_close(&rig);
}

static void a_norm_onto_the_residual_stream_agrees(void **state)
{
    (void)state;
    struct rig rig = rig_open(is_cuda, folder);
    for (int round = 0; round < 12; round++) {
        int64_t rows = random_rows(), cols = 4 * (1 + (int64_t)unit_below(600));
        struct operand w = vector_random(&rig, cols),
                       x = operand_random(&rig, rig.tested->residual, rows, cols);
        struct operand h = operand_random(&rig, rig.tested->activation, rows, cols);
        struct operand again = operand_random(&rig, rig.tested->activation, rows, cols);
        struct test_step step = step_of_rows(rows);
        rig_begin(&rig, &step);
        for (int plain = 0; plain < 2; plain++) {
            struct backend *b = plain ? rig.plain : rig.tested;
            struct tensor *ht = plain ? &h.plain : &h.tested, *xt = plain ? &x.plain : &x.tested;
            b->table->norm(b, NORM_RMS, ht, maybe(&w, plain), NULL, 1e-6f, 1, ht);
            b->table->add(b, xt, ht, xt);
            b->table->norm(b, NORM_RMS, maybe(&again, plain), NULL, NULL, 1e-6f, 1,
                           ht); /* h is dead before */
        }
        rig_end(&rig);
        operand_compare(&rig, &x, rounding(&rig, rig.tested->activation), "norm and add");
        operand_compare(&rig, &h, rounding(&rig, rig.tested->activation), "the norm after it");
        operand_free(&rig, &w), operand_free(&rig, &x), operand_free(&rig, &h), operand_free(&rig, &again);
        step_free(&step);
    }
    rig_close(&rig);
}

static void elementwise_operations_agree(void **state)
{
    (void)state;
    struct rig rig = rig_open(is_cuda, folder);
    enum dtype type = rig.tested->activation;
    for (int round = 0; round < 30; round++) {
        int64_t rows = random_rows(), cols = 1 + (int64_t)unit_below(unit_below(2) ? 50 : 3000);
        struct operand gate = operand_random(&rig, type, rows, cols),
                       up = operand_random(&rig, type, rows, cols);
        struct operand x = operand_random(&rig, rig.tested->residual, rows, cols);
        struct operand out = operand_poisoned(&rig, type, rows, cols),
                       y = operand_random(&rig, either(&rig), rows, cols);
        struct operand *to = unit_below(2) ? &up : &out, *by = unit_below(3) ? &up : NULL;
        enum backend_activation kind = (enum backend_activation)(round % 3);
        struct test_step step = step_of_rows(rows);
        rig_begin(&rig, &step);
        for (int plain = 0; plain < 2; plain++) {
            struct backend *b = plain ? rig.plain : rig.tested;
            struct tensor *yt = plain ? &y.plain : &y.tested, *xt = plain ? &x.plain : &x.tested;
            b->table->activate(b, kind, maybe(&gate, plain), maybe(by, plain),
                               plain ? &to->plain : &to->tested);
            b->table->add(b, xt, yt, xt);
            b->table->softcap(b, yt, 7.5f);
            b->table->clamp(b, yt, 5);
        }
        rig_end(&rig);
        operand_compare(&rig, to, rounding(&rig, type), "activate");
        operand_compare(&rig, &x, 2e-5, "add");
        operand_compare(&rig, &y, 2 * rounding(&rig, y.tested.dtype), "softcap, clamp");
        operand_free(&rig, &gate), operand_free(&rig, &up), operand_free(&rig, &x), operand_free(&rig, &out);
        operand_free(&rig, &y), step_free(&step);
    }
    rig_close(&rig);
}

static void embeddings_of_every_type_agree(void **state)
{
    (void)state;
    struct rig rig = rig_open(is_cuda, folder);
    for (enum dtype dtype = 0; dtype < DT_COUNT; dtype++) {
        if (!rig.tested->table->supports_weight(rig.tested, dtype))
            continue;
        int64_t rows = random_rows(), cols = dtype_info(dtype)->block_elements * (int64_t)(1 + unit_below(5));
        struct operand table = weight_random(&rig, dtype, 7, cols);
        struct operand out = operand_poisoned(&rig, either(&rig), rows, cols);
        struct test_step step = step_of_rows(rows);
        for (int64_t i = 0; i < rows; i++)
            step.tokens[i] = (ll_token)unit_below(7);
        rig_begin(&rig, &step);
        rig.tested->table->embed(rig.tested, &table.tested, 24, &out.tested);
        rig.plain->table->embed(rig.plain, &table.plain, 24, &out.plain);
        rig_end(&rig);
        operand_compare(&rig, &out, rounding(&rig, out.tested.dtype), dtype_info(dtype)->name);
        weight_free(&rig, &table), operand_free(&rig, &out), step_free(&step);
    }
    rig_close(&rig);
}

static void an_unknown_token_fails_the_step(void **state)
{
    (void)state;
    struct rig rig = rig_open(is_cuda, folder);
    struct operand table = weight_random(&rig, DT_F32, 7, 8),
                   out = operand_poisoned(&rig, rig.tested->residual, 2, 8);
    struct test_step step = step_of_rows(2);
    ll_error error = {0};
    step.tokens[1] = 7;
    rig.tested->table->begin(rig.tested, &step.step, NULL);
    rig.tested->table->embed(rig.tested, &table.tested, 1, &out.tested);
    assert_int_equal(rig.tested->table->end(rig.tested, &error), LL_ARGUMENT);
    assert_non_null(strstr(error.text, "token 7"));
    step.tokens[1] = step.tokens[0] = 3;
    rig.tested->table->begin(rig.tested, &step.step, NULL);
    rig.tested->table->embed(rig.tested, &table.tested, 1, &out.tested);
    end_step(rig.tested);
    weight_free(&rig, &table), operand_free(&rig, &out), step_free(&step);
    rig_close(&rig);
}

static void outputs_are_gathered_in_order(void **state)
{
    (void)state;
    struct rig rig = rig_open(is_cuda, folder);
    struct operand in = operand_random(&rig, rig.tested->residual, 9, 21);
    struct operand out = operand_poisoned(&rig, rig.tested->activation, 3, 21);
    struct test_step step = step_of_rows(9);
    int32_t rows[] = {0, 3, 8};
    step.step.outputs = rows;
    step.step.output_count = 3;
    rig_begin(&rig, &step);
    rig.tested->table->gather_outputs(rig.tested, &in.tested, &out.tested);
    rig.plain->table->gather_outputs(rig.plain, &in.plain, &out.plain);
    rig_end(&rig);
    operand_compare(&rig, &out, rounding(&rig, rig.tested->activation), "gather");
    operand_free(&rig, &in), operand_free(&rig, &out), step_free(&step);
    rig_close(&rig);
}

static void the_greatest_number_of_a_row_is_found(void **state)
{
    (void)state;
    struct rig rig = rig_open(is_cuda, folder);
    for (int round = 0; round < 30; round++) {
        int64_t rows = 1 + (int64_t)unit_below(20), cols = 1 + (int64_t)unit_below(round & 1 ? 40 : 130000);
        float *values = calloc((size_t)cols, sizeof *values);
        struct operand rows_of[20];
        int32_t got[20], want[20];
        struct test_step step = step_of_rows(1);
        rows = cols > 1000 ? 1 : rows;
        for (int64_t row = 0; row < rows; row++) {
            for (int64_t i = 0; i < cols; i++) /* few values, so that many are equal */
                values[i] = unit_below(9) ? -(float)unit_below(4) : unit_below(2) ? NAN : -INFINITY;
            if (unit_below(8) == 0)
                values[unit_below((size_t)cols)] = 3.5f;
            rows_of[row] = vector_of(&rig, values, cols);
            rig_begin(&rig, &step);
            rig.tested->table->greatest(rig.tested, &rows_of[row].tested, &got[row]);
            rig.plain->table->greatest(rig.plain, &rows_of[row].plain, &want[row]);
            rig_end(&rig);
            assert_int_equal(got[row], want[row]);
            operand_free(&rig, &rows_of[row]);
        }
        free(values), step_free(&step);
    }
    struct operand many = operand_random(&rig, rig.tested->residual, 37, 1001);
    struct test_step step = step_of_rows(37);
    int32_t got[37], want[37];
    rig_begin(&rig, &step);
    rig.tested->table->greatest(rig.tested, &many.tested, got);
    rig.plain->table->greatest(rig.plain, &many.plain, want);
    rig_end(&rig);
    assert_memory_equal(got, want, sizeof got);
    operand_free(&rig, &many), step_free(&step);
    rig_close(&rig);
}

/* ---- products ---- */

static void check_products(struct rig *rig, enum dtype dtype, int64_t rows, bool accumulate)
{
    int64_t k =
        dtype_info(dtype)->block_elements * (int64_t)(1 + unit_below(dtype_info(dtype)->quantized ? 6 : 300));
    int count = 1 + (int)unit_below(4);
    k = (k + 7) / 8 * 8;
    struct operand in = operand_random(rig, either(rig), rows, k);
    struct operand weights[4], biases[4], outs[4];
    struct backend_product tested[4], plain[4];
    for (int i = 0; i < count; i++) {
        /* A dozen at least: of a single number, cancellation may leave a few bits only. */
        int64_t n = 12 + (int64_t)unit_below(unit_below(2) ? 40 : 300);
        enum dtype out = accumulate ? rig->tested->residual : either(rig);
        bool biased = unit_below(2);
        weights[i] = weight_random(rig, dtype, n, k);
        biases[i] = vector_random(rig, n);
        outs[i] = accumulate ? operand_random(rig, out, rows, n) : operand_poisoned(rig, out, rows, n);
        tested[i] = (struct backend_product){&weights[i].tested, biased ? &biases[i].tested : NULL,
                                             &outs[i].tested, accumulate};
        plain[i] = (struct backend_product){&weights[i].plain, biased ? &biases[i].plain : NULL,
                                            &outs[i].plain, accumulate};
    }
    struct test_step step = step_of_rows(rows);
    rig_begin(rig, &step);
    rig->tested->table->products(rig->tested, &in.tested, tested, count);
    rig->plain->table->products(rig->plain, &in.plain, plain, count);
    rig_end(rig);
    for (int i = 0; i < count; i++) {
        operand_compare(rig, &outs[i], product_bound(rig, dtype), dtype_info(dtype)->name);
        weight_free(rig, &weights[i]), operand_free(rig, &biases[i]), operand_free(rig, &outs[i]);
    }
    operand_free(rig, &in), step_free(&step);
}

static void products_of_every_weight_type_agree(void **state)
{
    (void)state;
    static const int64_t rows[] = {1, 2, 7, 16, 17, 33, 150};
    struct rig rig = rig_open(is_cuda, folder);
    for (enum dtype dtype = 0; dtype < DT_COUNT; dtype++)
        for (int i = 0; i < 7 && rig.tested->table->supports_weight(rig.tested, dtype); i++)
            for (int accumulate = 0; accumulate < 2; accumulate++)
                check_products(&rig, dtype, rows[i], accumulate);
    rig_close(&rig);
}

/* A feed-forward block as models have it: norm, up and gate, activation, down; twice, so that what may be
 * left out between (the norm's and the gate's numbers) is left out. */
static void check_block(struct rig *rig, enum dtype dtype, int64_t rows, enum backend_norm kind)
{
    int64_t width = 256 * (int64_t)(1 + unit_below(3)), ffn = 256 * (int64_t)(1 + unit_below(4));
    enum dtype type = rig->tested->activation;
    struct operand up = weight_random(rig, dtype, ffn, width), gate = weight_random(rig, dtype, ffn, width);
    struct operand down = weight_random(rig, dtype, width, ffn), scale = vector_random(rig, width);
    struct operand bias = vector_random(rig, width),
                   x = operand_random(rig, rig->tested->residual, rows, width);
    struct operand h = operand_poisoned(rig, type, rows, width), a = operand_poisoned(rig, type, rows, ffn);
    struct operand b = operand_poisoned(rig, type, rows, ffn);
    struct test_step step = step_of_rows(rows);
    enum backend_activation act = (enum backend_activation)unit_below(3);
    const struct operand *shift = kind == NORM_LAYER ? &bias : NULL;
    rig_begin(rig, &step);
    for (int plain = 0; plain < 2; plain++) {
        struct backend *be = plain ? rig->plain : rig->tested;
        struct tensor *at = plain ? &a.plain : &a.tested, *bt = plain ? &b.plain : &b.tested;
        struct tensor *ht = plain ? &h.plain : &h.tested, *xt = plain ? &x.plain : &x.tested;
        for (int layer = 0; layer < 2; layer++) {
            struct backend_product two[2] = {{maybe(&up, plain), NULL, at, false},
                                             {maybe(&gate, plain), NULL, bt, false}};
            struct backend_product one = {maybe(&down, plain), NULL, xt, true};
            be->table->norm(be, kind, xt, maybe(&scale, plain), maybe(shift, plain), 1e-5f, 1, ht);
            be->table->products(be, ht, two, 2);
            be->table->activate(be, act, bt, at, at);
            be->table->products(be, at, &one, 1);
        }
    }
    rig_end(rig);
    operand_compare(rig, &x, 4 * product_bound(rig, dtype), "norm, products, gate");
    weight_free(rig, &up), weight_free(rig, &gate), weight_free(rig, &down);
    operand_free(rig, &scale), operand_free(rig, &bias), operand_free(rig, &x), operand_free(rig, &h);
    operand_free(rig, &a), operand_free(rig, &b), step_free(&step);
}

static void whole_feed_forward_blocks_agree(void **state)
{
    (void)state;
    static const enum dtype types[] = {DT_BF16, DT_Q8_0, DT_Q4_K, DT_Q4_1};
    static const int64_t rows[] = {1, 5, 100};
    struct rig rig = rig_open(is_cuda, folder);
    for (int type = 0; type < 4; type++)
        for (int i = 0; i < 3; i++)
            check_block(&rig, types[type], rows[i], i & 1 ? NORM_LAYER : NORM_RMS);
    rig_close(&rig);
}

/* ---- keys, values, attention ---- */

struct heads {
    int heads, kv_heads, head_dim;
    bool rotary, adjacent, alibi;
    int window, sinks;
    float softcap;
    enum dtype cache;
};

struct attention_fixture {
    struct heads heads;
    struct rig_cache cache;
    struct operand slopes, frequencies;
    int64_t blocks;
};

enum { SEQUENCES = 3 };

/* One step of attention: q, k and v as columns of one matrix, turned, written, attended. */
static void attention_step(struct rig *rig, struct attention_fixture *f, struct test_step *step, int turn)
{
    const struct heads *s = &f->heads;
    int64_t wide = (int64_t)s->heads * s->head_dim, narrow = (int64_t)s->kv_heads * s->head_dim;
    enum dtype type = rig->tested->activation;
    struct operand qkv = operand_small(rig, type, step->step.rows, wide + 2 * narrow);
    struct operand again = operand_small(rig, type, step->step.rows, wide + 2 * narrow);
    struct operand out = operand_poisoned(rig, type, step->step.rows, wide);
    struct operand q = operand_columns(&qkv, 0, wide), k = operand_columns(&qkv, wide, narrow);
    struct operand v = operand_columns(&qkv, wide + narrow, narrow);
    rig_begin(rig, step);
    for (int plain = 0; plain < 2; plain++) {
        struct backend *b = plain ? rig->plain : rig->tested;
        struct tensor *qt = plain ? &q.plain : &q.tested, *kt = plain ? &k.plain : &k.tested;
        struct backend_rotary rotary = {.heads = s->heads,
                                        .head_dim = s->head_dim,
                                        .rotary_dim = s->head_dim / 2 * 2,
                                        .adjacent = s->adjacent,
                                        .frequencies = maybe(&f->frequencies, plain),
                                        .scale = 1};
        struct backend_attention attention = {.heads = s->heads,
                                              .scale = 1 / sqrtf((float)s->head_dim),
                                              .softcap = s->softcap,
                                              .window = s->window,
                                              .sinks = s->sinks,
                                              .slopes = s->alibi ? maybe(&f->slopes, plain) : NULL,
                                              .reach = s->alibi ? 0x1p-24f : 0};
        struct backend_cache *cache = plain ? &f->cache.plain : &f->cache.tested;
        if (s->rotary) {
            b->table->rotary(b, &rotary, qt);
            rotary.heads = s->kv_heads;
            b->table->rotary(b, &rotary, kt);
        }
        b->table->cache_write(b, cache, kt, maybe(&v, plain));
        b->table->attention(b, &attention, cache, qt, plain ? &out.plain : &out.tested);
        if (turn != 3) /* from here on q, k and v are dead, so that turning and writing may be one */
            b->table->add(b, maybe(&again, plain), maybe(&again, plain), plain ? &qkv.plain : &qkv.tested);
    }
    rig_end(rig);
    char what[300];
    snprintf(what, sizeof what,
             "attention, %s, %d heads of %d, %d for keys%s%s, window %d, sinks %d, cap %g, turn %d of %lld "
             "rows from %lld, %lld, %lld",
             dtype_info(s->cache)->name, s->heads, s->head_dim, s->kv_heads, s->alibi ? ", ALiBi" : "",
             s->adjacent ? ", adjacent" : "", s->window, s->sinks, (double)s->softcap, turn,
             (long long)step->step.rows, (long long)step->sequences[0].start,
             (long long)step->sequences[1].start, (long long)step->sequences[2].start);
    operand_compare(rig, &out, rig->is_cuda ? 1e-2 : 1e-3, what);
    operand_compare(rig, &qkv, 2 * rounding(rig, type), "q, k and v");
    operand_free(rig, &qkv), operand_free(rig, &again), operand_free(rig, &out);
}

static void check_attention(struct rig *rig, const struct heads *heads)
{
    struct attention_fixture f = {.heads = *heads, .blocks = 24};
    float slopes[64], frequencies[256];
    for (int i = 0; i < heads->heads; i++)
        slopes[i] = exp2f(-8.0f * (float)(i + 1) / (float)heads->heads);
    for (int i = 0; i < heads->head_dim / 2; i++)
        frequencies[i] = powf(10000, -2 * (float)i / (float)heads->head_dim);
    f.slopes = vector_of(rig, slopes, heads->heads);
    f.frequencies = vector_of(rig, frequencies, heads->head_dim / 2);
    f.cache = cache_new(rig, heads->cache, heads->kv_heads, heads->head_dim, f.blocks, heads->alibi);
    int64_t starts[SEQUENCES] = {0, 0, 0};
    /* One table of blocks for all turns: a block belongs to one sequence for as long as it lives. */
    struct test_step all = step_new(SEQUENCES, (int64_t[]){0, 0, 0}, (int64_t[]){640, 640, 640}, 128);
    for (int turn = 0; turn < 5; turn++) { /* prompts, more of them, then one token each */
        int64_t rows[SEQUENCES];
        for (int i = 0; i < SEQUENCES; i++)
            rows[i] = turn < 2 ? 1 + (int64_t)unit_below(turn == 0 && i == 1 ? 300 : 150) : 1;
        struct test_step step = step_new(SEQUENCES, starts, rows, 128);
        for (int i = 0; i < SEQUENCES; i++) {
            step.sequences[i].blocks = all.sequences[i].blocks;
            step.sequences[i].block_count = all.sequences[i].block_count;
        }
        attention_step(rig, &f, &step, turn);
        for (int i = 0; i < SEQUENCES; i++)
            starts[i] += rows[i];
        step_free(&step);
    }
    step_free(&all);
    operand_free(rig, &f.slopes), operand_free(rig, &f.frequencies), cache_free(rig, &f.cache);
}

static void attention_over_a_paged_cache_agrees(void **state)
{
    (void)state;
    static const int dims[] = {16, 64, 80, 96, 112, 128, 256};
    static const enum dtype caches[] = {DT_F16, DT_BF16, DT_F32, DT_Q8_0};
    struct rig rig = rig_open(is_cuda, folder);
    for (int dim = 0; dim < 7; dim++)
        for (int cache = 0; cache < 4; cache++) {
            int kv_heads = 1 + (int)unit_below(3), group = 1 << unit_below(3);
            bool alibi = unit_below(3) == 0;
            struct heads heads = {.heads = kv_heads * group,
                                  .kv_heads = kv_heads,
                                  .head_dim = dims[dim],
                                  .rotary = !alibi,
                                  .adjacent = unit_below(2),
                                  .alibi = alibi,
                                  .window = unit_below(3) ? 0 : 20 + (int)unit_below(100),
                                  .softcap = unit_below(4) ? 0 : 5,
                                  .cache = caches[cache]};
            if (heads.window && unit_below(2))
                heads.sinks = 4;
            if (caches[cache] != DT_Q8_0 || dims[dim] % 32 == 0)
                check_attention(&rig, &heads);
        }
    rig_close(&rig);
}

static void copied_blocks_hold_the_same_keys(void **state)
{
    (void)state;
    struct rig rig = rig_open(is_cuda, folder);
    struct rig_cache cache = cache_new(&rig, DT_F16, 2, 64, 3, true);
    struct operand k = operand_random(&rig, rig.tested->activation, 100, 128);
    struct operand q = operand_random(&rig, rig.tested->activation, 1, 128);
    struct operand outs[2];
    int64_t start = 0, rows = 100;
    struct test_step step = step_new(1, &start, &rows, 128);
    int32_t first = 0, copy = 2;
    step.sequences[0].blocks = &first;
    rig_begin(&rig, &step);
    rig.tested->table->cache_write(rig.tested, &cache.tested, &k.tested, &k.tested);
    rig.plain->table->cache_write(rig.plain, &cache.plain, &k.plain, &k.plain);
    rig_end(&rig);
    assert_int_equal(rig.tested->table->cache_copy(rig.tested, &cache.tested, first, copy, NULL), LL_OK);
    step_free(&step);
    start = 99, rows = 1;
    for (int i = 0; i < 2; i++) {
        struct backend_attention attention = {.heads = 2, .scale = 0.1f};
        outs[i] = operand_poisoned(&rig, rig.tested->activation, 1, 128);
        step = step_new(1, &start, &rows, 128);
        step.sequences[0].blocks = i == 0 ? &first : &copy;
        rig.tested->table->begin(rig.tested, &step.step, NULL);
        rig.tested->table->attention(rig.tested, &attention, &cache.tested, &q.tested, &outs[i].tested);
        end_step(rig.tested);
        step_free(&step);
    }
    float *a = operand_read(&rig, &outs[0]), *b = operand_read(&rig, &outs[1]);
    assert_memory_equal(a, b, 128 * sizeof *a);
    free(a), free(b);
    operand_free(&rig, &k), operand_free(&rig, &q), operand_free(&rig, &outs[0]),
        operand_free(&rig, &outs[1]);
    cache_free(&rig, &cache);
    rig_close(&rig);
}

/* ---- steps ---- */

/* The first time straight, the second becomes a graph where there are graphs, the others run it. */
static void a_step_run_again_gives_the_same_bytes(void **state)
{
    (void)state;
    struct rig rig = rig_open(is_cuda, folder);
    struct operand weight = weight_random(&rig, DT_Q4_K, 512, 256), scale = vector_random(&rig, 256);
    struct operand x = operand_random(&rig, rig.tested->residual, 3, 256);
    struct operand h = operand_poisoned(&rig, rig.tested->activation, 3, 256);
    struct operand out = operand_poisoned(&rig, rig.tested->residual, 3, 512);
    float *first = NULL;
    for (int round = 0; round < 5; round++) {
        struct test_step step = step_of_rows(3);
        struct backend_product product = {&weight.tested, NULL, &out.tested, false};
        rig.tested->table->begin(rig.tested, &step.step, NULL);
        rig.tested->table->norm(rig.tested, NORM_RMS, &x.tested, &scale.tested, NULL, 1e-5f, 1, &h.tested);
        rig.tested->table->products(rig.tested, &h.tested, &product, 1);
        end_step(rig.tested);
        float *now = operand_read(&rig, &out);
        if (first)
            assert_memory_equal(now, first, 3 * 512 * sizeof *now);
        free(first);
        first = now;
        step_free(&step);
    }
    free(first);
    weight_free(&rig, &weight), operand_free(&rig, &scale), operand_free(&rig, &x), operand_free(&rig, &h);
    operand_free(&rig, &out);
    rig_close(&rig);
}

static void a_raised_flag_stops_the_step(void **state)
{
    (void)state;
    struct rig rig = rig_open(is_cuda, folder);
    struct operand in = operand_random(&rig, rig.tested->activation, 100, 256);
    struct operand out = operand_poisoned(&rig, rig.tested->activation, 100, 256);
    struct test_step step = step_of_rows(100);
    ll_cancel *cancel = ll_cancel_new();
    ll_error error = {0};
    rig.tested->table->begin(rig.tested, &step.step, cancel);
    ll_cancel_request(cancel);
    rig.tested->table->add(rig.tested, &in.tested, &in.tested, &out.tested);
    ll_cancel_reset(cancel);
    rig.tested->table->add(rig.tested, &in.tested, &in.tested, &out.tested);
    assert_int_equal(rig.tested->table->end(rig.tested, &error), LL_CANCELLED);
    float *got = operand_read(&rig, &out);
    assert_true(isnan(got[0]));
    free(got);
    ll_cancel_free(cancel);
    rig.tested->table->begin(rig.tested, &step.step, NULL);
    rig.tested->table->add(rig.tested, &in.tested, &in.tested, &out.tested);
    end_step(rig.tested);
    operand_free(&rig, &in), operand_free(&rig, &out), step_free(&step);
    rig_close(&rig);
}

static void memory_is_counted_zeroed_and_refused_in_a_sentence(void **state)
{
    (void)state;
    struct rig rig = rig_open(is_cuda, folder);
    struct backend_memory_use before, during, after;
    struct backend *b = rig.tested;
    void *memory[6] = {NULL};
    static const uint64_t sizes[6] = {1, 5000, 3 << 20, 40 << 20, 100 << 20, 64};
    uint64_t total = 0;
    b->table->memory_use(b, &before);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(b->table->memory_new(b, MEMORY_CACHE, sizes[i], &memory[i], NULL), LL_OK);
        assert_int_equal((uintptr_t)memory[i] % 64, 0);
        total += sizes[i];
    }
    b->table->memory_use(b, &during);
    uint64_t ours = during.ours[MEMORY_CACHE] - before.ours[MEMORY_CACHE];
    assert_true(ours >= total && ours < total + 6 * 256);
    if (rig.is_cuda) { /* what the driver says moved by as much, within 64 MiB */
        int64_t moved = (int64_t)(before.free - during.free);
        assert_true(llabs(moved - (int64_t)ours) <= 64 << 20);
    }
    struct tensor view = {.dtype = DT_F32, .rows = 1, .cols = 1250, .stride = 5000, .data = memory[1]};
    float values[1250];
    assert_int_equal(b->table->read(b, &view, values, NULL), LL_OK);
    for (int i = 0; i < 1250; i++)
        assert_true(values[i] == 0);
    for (int i = 0; i < 6; i++)
        b->table->memory_free(b, MEMORY_CACHE, memory[i], sizes[i]);
    b->table->memory_use(b, &after);
    assert_int_equal(after.ours[MEMORY_CACHE], before.ours[MEMORY_CACHE]);
    ll_error error = {0};
    assert_int_not_equal(b->table->memory_new(b, MEMORY_CACHE, (uint64_t)1 << 50, &memory[0], &error), LL_OK);
    assert_true(strlen(error.text) > 20);
    rig_close(&rig);
}

int main(int argc, char **argv)
{
    is_cuda = argc == 3 && strcmp(argv[1], "cuda") == 0;
    folder = is_cuda ? argv[2] : NULL;
    unit_seed();
    harness_seed(unit_random());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norms_agree),
        cmocka_unit_test(a_norm_onto_the_residual_stream_agrees),
        cmocka_unit_test(elementwise_operations_agree),
        cmocka_unit_test(embeddings_of_every_type_agree),
        cmocka_unit_test(an_unknown_token_fails_the_step),
        cmocka_unit_test(outputs_are_gathered_in_order),
        cmocka_unit_test(the_greatest_number_of_a_row_is_found),
        cmocka_unit_test(products_of_every_weight_type_agree),
        cmocka_unit_test(whole_feed_forward_blocks_agree),
        cmocka_unit_test(attention_over_a_paged_cache_agrees),
        cmocka_unit_test(copied_blocks_hold_the_same_keys),
        cmocka_unit_test(a_step_run_again_gives_the_same_bytes),
        cmocka_unit_test(a_raised_flag_stops_the_step),
        cmocka_unit_test(memory_is_counted_zeroed_and_refused_in_a_sentence),
    };
    return cmocka_run_group_tests_name("a backend against the reference", tests, NULL, NULL);
}
