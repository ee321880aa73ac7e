/* Tests of the gauge: what is counted, when it is given back, what a reading costs, what it says.
 * SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/machine.h"
#include "base/published.h"
#include "base/strbuf.h"
#include "console/memory.h"
#include "engine/tiny.h"
#include "toy/toy_model.h"

/* ---- machine and containers ---- */

static char scratch[64];

static void put(const char *path, const char *text)
{
    char command[512];
    const char *slash = strrchr(path, '/');
    snprintf(command, sizeof command, "mkdir -p '%.*s'", (int)(slash - path), path);
    assert_int_equal(system(command), 0);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void read_memory(const char *root, struct machine_memory *memory)
{
    struct machine machine;
    machine_open(&machine, root);
    machine_memory(&machine, memory);
    machine_close(&machine);
}

static void a_machine_without_containers_gives_what_it_has(void **state)
{
    struct machine_memory memory;
    (void)state;
    put("bare/proc/meminfo", "MemTotal:       1000 kB\nMemFree: 10 kB\nMemAvailable:    600 kB\n");
    put("bare/proc/self/cgroup", "0::/\n");
    read_memory("bare", &memory);
    assert_int_equal(memory.total, 1000 * 1024);
    assert_int_equal(memory.available, 600 * 1024);
    assert_int_equal(memory.limit, 0);
}

static void the_tightest_container_of_version_2_counts_and_file_caches_are_free(void **state)
{
    struct machine_memory memory;
    (void)state;
    put("two/proc/meminfo", "MemTotal:       100000 kB\nMemAvailable:    60000 kB\n");
    put("two/proc/self/cgroup", "0::/outer/inner\n");
    put("two/sys/fs/cgroup/outer/inner/memory.max", "max\n");
    put("two/sys/fs/cgroup/outer/inner/memory.current", "5000000\n");
    put("two/sys/fs/cgroup/outer/memory.max", "9000000\n");
    put("two/sys/fs/cgroup/outer/memory.current", "8000000\n");
    put("two/sys/fs/cgroup/outer/memory.stat", "anon 5500000\ninactive_file 1500000\nactive_file 1000000\n");
    read_memory("two", &memory);
    assert_int_equal(memory.limit, 9000000);
    assert_int_equal(memory.total, 9000000);
    assert_int_equal(memory.available, 9000000 - (8000000 - 2500000));
}

static void containers_of_version_1_count_even_when_the_path_is_the_hosts(void **state)
{
    struct machine_memory memory;
    (void)state;
    put("one/proc/meminfo", "MemTotal:       100000 kB\nMemAvailable:    60000 kB\n");
    put("one/proc/self/cgroup", "9:cpu,cpuacct:/x\n4:memory:/docker/0123\n0::/\n");
    put("one/sys/fs/cgroup/memory/memory.limit_in_bytes", "20000000\n");
    put("one/sys/fs/cgroup/memory/memory.usage_in_bytes", "30000000\n");
    read_memory("one", &memory);
    assert_int_equal(memory.limit, 20000000);
    assert_int_equal(memory.available, 0);
    put("one/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    read_memory("one", &memory);
    assert_int_equal(memory.limit, 0);
    assert_int_equal(memory.total, 100000 * 1024);
}

static void this_machine_has_memory_and_this_process_a_part_of_it(void **state)
{
    struct machine_memory memory;
    struct machine_process process;
    (void)state;
    read_memory("", &memory);
    struct machine machine;
    machine_open(&machine, "");
    machine_process(&machine, &process);
    machine_close(&machine);
    assert_true(memory.total > memory.available && memory.available > 0);
    assert_true(process.resident > 0 && process.resident < memory.total);
    assert_true(process.resident_file <= process.resident);
    assert_true(machine_resident_peak() * 2 > process.resident);
}

/* ---- published structs ---- */

struct pair {
    uint64_t value, negated, more[20];
};

static struct published shared;
static atomic_bool stop;

static void *write_pairs(void *unused)
{
    (void)unused;
    for (uint64_t i = 1; !atomic_load(&stop); i++) {
        struct pair pair = {.value = i, .negated = ~i};
        for (size_t j = 0; j < 20; j++)
            pair.more[j] = i * j;
        published_write(&shared, &pair, sizeof pair);
        if (i % 64 == 0) /* a writer without pause starves readers where threads run one after the other */
            sched_yield();
    }
    return NULL;
}

static void readers_never_see_half_of_a_published_struct(void **state)
{
    pthread_t writer;
    struct pair pair = {.negated = ~(uint64_t)0};
    uint64_t distinct = 0, last = 0;
    (void)state;
    published_write(&shared, &pair, sizeof pair);
    assert_int_equal(pthread_create(&writer, NULL, write_pairs, NULL), 0);
    for (size_t i = 0; i < unit_rounds(200000) || (distinct < 10 && i < 100000000); i++) {
        published_read(&shared, &pair, sizeof pair);
        assert_true(pair.negated == ~pair.value);
        for (size_t j = 0; j < 20; j++)
            assert_true(pair.more[j] == pair.value * j);
        distinct += pair.value != last;
        last = pair.value;
    }
    atomic_store(&stop, true);
    pthread_join(writer, NULL);
    assert_true(distinct >= 10);
}

/* ---- the engine ---- */

static void every_component_comes_and_goes_with_what_it_is_for(void **state)
{
    ll_memory before, loaded, opened, closed;
    (void)state;
    for (int m = 0; m < TINY_COUNT; m++) {
        ll_engine *engine = tiny_engine("cpu");
        assert_int_equal(ll_engine_get_memory(engine, 0, &before), LL_OK);
        for (int i = LL_WEIGHTS; i < LL_PROGRAM; i++)
            assert_int_equal(before.reserved[i], 0);
        ll_model *model = tiny_model(engine, tiny_names[m]);
        ll_engine_get_memory(engine, 0, &loaded);
        assert_true(loaded.reserved[LL_WEIGHTS] > 0 && loaded.reserved[LL_SCRATCH] > 0);
        assert_int_equal(loaded.reserved[LL_CACHE], 0);
        ll_session *session = tiny_session(model, 512);
        ll_token tokens[200];
        tiny_tokens(model, tokens, 200);
        assert_int_equal(ll_session_sync(session, tokens, 200, NULL, NULL), LL_OK);
        ll_engine_get_memory(engine, 0, &opened);
        assert_true(opened.reserved[LL_CACHE] > 0 && opened.reserved[LL_LOGITS] > 0);
        assert_true(opened.used[LL_CACHE] > 0 && opened.used[LL_CACHE] < opened.reserved[LL_CACHE]);
        ll_session_close(session);
        ll_model_close(model);
        ll_engine_get_memory(engine, 0, &closed);
        assert_int_equal(closed.reserved[LL_WEIGHTS], 0);
        assert_int_equal(closed.reserved[LL_CACHE], 0);
        assert_int_equal(closed.used[LL_CACHE], 0);
        assert_int_equal(closed.reserved[LL_LOGITS], 0);
        assert_int_equal(closed.peak[LL_CACHE], opened.reserved[LL_CACHE]);
        assert_int_equal(closed.peak[LL_WEIGHTS], opened.reserved[LL_WEIGHTS]);
        ll_engine_close(engine);
    }
}

static void rows_add_up_to_what_is_resident(void **state)
{
    ll_memory memory;
    (void)state;
    ll_engine *engine = tiny_engine("cpu");
    ll_model *model = tiny_model(engine, tiny_names[0]);
    ll_session *session = tiny_session(model, 4096);
    ll_token tokens[512];
    tiny_tokens(model, tokens, 512);
    assert_int_equal(ll_session_sync(session, tokens, 512, NULL, NULL), LL_OK);
    ll_engine_get_memory(engine, 0, &memory);
    uint64_t sum = 0;
    for (int i = 0; i < LL_COMPONENTS; i++)
        sum += memory.used[i];
    assert_int_equal(sum, memory.resident);
    assert_true(memory.resident_peak >= memory.resident);
    ll_session_close(session);
    ll_model_close(model);
    ll_engine_close(engine);
}

static void memory_that_holds_nothing_is_really_given_back(void **state)
{
    enum { CONTEXT = 24000, FILLED = 20000 };
    ll_memory full, trimmed;
    ll_session_stats stats;
    uint64_t bytes = 0;
    (void)state;
    ll_engine *engine = tiny_engine("cpu");
    ll_model *model = tiny_model(engine, "bloom-4-heads");
    ll_session *session = tiny_session(model, CONTEXT);
    ll_token *tokens = test_malloc(FILLED * sizeof *tokens);
    tiny_tokens(model, tokens, FILLED);
    assert_int_equal(ll_session_sync(session, tokens, FILLED, NULL, NULL), LL_OK);
    ll_engine_get_memory(engine, 0, &full);
    assert_int_equal(ll_session_rewind(session, 64), LL_OK);
    assert_int_equal(ll_session_trim(session, &bytes, NULL), LL_OK);
    ll_engine_get_memory(engine, 0, &trimmed);
    assert_true(bytes > full.used[LL_CACHE] / 2);
    assert_true(trimmed.resident + full.used[LL_CACHE] / 2 < full.resident);
    assert_int_equal(ll_session_sync(session, tokens, 300, NULL, NULL), LL_OK); /* and it goes on as before */
    ll_session_get_stats(session, &stats);
    assert_int_equal(stats.reused, 64);
    ll_session *fresh = tiny_session(model, CONTEXT);
    assert_int_equal(ll_session_sync(fresh, tokens, 300, NULL, NULL), LL_OK);
    size_t count;
    const float *ours = ll_session_logits(session, &count), *theirs = ll_session_logits(fresh, &count);
    assert_true(count > 0);
    assert_memory_equal(ours, theirs, count * sizeof *ours);
    test_free(tokens);
    ll_session_close(fresh);
    ll_session_close(session);
    ll_model_close(model);
    ll_engine_close(engine);
}

/* Later tests find the vectors by a path that may be relative. */
static char folder_before[4096];

struct returning {
    ll_cancel *cancel;
    size_t loading, prefilling;
    bool stop;
};

static void count_phases(void *user, const ll_progress *progress)
{
    struct returning *returning = user;
    returning->loading += progress->phase == LL_LOADING;
    returning->prefilling += progress->phase == LL_PREFILLING;
    if (returning->stop)
        ll_cancel_request(returning->cancel);
}

/* What the model takes goes, its keys stay; what is computed afterwards is what it would have been. */
static void a_model_at_rest_holds_nothing_and_comes_back_by_itself(void **state)
{
    enum { TOKENS = 120 };
    static const char *const names[] = {"llama-quantised", "gemma3-window", "mpt-bias-16-clipped"};
    (void)state;
    for (size_t m = 0; m < sizeof names / sizeof *names; m++) {
        ll_token tokens[TOKENS];
        ll_memory awake, resting;
        ll_session_stats stats;
        ll_error error = {0};
        size_t count;
        ll_run run;
        ll_engine *engine = tiny_engine(m == 1 ? "reference" : "cpu");
        ll_model *model = tiny_model(engine, names[m]);
        ll_session *session = tiny_session(model, 256), *steady = tiny_session(model, 256);
        struct returning returning = {.cancel = ll_cancel_new()};
        ll_run_init(&run);
        run.cancel = returning.cancel;
        run.on_progress = count_phases;
        run.user = &returning;
        tiny_tokens(model, tokens, TOKENS);
        assert_int_equal(ll_session_sync(session, tokens, 100, NULL, NULL), LL_OK);
        ll_engine_get_memory(engine, 0, &awake);
        assert_true(ll_model_rest(model) > 0);
        assert_int_equal(ll_model_rest(model), 0);
        ll_engine_get_memory(engine, 0, &resting);
        assert_int_equal(resting.reserved[LL_WEIGHTS], 0);
        assert_true(resting.reserved[LL_SCRATCH] < awake.reserved[LL_SCRATCH]);
        assert_int_equal(resting.used[LL_CACHE], awake.used[LL_CACHE]);
        returning.stop = true; /* it can be stopped while it comes back, and nothing is lost */
        assert_int_equal(ll_session_sync(session, tokens, TOKENS, &run, &error), LL_CANCELLED);
        assert_int_equal(ll_session_position(session), 100);
        returning.stop = false;
        ll_cancel_reset(returning.cancel);
        returning.loading = 0;
        (void)ll_model_rest(model);
        assert_int_equal(ll_session_sync(session, tokens, TOKENS, &run, &error), LL_OK);
        assert_true(returning.loading > 0 && returning.prefilling > 0);
        ll_session_get_stats(session, &stats);
        assert_int_equal(stats.reused, 100);
        assert_int_equal(ll_session_sync(steady, tokens, 100, NULL, NULL), LL_OK);
        assert_int_equal(ll_session_sync(steady, tokens, TOKENS, NULL, NULL), LL_OK);
        const float *ours = ll_session_logits(session, &count), *theirs = ll_session_logits(steady, &count);
        assert_true(count > 0);
        assert_memory_equal(ours, theirs, count * sizeof *ours);
        ll_cancel_free(returning.cancel);
        ll_session_close(steady);
        ll_session_close(session);
        ll_model_close(model);
        ll_engine_close(engine);
    }
}

struct sleeper {
    ll_model *model;
    atomic_bool stop;
    size_t rests;
};

static void *lay_to_rest(void *user)
{
    struct sleeper *sleeper = user;
    while (!atomic_load(&sleeper->stop)) {
        sleeper->rests += ll_model_rest(sleeper->model) > 0;
        sched_yield();
    }
    return NULL;
}

static void a_model_laid_to_rest_between_steps_answers_as_if_it_was_not(void **state)
{
    ll_sampling sampling;
    ll_finish finish;
    ll_token tokens[40];
    pthread_t thread;
    size_t count, wanted;
    (void)state;
    ll_engine *engine = tiny_engine("cpu");
    ll_model *model = tiny_model(engine, "gemma3-window");
    ll_session *session = tiny_session(model, 256), *steady = tiny_session(model, 256);
    struct sleeper sleeper = {.model = model};
    ll_sampling_init(&sampling);
    sampling.ignore_end = true;
    tiny_tokens(model, tokens, 40);
    assert_int_equal(ll_session_sync(steady, tokens, 40, NULL, NULL), LL_OK);
    assert_int_equal(ll_generate(steady, &sampling, 60, NULL, &finish, NULL), LL_OK);
    assert_int_equal(pthread_create(&thread, NULL, lay_to_rest, &sleeper), 0);
    assert_int_equal(ll_session_sync(session, tokens, 40, NULL, NULL), LL_OK);
    assert_int_equal(ll_generate(session, &sampling, 60, NULL, &finish, NULL), LL_OK);
    atomic_store(&sleeper.stop, true);
    pthread_join(thread, NULL);
    const ll_token *ours = ll_session_tokens(session, &count), *theirs = ll_session_tokens(steady, &wanted);
    assert_int_equal(count, wanted);
    assert_memory_equal(ours, theirs, count * sizeof *ours);
    ll_session_close(steady);
    ll_session_close(session);
    ll_model_close(model);
    ll_engine_close(engine);
}

/* A copy of a file of the vectors, in this folder. */
static void copy_vector(const char *name, const char *copy)
{
    struct strbuf bytes = {0};
    char path[4200];
    bool whole = getenv("top_srcdir")[0] == '/';
    snprintf(path, sizeof path, "%s%s%s/tests/vectors/%s", whole ? "" : folder_before, whole ? "" : "/",
             getenv("top_srcdir"), name);
    assert_int_equal(file_read(path, (size_t)1 << 30, NULL, &bytes, NULL), LL_OK);
    assert_int_equal(file_write(copy, bytes.text, bytes.length, NULL), LL_OK);
    strbuf_fini(&bytes);
}

static void copy_folder(void)
{
    copy_vector("hf/mixtral/config.json", "config.json");
    copy_vector("hf/mixtral/tokenizer.json", "tokenizer.json");
    copy_vector("hf/mixtral/tokenizer_config.json", "tokenizer_config.json");
    copy_vector("hf/mixtral/model.safetensors", "model.safetensors");
}

/* The model at path, used, then spoilt as `spoil` does to one of its files. */
static void use_spoilt(const char *path, const char *file, void (*spoil)(const char *path), const char *said)
{
    ll_token tokens[60];
    ll_model *model = NULL;
    ll_error error = {0};
    ll_engine *engine = tiny_engine("cpu");
    assert_int_equal(ll_model_open(engine, path, NULL, NULL, &model, NULL), LL_OK);
    ll_session *session = tiny_session(model, 128);
    tiny_tokens(model, tokens, 60);
    assert_int_equal(ll_session_sync(session, tokens, 30, NULL, NULL), LL_OK);
    spoil(file);
    assert_int_equal(ll_session_sync(session, tokens, 60, NULL, &error), LL_IO);
    assert_non_null(strstr(error.text, said));
    assert_int_equal(ll_session_position(session), 30);
    ll_session_close(session);
    ll_model_close(model);
    ll_engine_close(engine);
}

static void cut_file(const char *path)
{
    assert_int_equal(truncate(path, 5000), 0);
}

static void write_into(const char *path)
{
    struct timespec moments[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1000}};
    assert_int_equal(utimensat(AT_FDCWD, path, moments, 0), 0);
}

static void a_model_file_that_is_cut_or_rewritten_is_refused_and_not_fallen_over(void **state)
{
    (void)state;
    copy_vector("llama-grouped.gguf", "spoilt.gguf");
    use_spoilt("spoilt.gguf", "spoilt.gguf", cut_file, "was cut to 5000");
    copy_vector("llama-grouped.gguf", "spoilt.gguf");
    use_spoilt("spoilt.gguf", "spoilt.gguf", write_into, "was written to");
    copy_folder();
    use_spoilt(".", "model.safetensors", cut_file, "was cut to 5000");
    copy_folder();
    use_spoilt(".", "model.safetensors", write_into, "was written to");
}

/* Weights of folders are partly made anew, and go and come back with the rest. */
static void a_folder_at_rest_holds_nothing_and_is_the_same_afterwards(void **state)
{
    enum { TOKENS = 80 };
    ll_token tokens[TOKENS];
    ll_memory awake, resting, again;
    ll_model *model = NULL;
    char before[65], meanwhile[65];
    size_t count;
    (void)state;
    copy_folder();
    ll_engine *engine = tiny_engine("cpu");
    assert_int_equal(ll_model_open(engine, ".", NULL, NULL, &model, NULL), LL_OK);
    ll_session *session = tiny_session(model, 128), *steady = tiny_session(model, 128);
    tiny_tokens(model, tokens, TOKENS);
    assert_int_equal(ll_session_sync(steady, tokens, TOKENS, NULL, NULL), LL_OK);
    assert_int_equal(ll_session_sync(session, tokens, 30, NULL, NULL), LL_OK);
    ll_engine_get_memory(engine, 0, &awake);
    assert_int_equal(ll_model_get_identity(model, before, NULL), LL_OK);
    assert_true(ll_model_rest(model) > 0);
    ll_engine_get_memory(engine, 0, &resting);
    assert_int_equal(resting.reserved[LL_WEIGHTS], 0);
    assert_int_equal(ll_model_get_identity(model, meanwhile, NULL), LL_OK);
    assert_string_equal(before, meanwhile);
    assert_int_equal(ll_session_sync(session, tokens, TOKENS, NULL, NULL), LL_OK);
    ll_engine_get_memory(engine, 0, &again);
    assert_int_equal(again.reserved[LL_WEIGHTS], awake.reserved[LL_WEIGHTS]);
    const float *ours = ll_session_logits(session, &count), *theirs = ll_session_logits(steady, &count);
    assert_memory_equal(ours, theirs, count * sizeof *ours);
    ll_session_close(steady);
    ll_session_close(session);
    ll_model_close(model);
    ll_engine_close(engine);
}

/* Keys that nobody has written take no memory, however small the piece of each layer is: what is left for the
 * program is the same at every context. */
static void memory_that_is_only_promised_is_nobodys(void **state)
{
    uint64_t least = UINT64_MAX, most = 0;
    struct toy_model toy = toy_model_defaults("llama");
    (void)state;
    toy.layers = 24;
    toy.context = 8192;
    assert_true(toy_model_write_file(&toy, "promised.gguf"));
    ll_engine *engine = tiny_engine("cpu");
    ll_model *model = NULL;
    assert_int_equal(ll_model_open(engine, "promised.gguf", NULL, NULL, &model, NULL), LL_OK);
    for (size_t context = 256; context <= 8192; context *= 2) {
        ll_token token = 1;
        ll_memory memory;
        ll_session *session = tiny_session(model, context);
        assert_int_equal(ll_session_sync(session, &token, 1, NULL, NULL), LL_OK);
        ll_engine_get_memory(engine, 0, &memory);
        assert_true(memory.used[LL_CACHE] < memory.reserved[LL_CACHE]);
        assert_true(memory.used[LL_SCRATCH] < memory.reserved[LL_SCRATCH]);
        least = memory.used[LL_PROGRAM] < least ? memory.used[LL_PROGRAM] : least;
        most = memory.used[LL_PROGRAM] > most ? memory.used[LL_PROGRAM] : most;
        ll_session_close(session);
    }
    if (!getenv("ll_sanitizers") || !*getenv("ll_sanitizers"))
        assert_true(most - least < 2 << 20);
    ll_model_close(model);
    ll_engine_close(engine);
    unlink("promised.gguf");
}

static void the_reach_of_alibi_is_measured_and_that_of_windows_known(void **state)
{
    enum { TOKENS = 700 };
    ll_token tokens[TOKENS];
    ll_session_stats stats;
    ll_model_info info;
    (void)state;
    ll_engine *engine = tiny_engine("cpu");
    for (int m = 0; m < TINY_COUNT; m++) {
        ll_model *model = tiny_model(engine, tiny_names[m]);
        ll_session *session = tiny_session(model, TOKENS + 8);
        ll_model_get_info(model, &info);
        tiny_tokens(model, tokens, TOKENS);
        assert_int_equal(ll_session_sync(session, tokens, TOKENS, NULL, NULL), LL_OK);
        ll_session_get_stats(session, &stats);
        assert_in_range(stats.reach, 1, TOKENS);
        assert_int_equal(stats.window, info.sliding_window);
        assert_int_equal(stats.reach_mean > 0.0, info.position == LL_ALIBI);
        assert_true(stats.reach_mean <= (double)stats.reach);
        ll_session_close(session);
        ll_model_close(model);
    }
    ll_engine_close(engine);
}

static void weights_rest_and_come_back_with_the_session_as_it_was(void **state)
{
    ll_token tokens[100];
    float before[4096];
    size_t count;
    (void)state;
    ll_engine *engine = tiny_engine("cpu");
    ll_model *model = tiny_model(engine, tiny_names[0]);
    ll_session *session = tiny_session(model, 256);
    tiny_tokens(model, tokens, 100);
    assert_int_equal(ll_session_sync(session, tokens, 100, NULL, NULL), LL_OK);
    const float *logits = ll_session_logits(session, &count);
    assert_in_range(count, 1, 4096);
    memcpy(before, logits, count * sizeof *before);
    assert_true(ll_model_rest(model) > 0);
    assert_int_equal(ll_session_sync(session, tokens, 50, NULL, NULL), LL_OK);
    assert_int_equal(ll_session_sync(session, tokens, 100, NULL, NULL), LL_OK);
    logits = ll_session_logits(session, &count);
    assert_memory_equal(logits, before, count * sizeof *before);
    assert_true(ll_model_cached_bytes(model) > 0);
    ll_session_close(session);
    ll_model_close(model);
    ll_engine_close(engine);
}

static void blocks_used_shared_and_free_add_up_to_the_cache(void **state)
{
    ll_session_stats stats;
    ll_token tokens[300];
    (void)state;
    ll_engine *engine = tiny_engine("cpu");
    ll_model *model = tiny_model(engine, tiny_names[1]);
    ll_session *session = tiny_session(model, 1000);
    tiny_tokens(model, tokens, 300);
    assert_int_equal(ll_session_sync(session, tokens, 300, NULL, NULL), LL_OK);
    ll_session_get_stats(session, &stats);
    assert_int_equal(stats.cache_blocks, (300 + stats.block_tokens - 1) / stats.block_tokens);
    assert_int_equal(stats.blocks_shared, 0);
    assert_int_equal((stats.cache_blocks + stats.blocks_free) * stats.block_tokens % stats.block_tokens, 0);
    assert_true((stats.cache_blocks + stats.blocks_free) * stats.block_tokens >= 1000);
    assert_true(stats.cache_used_bytes > 0 && stats.cache_used_bytes < stats.cache_bytes);
    assert_true(stats.prefill_rate > 0.0);
    ll_session_close(session);
    ll_model_close(model);
    ll_engine_close(engine);
}

/* ---- what it says ---- */

static void the_three_forms_say_the_same(void **state)
{
    struct text out = {0};
    ll_token tokens[100];
    char line[128];
    (void)state;
    ll_engine *engine = tiny_engine("cpu");
    ll_model *model = tiny_model(engine, tiny_names[0]);
    ll_session *session = tiny_session(model, 256);
    tiny_tokens(model, tokens, 100);
    assert_int_equal(ll_session_sync(session, tokens, 100, NULL, NULL), LL_OK);
    memory_show(MEMORY_TEXT, engine, model, session, &out);
    assert_non_null(strstr(text_string(&out), "context: 100 of 256 tokens"));
    assert_non_null(strstr(text_string(&out), "KV blocks of 64 tokens: 2 used (0 shared)"));
    text_clear(&out);
    memory_show(MEMORY_JSON, engine, model, session, &out);
    json_t *root = json_loads(text_string(&out), 0, NULL);
    assert_non_null(root);
    json_t *device = json_array_get(json_object_get(root, "devices"), 0);
    json_t *cache = json_object_get(json_object_get(device, "components"), "cache");
    json_int_t reserved = json_integer_value(json_object_get(cache, "reserved"));
    assert_true(reserved > 0);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(root, "session"), "position")), 100);
    text_clear(&out);
    memory_show(MEMORY_PROMETHEUS, engine, model, session, &out);
    snprintf(line, sizeof line,
             "longleaf_memory_bytes{device=\"0\",component=\"cache\",state=\"reserved\"} %lld\n",
             (long long)reserved);
    assert_non_null(strstr(text_string(&out), line));
    assert_non_null(strstr(text_string(&out), "\nlongleaf_context_tokens 100\n"));
    text_clear(&out);
    memory_show(MEMORY_TEXT, engine, NULL, NULL, &out);
    assert_null(strstr(text_string(&out), "KV blocks"));
    text_fini(&out);
    json_decref(root);
    ll_session_close(session);
    ll_model_close(model);
    ll_engine_close(engine);
}

