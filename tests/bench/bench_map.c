/* The map step: windows one at a time against eight side by side, at equal output.
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: bench_map MODEL TEXT [THREADS]
 *
 * Cuts TEXT into windows of 600 tokens and answers each with 64 tokens, once with one sequence and once with
 * eight, in turns; decode is what remains of a run when the same run with one token of answer is taken off.
 * Then the whole step against what the two rates predict. Medians of three rounds, in processor time when
 * THREADS is 1 (other work on the machine then disturbs least), else in wall time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "base/file.h"
#include "engine/batch.h"

enum { WINDOWS = 8, WINDOW = 600, ANSWER = 64, ROUNDS = 3 };

static clockid_t watch = CLOCK_MONOTONIC;

static double clock_seconds(void)
{
    struct timespec t;
    clock_gettime(watch, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void fail(const char *what, const ll_error *error)
{
    fprintf(stderr, "%s: %s\n", what, error->text);
    exit(1);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *values)
{
    qsort(values, ROUNDS, sizeof *values, compare);
    return values[ROUNDS / 2];
}

/* Seconds; the answers' tokens one after another in *ret_tokens when it is given. */
static double run(ll_model *model, const ll_token *tokens, size_t answer, size_t width, ll_token *ret_tokens)
{
    struct batch_request requests[WINDOWS];
    struct batch_output outputs[WINDOWS];
    struct batch_options options = {.context = WINDOW + ANSWER, .width = width, .cache_type = LL_F16};
    ll_error error = {0};
    ll_sampling_init(&options.sampling);
    options.sampling.temperature = 0;
    options.sampling.ignore_end = true;
    for (size_t i = 0; i < WINDOWS; i++)
        requests[i] = (struct batch_request){tokens + i * WINDOW, WINDOW, answer, 0};
    double began = clock_seconds();
    if (batch_run(model, &options, requests, WINDOWS, NULL, outputs, &error) != LL_OK)
        fail("batch", &error);
    double seconds = clock_seconds() - began;
    for (size_t i = 0; i < WINDOWS; i++) {
        if (ret_tokens)
            memcpy(ret_tokens + i * ANSWER, outputs[i].tokens, outputs[i].count * sizeof *ret_tokens);
        mem_free(outputs[i].tokens);
    }
    return seconds;
}

int main(int argc, char **argv)
{
    ll_engine_options engine_options;
    ll_engine *engine = NULL;
    ll_model *model = NULL;
    ll_error error = {0};
    struct strbuf text = {0};
    static ll_token tokens[200000], one[WINDOWS * ANSWER], eight[WINDOWS * ANSWER];
    size_t count = 0;
    if (argc < 3) {
        fprintf(stderr, "usage: bench_map MODEL TEXT [THREADS]\n");
        return 2;
    }
    ll_engine_options_init(&engine_options);
    engine_options.threads = argc > 3 ? atoi(argv[3]) : 0;
    watch = engine_options.threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
    if (ll_engine_open(&engine_options, &engine, &error) != LL_OK ||
        ll_model_open(engine, argv[1], NULL, NULL, &model, &error) != LL_OK ||
        file_read(argv[2], 600000, NULL, &text, &error) != LL_OK ||
        ll_tokenize(model, text.text, text.length, false, false, tokens, 200000, &count, &error) != LL_OK)
        fail(argv[1], &error);
    if (count < WINDOWS * WINDOW) {
        fprintf(stderr, "%s has %zu tokens; %d are needed\n", argv[2], count, WINDOWS * WINDOW);
        return 2;
    }
    double read_one[ROUNDS], read_eight[ROUNDS], all_one[ROUNDS], all_eight[ROUNDS];
    (void)run(model, tokens, 1, WINDOWS, NULL);
    for (size_t r = 0; r < ROUNDS; r++) {
        read_one[r] = run(model, tokens, 1, 1, NULL);
        read_eight[r] = run(model, tokens, 1, WINDOWS, NULL);
        all_one[r] = run(model, tokens, ANSWER, 1, one);
        all_eight[r] = run(model, tokens, ANSWER, WINDOWS, eight);
    }
    double prefill[2] = {WINDOWS * WINDOW / median(read_one), WINDOWS * WINDOW / median(read_eight)};
    double decoded = WINDOWS * (ANSWER - 1);
    double decode[2] = {decoded / (median(all_one) - median(read_one)),
                        decoded / (median(all_eight) - median(read_eight))};
    double predicted = WINDOWS * WINDOW / prefill[1] + decoded / decode[1];
    printf("answers equal        %s\n", memcmp(one, eight, sizeof one) == 0 ? "yes" : "NO");
    printf("prefill, tokens/s    %.0f one at a time, %.0f eight together\n", prefill[0], prefill[1]);
    printf("decode, tokens/s     %.1f one at a time, %.1f eight together: %.2f times\n", decode[0], decode[1],
           decode[1] / decode[0]);
    printf(
        "whole step, seconds  %.2f one at a time, %.2f eight together: %.2f times; the rates predict %.2f\n",
        median(all_one), median(all_eight), median(all_one) / median(all_eight), predicted);
    strbuf_fini(&text);
    ll_model_close(model);
    ll_engine_close(engine);
    return memcmp(one, eight, sizeof one) == 0 ? 0 : 1;
}
