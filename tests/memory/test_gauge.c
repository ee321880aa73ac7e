/* Tests of the gauge: what is counted, when it is given back, what a reading costs, what it says.
 * SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "base/machine.h"
#include "base/published.h"
#include "console/memory.h"
#include "engine/tiny.h"

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

/* Later tests find the vectors by a path that may be relative. */
static char folder_before[4096];

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
        cmocka_unit_test(weights_rest_and_come_back_with_the_session_as_it_was),
        cmocka_unit_test(blocks_used_shared_and_free_add_up_to_the_cache),
        cmocka_unit_test(the_three_forms_say_the_same),
        cmocka_unit_test(what_prometheus_reads_is_well_formed),
    };
    return cmocka_run_group_tests_name("memory/gauge", tests, enter, NULL);
}