/* Each family is announced once, before its samples, which is what a scraper insists on. */
static void what_prometheus_reads_is_well_formed(void **state)
{
    struct text out = {0};
    char announced[128] = "";
    size_t samples = 0;
    (void)state;
    ll_engine *engine = tiny_engine("cpu");
    memory_show(MEMORY_PROMETHEUS, engine, NULL, NULL, &out);
    for (char *line = strtok(out.bytes, "\n"); line; line = strtok(NULL, "\n")) {
        if (strncmp(line, "# HELP ", 7) == 0) {
            snprintf(announced, sizeof announced, "%.*s", (int)strcspn(line + 7, " "), line + 7);
        } else if (strncmp(line, "# TYPE ", 7) == 0) {
            assert_int_equal(strncmp(line + 7, announced, strlen(announced)), 0);
        } else {
            assert_int_equal(strcspn(line, "{ "), strlen(announced));
            assert_int_equal(strncmp(line, announced, strlen(announced)), 0);
            samples++;
        }
    }
    assert_true(samples > 10);
    text_fini(&out);
    ll_engine_close(engine);
}

static int enter(void **state)
{
    (void)state;
    unit_seed();
    return 0;
}

static int enter_scratch(void **state)
{
    (void)state;
    return unit_enter_scratch(scratch);
}

