/* bench: prefill and decode speed at several depths of the context.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Repetitions are interleaved (all depths once, then all again), so that a machine that grows slower
 * with time slows every depth alike; medians are shown. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "console/human.h"
#include "console/memory.h"
#include "repl/json.h"
#include "repl/say.h"
#include "repl/verbs.h"
#include "repl/work.h"

#define DEPTH_LIMIT 64

struct depth {
    size_t tokens;
    double *prefill, *decode; /* [repeat] tokens per second */
};

struct bench {
    struct program *program;
    struct work *work;
    struct depth depths[DEPTH_LIMIT];
    size_t depth_count, repeat, prefill, decode;
    ll_token *tokens;
};

static int parse_depths(struct bench *bench, const char *list)
{
    for (const char *at = list; *at;) {
        char *end;
        errno = 0;
        unsigned long tokens = strspn(at, "0123456789") ? strtoul(at, &end, 10) : 0;
        if (!strspn(at, "0123456789") || errno || tokens > 1000000000 || (*end && *end != ',') ||
            bench->depth_count == DEPTH_LIMIT ||
            (bench->depth_count && tokens <= bench->depths[bench->depth_count - 1].tokens)) {
            say_error("--depths takes at most %d rising whole numbers separated by commas, not “%s”",
                      DEPTH_LIMIT, list);
            return LEAVE_USAGE;
        }
        bench->depths[bench->depth_count++].tokens = tokens;
        at = *end ? end + 1 : end;
    }
    return LEAVE_OK;
}

/* Ordinary tokens in a fixed order without a pattern; what they say does not change the speed. */
static void fill_tokens(ll_token *tokens, size_t count, size_t vocabulary)
{
    uint64_t state = 0x9E3779B97F4A7C15u;
    size_t low = vocabulary / 10, span = vocabulary > 20 ? vocabulary - 2 * low : vocabulary;
    for (size_t i = 0; i < count; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        tokens[i] = (ll_token)(low + state % (span ? span : 1));
    }
}

static int bench_sync(struct bench *bench, size_t count)
{
    ll_run run = program_run(bench->program);
    run.on_progress = NULL;
    ll_error error = {0};
    if (ll_session_sync(bench->work->session, bench->tokens, count, &run, &error) != LL_OK)
        return program_fail(bench->program, CONCERN_WORK, &error);
    return LEAVE_OK;
}

static int time_prefill(struct bench *bench, struct depth *depth, size_t round)
{
    double began = human_clock();
    int code = bench_sync(bench, depth->tokens + bench->prefill);
    depth->prefill[round] = (double)bench->prefill / (human_clock() - began);
    return code;
}

static int time_decode(struct bench *bench, struct depth *depth, size_t round)
{
    ll_run run = program_run(bench->program);
    run.on_progress = NULL;
    ll_sampling sampling;
    ll_sampling_init(&sampling);
    sampling.temperature = 0;
    sampling.ignore_end = true;
    ll_finish finish;
    ll_error error = {0};
    double began = human_clock();
    if (ll_generate(bench->work->session, &sampling, bench->decode, &run, &finish, &error) != LL_OK)
        return program_fail(bench->program, CONCERN_WORK, &error);
    if (finish == LL_FINISH_CANCELLED)
        return program_interrupted();
    depth->decode[round] = (double)bench->decode / (human_clock() - began);
    return LEAVE_OK;
}

/* Decoding is timed at the depth itself: one prompt token stands there, so at depth 0 it is 1. */
static int time_depth(struct bench *bench, struct depth *depth, size_t round)
{
    size_t base = depth->tokens ? depth->tokens : 1;
    int code = depth->tokens ? bench_sync(bench, depth->tokens) : LEAVE_OK;
    if (!code)
        code = time_prefill(bench, depth, round);
    if (!code && bench->decode) {
        ll_session_rewind(bench->work->session, base - 1); /* one token is computed anew, for its logits */
        code = bench_sync(bench, base);
    }
    if (!code && bench->decode)
        code = time_decode(bench, depth, round);
    return code;
}