static int remember_folder(void **state)
{
    return getcwd(folder_before, sizeof folder_before) ? enter_scratch(state) : -1;
}

static int leave_scratch(void **state)
{
    (void)state;
    unit_leave_scratch(scratch);
    return chdir(folder_before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_machine_without_containers_gives_what_it_has, remember_folder,
                                        leave_scratch),
        cmocka_unit_test_setup_teardown(the_tightest_container_of_version_2_counts_and_file_caches_are_free,
                                        remember_folder, leave_scratch),
        cmocka_unit_test_setup_teardown(containers_of_version_1_count_even_when_the_path_is_the_hosts,
                                        remember_folder, leave_scratch),
        cmocka_unit_test(this_machine_has_memory_and_this_process_a_part_of_it),
        cmocka_unit_test(readers_never_see_half_of_a_published_struct),
        cmocka_unit_test(every_component_comes_and_goes_with_what_it_is_for),
        cmocka_unit_test(rows_add_up_to_what_is_resident),
        cmocka_unit_test(memory_that_holds_nothing_is_really_given_back),
        cmocka_unit_test(a_model_at_rest_holds_nothing_and_comes_back_by_itself),
        cmocka_unit_test(a_model_laid_to_rest_between_steps_answers_as_if_it_was_not),
        cmocka_unit_test_setup_teardown(a_model_file_that_is_cut_or_rewritten_is_refused_and_not_fallen_over,
                                        remember_folder, leave_scratch),
        cmocka_unit_test(a_folder_at_rest_holds_nothing_and_is_the_same_afterwards),
        cmocka_unit_test(memory_that_is_only_promised_is_nobodys),
        cmocka_unit_test(the_reach_of_alibi_is_measured_and_that_of_windows_known),
        cmocka_unit_test(weights_rest_and_come_back_with_the_session_as_it_was),
        cmocka_unit_test(blocks_used_shared_and_free_add_up_to_the_cache),
        cmocka_unit_test(the_three_forms_say_the_same),
        cmocka_unit_test(what_prometheus_reads_is_well_formed),
    };
    return cmocka_run_group_tests_name("memory/gauge", tests, enter, NULL);
}