static int time_all(struct bench *bench)
{
    ll_progress progress = {.phase = LL_SUMMARIZING, .total = bench->repeat * bench->depth_count};
    bench->program->meter.words = "measuring";
    bench->program->meter.unit = "measurements/s";
    for (size_t round = 0; round < bench->repeat; round++)
        for (size_t i = 0; i < bench->depth_count; i++) {
            ll_session_rewind(bench->work->session, 0);
            meter_update(&bench->program->meter, &progress);
            int code = time_depth(bench, &bench->depths[i], round);
            if (code)
                return code;
            progress.done++;
        }
    return LEAVE_OK;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static void print_table(struct bench *bench)
{
    struct output *output = &bench->program->output;
    ll_device_info device = {0};
    ll_engine_get_device(bench->work->engine, 0, &device);
    struct text place = {0};
    memory_name_device(bench->work->engine, bench->work->model, &place);
    output_printf(output, "%s on %s (%s); medians of %zu\n", text_string(&bench->work->label),
                  text_string(&place), device.backend, bench->repeat);
    text_fini(&place);
    output_printf(output, "%10s  %20s  %20s\n", "depth", "prefill, tokens/s", "decode, tokens/s");
    for (size_t i = 0; i < bench->depth_count; i++) {
        struct depth *depth = &bench->depths[i];
        output_printf(output, "%10s  %20s", human_count(depth->tokens).text,
                      human_rate(median(depth->prefill, bench->repeat)).text);
        output_printf(output, "  %20s\n",
                      bench->decode ? human_rate(median(depth->decode, bench->repeat)).text : "-");
    }
}

static json_t *rates_json(double *values, size_t count)
{
    json_t *row = json_object(), *all = json_array();
    for (size_t i = 0; i < count; i++) /* in the order of measuring, before median sorts them */
        json_array_append_new(all, json_make_number(values[i]));
    json_put_number(row, "median", median(values, count));
    json_object_set_new(row, "all", all);
    return row;
}

static json_t *bench_json(struct bench *bench)
{
    json_t *object = json_object(), *rows = json_array();
    ll_device_info device = {0};
    ll_engine_get_device(bench->work->engine, 0, &device);
    json_put_string(object, "model", text_string(&bench->work->path));
    struct text place = {0};
    memory_name_device(bench->work->engine, bench->work->model, &place);
    json_put_string(object, "device", text_string(&place));
    text_fini(&place);
    json_put_string(object, "backend", device.backend);
    json_put_number(object, "load_seconds", bench->work->load_seconds);
    json_put_count(object, "prefill_tokens", bench->prefill);
    json_put_count(object, "decode_tokens", bench->decode);
    for (size_t i = 0; i < bench->depth_count; i++) {
        json_t *row = json_object();
        json_put_count(row, "depth", bench->depths[i].tokens);
        json_object_set_new(row, "prefill_rate", rates_json(bench->depths[i].prefill, bench->repeat));
        if (bench->decode)
            json_object_set_new(row, "decode_rate", rates_json(bench->depths[i].decode, bench->repeat));
        json_array_append_new(rows, row);
    }
    json_object_set_new(object, "depths", rows);
    return object;
}

static int bench_prepare(struct bench *bench)
{
    const struct settings *settings = &bench->program->settings;
    bench->repeat = (size_t)settings_count(settings, OPTION_REPEAT, 5);
    bench->prefill = (size_t)settings_count(settings, OPTION_PREFILL, 512);
    bench->decode = (size_t)settings_count(settings, OPTION_MAX_TOKENS, 32);
    int code = parse_depths(bench, settings_text(settings, OPTION_DEPTHS));
    if (!code && !bench->depth_count) {
        say_error("--depths is empty");
        return LEAVE_USAGE;
    }
    for (size_t i = 0; !code && i < bench->depth_count; i++) {
        bench->depths[i].prefill = calloc(bench->repeat, sizeof(double));
        bench->depths[i].decode = calloc(bench->repeat, sizeof(double));
        if (!bench->depths[i].prefill || !bench->depths[i].decode)
            code = LEAVE_MEMORY;
    }
    return code;
}

static int bench_open(struct bench *bench)
{
    size_t deepest = bench->depths[bench->depth_count - 1].tokens;
    size_t needed = deepest + bench->prefill + bench->decode + 1;
    int code = work_open(bench->work, bench->program, NULL, WORK_MODEL);
    if (code)
        return code;
    size_t room = (size_t)settings_count(&bench->program->settings, OPTION_CONTEXT, needed);
    if (room < needed) {
        say_error("the deepest measurement needs %zu tokens and --context is %zu", needed, room);
        return LEAVE_USAGE;
    }
    bench->tokens = calloc(needed, sizeof *bench->tokens);
    if (!bench->tokens)
        return LEAVE_MEMORY;
    fill_tokens(bench->tokens, needed, bench->work->info.vocabulary);
    return work_open_session(bench->work, bench->program, room);
}

int verb_bench(struct program *program)
{
    struct work work = {0};
    struct bench bench = {.program = program, .work = &work};
    int code = bench_prepare(&bench);
    if (!code)
        code = bench_open(&bench);
    if (!code)
        code = time_all(&bench);
    meter_clear(&program->meter);
    if (!code && settings_flag(&program->settings, OPTION_JSON))
        json_print(&program->output, bench_json(&bench), JSON_INDENT(2));
    else if (!code)
        print_table(&bench);
    for (size_t i = 0; i < bench.depth_count; i++) {
        free(bench.depths[i].prefill);
        free(bench.depths[i].decode);
    }
    free(bench.tokens);
    work_close(&work, code);
    return code;
}
