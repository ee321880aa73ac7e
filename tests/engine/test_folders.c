/* Hugging Face folders of every family: loaded, converted, tokenised and quantised.
 * SPDX-License-Identifier: Apache-2.0
 *
 * tests/vectors/make_folders.py wrote the folders, the logits (transformers in double precision) and the
 * token ids (the tokenizers library). Distances are shares of the logits' range. */
#include "longleaf.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "engine/vector_file.h"

#define BOUND_EXACT 2e-6
#define BOUND_QUANTISED 2e-1 /* Q8_0; seen: 5e-3, and 1.3e-1 where scores are steep (phi3) */

static ll_engine *engines[2]; /* plain loops, kernels */

static void check(ll_status status, const ll_error *error)
{
    if (status != LL_OK)
        fail_msg("%s: %s: %s", ll_status_name(status), error->where, error->text);
}

static int open_engines(void **state)
{
    static const char *const devices[] = {"reference", "cpu"};
    ll_error error;
    (void)state;
    for (int i = 0; i < 2; i++) {
        ll_engine_options options;
        ll_engine_options_init(&options);
        options.device = devices[i];
        options.threads = 2;
        check(ll_engine_open(&options, &engines[i], &error), &error);
    }
    return 0;
}

static int close_engines(void **state)
{
    (void)state;
    ll_engine_close(engines[0]);
    ll_engine_close(engines[1]);
    return 0;
}

static const char *folder_of(const char *name)
{
    char inside[160];
    snprintf(inside, sizeof inside, "hf/%s", name);
    return vector_path(inside, "");
}

static struct vector_file *expected_of(const char *name)
{
    char inside[160];
    snprintf(inside, sizeof inside, "hf/%s/expected", name);
    return vector_file_open(inside);
}

static ll_model *open_model(int engine, const char *path)
{
    ll_model *model;
    ll_error error;
    check(ll_model_open(engines[engine], path, NULL, NULL, &model, &error), &error);
    return model;
}

/* All logits of the file's sequences, one after the other, with F32 keys and values. */
static float *logits_of(ll_model *model, const struct vector_file *file)
{
    ll_session_options options;
    ll_session *session;
    ll_error error;
    size_t rows = 0, width;
    for (size_t i = 0; i < file->sequence_count; i++)
        rows += file->sequences[i].row_count;
    float *ret = calloc(rows * file->vocabulary, sizeof *ret), *at = ret;
    assert_non_null(ret);
    ll_session_options_init(&options);
    options.context = 256;
    options.cache_type = LL_F32;
    check(ll_session_open(model, &options, &session, &error), &error);
    for (size_t i = 0; i < file->sequence_count; i++)
        for (size_t r = 0; r < file->sequences[i].row_count; r++, at += file->vocabulary) {
            const struct vector_sequence *sequence = &file->sequences[i];
            check(ll_session_sync(session, sequence->tokens, sequence->rows[r] + 1, NULL, &error), &error);
            const float *logits = ll_session_logits(session, &width);
            assert_int_equal(width, file->vocabulary);
            memcpy(at, logits, width * sizeof *at);
        }
    ll_session_close(session);
    return ret;
}

static double worst(const struct vector_file *file, const float *seen)
{
    double worst = 0;
    for (size_t i = 0; i < file->sequence_count; i++)
        for (size_t r = 0; r < file->sequences[i].row_count; r++, seen += file->vocabulary) {
            double distance =
                vector_distance(seen, file->sequences[i].logits + r * file->vocabulary, file->vocabulary);
            worst = distance > worst ? distance : worst;
        }
    return worst;
}

/* A name that nobody else has; removed by the caller. */
static void temporary_path(char path[64])
{
    strcpy(path, "/tmp/longleaf-folder-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
}

static double distance_at(int engine, const char *path, const struct vector_file *file)
{
    ll_model *model = open_model(engine, path);
    float *seen = logits_of(model, file);
    double distance = worst(file, seen);
    free(seen);
    ll_model_close(model);
    return distance;
}

static void a_folder_gives_the_logits_of_its_family(void **state)
{
    const char *name = *state;
    struct vector_file *file = expected_of(name);
    double plain = distance_at(0, folder_of(name), file), fast = distance_at(1, folder_of(name), file);
    printf("# folder %s: logits %.1e and %.1e\n", name, plain, fast);
    assert_true(plain <= BOUND_EXACT);
    assert_true(fast <= BOUND_EXACT);
    vector_file_close(file);
}

static void what_is_converted_gives_the_same_bits(void **state)
{
    const char *name = *state;
    struct vector_file *file = expected_of(name);
    char path[64];
    ll_error error;
    temporary_path(path);
    check(ll_model_quantize(folder_of(name), path, NULL, NULL, &error), &error);
    ll_model *folder = open_model(1, folder_of(name)), *converted = open_model(1, path);
    float *from_folder = logits_of(folder, file), *from_file = logits_of(converted, file);
    size_t rows = 0;
    for (size_t i = 0; i < file->sequence_count; i++)
        rows += file->sequences[i].row_count;
    assert_memory_equal(from_folder, from_file, rows * file->vocabulary * sizeof(float));
    printf("# convert %s: logits %.1e\n", name, worst(file, from_file));
    assert_int_equal(ll_model_tensor_count(folder), ll_model_tensor_count(converted));
    free(from_folder);
    free(from_file);
    ll_model_close(folder);
    ll_model_close(converted);
    unlink(path);
    vector_file_close(file);
}

static void what_is_quantised_stays_close(void **state)
{
    const char *name = *state;
    struct vector_file *file = expected_of(name);
    char path[64];
    ll_error error;
    temporary_path(path);
    check(ll_model_quantize(folder_of(name), path, "Q8_0", NULL, &error), &error);
    double distance = distance_at(0, path, file);
    printf("# quantize %s: logits %.1e\n", name, distance);
    assert_true(distance <= BOUND_QUANTISED);
    unlink(path);
    vector_file_close(file);
}

static const float *row_of(const ll_session *session)
{
    size_t width;
    const float *logits = ll_session_logits(session, &width);
    assert_non_null(logits);
    return logits;
}

/* One token at a time, and all at once. */
static void pieces_give_the_same_bits(void **state)
{
    const char *name = *state;
    struct vector_file *file = expected_of(name);
    const struct vector_sequence *sequence = &file->sequences[file->sequence_count - 1];
    ll_session_options options;
    ll_session *whole, *pieces;
    ll_error error;
    ll_model *model = open_model(1, folder_of(name));
    ll_session_options_init(&options);
    options.context = 256;
    check(ll_session_open(model, &options, &whole, &error), &error);
    check(ll_session_open(model, &options, &pieces, &error), &error);
    check(ll_session_sync(whole, sequence->tokens, sequence->count, NULL, &error), &error);
    for (size_t i = 1; i <= sequence->count; i++)
        check(ll_session_sync(pieces, sequence->tokens, i, NULL, &error), &error);
    assert_memory_equal(row_of(whole), row_of(pieces), file->vocabulary * sizeof(float));
    ll_session_close(whole);
    ll_session_close(pieces);
    ll_model_close(model);
    vector_file_close(file);
}

/* Saved, and opened in another session: nothing is computed again, and the logits are the same. */
static void a_saved_session_comes_back(void **state)
{
    const char *name = *state;
    struct vector_file *file = expected_of(name);
    const struct vector_sequence *sequence = &file->sequences[file->sequence_count - 1];
    char path[64];
    ll_session_options options;
    ll_session_stats stats;
    ll_session *first, *second;
    ll_error error;
    temporary_path(path);
    ll_model *model = open_model(1, folder_of(name)), *again = open_model(1, folder_of(name));
    ll_session_options_init(&options);
    options.context = 256;
    check(ll_session_open(model, &options, &first, &error), &error);
    check(ll_session_sync(first, sequence->tokens, sequence->count, NULL, &error), &error);
    check(ll_session_save(first, path, NULL, 0, NULL, &error), &error);
    check(ll_session_open(again, &options, &second, &error), &error);
    check(ll_session_load(second, path, NULL, &error), &error);
    check(ll_session_sync(second, sequence->tokens, sequence->count, NULL, &error), &error);
    assert_int_equal(ll_session_get_stats(second, &stats), LL_OK);
    assert_int_equal(stats.prefilled + stats.decoded, 0);
    assert_memory_equal(row_of(first), row_of(second), file->vocabulary * sizeof(float));
    ll_session_close(second);
    ll_model_close(again);
    /* another family's, and the same with other settings: refused, and nothing changes */
    const char *other = strcmp(name, "llama") == 0 ? "qwen2" : "llama";
    ll_model *foreign = open_model(1, folder_of(other));
    check(ll_session_open(foreign, &options, &second, &error), &error);
    assert_int_equal(ll_session_load(second, path, NULL, &error), LL_UNSUPPORTED);
    assert_int_equal(ll_session_position(second), 0);
    ll_session_close(second);
    ll_model_close(foreign);
    options.cache_type = LL_F32;
    check(ll_session_open(model, &options, &second, &error), &error);
    assert_int_equal(ll_session_load(second, path, NULL, &error), LL_UNSUPPORTED);
    ll_session_close(second);
    ll_session_close(first);
    ll_model_close(model);
    unlink(path);
    printf("# session %s: equal\n", name);
    vector_file_close(file);
}

/* ---- tokens ---- */

static size_t read_hex(const char *text, size_t digits, char *out)
{
    for (size_t i = 0; i < digits / 2; i++) {
        unsigned byte;
        assert_int_equal(sscanf(text + 2 * i, "%2x", &byte), 1);
        out[i] = (char)byte;
    }
    return digits / 2;
}

/* One line: the text in hexadecimal, a colon, the ids. */
static void expect_ids(const ll_model *model, char *line, size_t number)
{
    static char text[1 << 14];
    static ll_token seen[1 << 14];
    ll_error error;
    char *colon = strchr(line, ':');
    assert_non_null(colon);
    size_t length = read_hex(line, (size_t)(colon - line), text), count, at = 0;
    check(ll_tokenize(model, text, length, true, true, seen, sizeof seen / sizeof *seen, &count, &error),
          &error);
    for (char *next = colon + 1, *end;; next = end, at++) {
        long id = strtol(next, &end, 10);
        if (end == next)
            break;
        if (at >= count || seen[at] != id)
            fail_msg("line %zu: id %zu is %d of %zu, not %ld", number, at, at < count ? seen[at] : -1, count,
                     id);
    }
    assert_int_equal(at, count);
}

static void the_tokenizer_gives_the_ids_of_its_library(void **state)
{
    const char *name = *state;
    char inside[160], line[1 << 15];
    size_t lines = 0;
    ll_model *model = open_model(1, folder_of(name));
    snprintf(inside, sizeof inside, "hf/%s/ids", name);
    FILE *in = fopen(vector_path(inside, ".txt"), "r");
    assert_non_null(in);
    while (fgets(line, sizeof line, in))
        expect_ids(model, line, ++lines);
    fclose(in);
    assert_true(lines > 20);
    printf("# tokens %s: %zu texts equal\n", name, lines);
    ll_model_close(model);
}

static void the_chat_template_is_the_folders(void **state)
{
    static const char expected[] = "<|start|>user\nhello<|end|>\n";
    ll_message message = {"user", "hello", 5};
    char out[256];
    size_t length;
    ll_error error;
    ll_model *model = open_model(1, folder_of(*state));
    check(ll_chat_render(model, &message, 1, false, out, sizeof out, &length, &error), &error);
    assert_in_range(length, sizeof expected - 1, sizeof expected + 2); /* BOS may be written before it */
    assert_memory_equal(out + length - (sizeof expected - 1), expected, sizeof expected - 1);
    printf("# template %s: equal\n", (const char *)*state);
    ll_model_close(model);
}

/* ---- positions by options ---- */

#define META_MOST 4

/* The worst distance of a file of tests/vectors with metadata put in place of its own. */
static double distance_with(const char *name, const char *const *meta, size_t count)
{
    struct vector_file *file = vector_file_open(name);
    ll_model_options options;
    ll_model *model;
    ll_error error;
    ll_model_options_init(&options);
    options.set_meta = meta;
    options.set_meta_count = count;
    check(ll_model_open(engines[0], vector_path(name, ".gguf"), &options, NULL, &model, &error), &error);
    float *seen = logits_of(model, file);
    double distance = worst(file, seen);
    free(seen);
    ll_model_close(model);
    vector_file_close(file);
    return distance;
}

static void scaling_that_is_asked_for_is_that_of_a_file(void **state)
{
    static const char *const llama3[] = {"*.rope.scaling.type=str:llama3", "*.rope.scaling.factor=f32:8",
                                         "*.rope.scaling.original_context_length=u32:64"};
    static const char *const yarn[] = {"*.rope.scaling.type=str:yarn", "*.rope.scaling.factor=f32:8",
                                       "*.rope.scaling.original_context_length=u32:64"};
    static const char *const none[] = {"*.rope.scaling.type=str:none"};
    static const char *const linear[] = {"*.rope.scaling.type=str:linear", "*.rope.scaling.factor=f32:3"};
    (void)state;
    /* the file keeps these as a tensor of divisors; here they are computed */
    assert_true(distance_with("llama-tied-scaled", llama3, 3) <= BOUND_EXACT);
    assert_true(distance_with("llama-tied-scaled", none, 1) > 1e-3);
    assert_true(distance_with("llama-yarn", yarn, 3) <= BOUND_EXACT);
    assert_true(distance_with("llama-yarn", none, 1) > 1e-3);
    assert_true(distance_with("llama-grouped", none, 1) <= BOUND_EXACT);
    assert_true(distance_with("llama-grouped", linear, 2) > 1e-3);
}

static void alibi_takes_its_bias_and_stretch_from_options(void **state)
{
    static const char *const usual[] = {"*.attention.max_alibi_bias=f32:8",
                                        "*.attention.alibi_stretch=f32:1"};
    static const char *const longer[] = {"*.attention.alibi_stretch=f32:4"};
    static const char *const steep[] = {"*.attention.max_alibi_bias=f32:16"};
    /* one head has the slope 2^-bias: a stretch of 4 takes two from the bias */
    static const char *const traded[] = {"*.attention.max_alibi_bias=f32:6",
                                         "*.attention.alibi_stretch=f32:4", "*.attention.head_count=u32:1",
                                         "*.attention.head_count_kv=u32:1"};
    static const char *const single[] = {"*.attention.head_count=u32:1", "*.attention.head_count_kv=u32:1"};
    (void)state;
    assert_true(distance_with("bloom-4-heads", usual, 2) <= BOUND_EXACT);
    assert_true(distance_with("bloom-4-heads", longer, 1) > 1e-3);
    assert_true(distance_with("bloom-4-heads", steep, 1) > 1e-3);
    double one = distance_with("bloom-4-heads", single, 2),
           other = distance_with("bloom-4-heads", traded, META_MOST);
    assert_true(one > 1e-3 && fabs(one - other) < 1e-5);
}

static void options_without_meaning_are_refused(void **state)
{
    static const struct {
        const char *name, *meta;
        ll_status status;
    } cases[] = {{"bloom-4-heads", "*.rope.scaling.type=str:yarn", LL_ARGUMENT},
                 {"llama-grouped", "*.attention.alibi_stretch=f32:2", LL_ARGUMENT},
                 {"llama-grouped", "*.attention.max_alibi_bias=f32:8", LL_ARGUMENT},
                 {"llama-grouped", "*.rope.scaling.type=str:magic", LL_UNSUPPORTED},
                 {"llama-grouped", "*.rope.scaling.type=str:longrope", LL_FORMAT},
                 {"bloom-4-heads", "*.attention.alibi_stretch=f32:0", LL_FORMAT}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ll_model_options options;
        ll_model *model = NULL;
        ll_error error = {0};
        ll_model_options_init(&options);
        options.set_meta = &cases[i].meta;
        options.set_meta_count = 1;
        ll_status status =
            ll_model_open(engines[1], vector_path(cases[i].name, ".gguf"), &options, NULL, &model, &error);
        if (status != cases[i].status || model || !error.text[0])
            fail_msg("%s with %s: %s, %s", cases[i].name, cases[i].meta, ll_status_name(status), error.text);
    }
}

/* A mixture that does not fit its tensors, or a file that only claims to be one. */
static void mixtures_that_do_not_fit_are_refused(void **state)
{
    static const struct {
        const char *folder, *meta;
        ll_status status;
    } cases[] = {{"mixtral", "*.expert_used_count=u32:6", LL_FORMAT},
                 {"mixtral", "*.expert_used_count=u32:0", LL_FORMAT},
                 {"mixtral", "*.expert_used_count=i32:-1", LL_FORMAT},
                 {"mixtral", "*.expert_count=u32:4", LL_FORMAT},
                 {"mixtral", "*.expert_count=u32:4294967295", LL_FORMAT},
                 {"mixtral", "*.expert_count=u32:0", LL_FORMAT},
                 {"mixtral", "*.expert_count=str:5", LL_FORMAT},
                 {"mixtral", "*.expert_weights_scale=str:x", LL_FORMAT},
                 {"mixtral", "*.expert_shared_count=u32:1", LL_UNSUPPORTED},
                 {"qwen3moe", "*.expert_feed_forward_length=u32:15", LL_FORMAT},
                 {"qwen3moe", "*.expert_feed_forward_length=u32:4000000000", LL_FORMAT},
                 {"llama", "*.expert_count=u32:4", LL_FORMAT},
                 {"gemma2", "*.expert_count=u32:4", LL_UNSUPPORTED}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ll_model_options options;
        ll_model *model = NULL;
        ll_error error = {0};
        ll_model_options_init(&options);
        options.set_meta = &cases[i].meta;
        options.set_meta_count = 1;
        ll_status status =
            ll_model_open(engines[1], folder_of(cases[i].folder), &options, NULL, &model, &error);
        if (status != cases[i].status || model || !error.text[0])
            fail_msg("%s with %s: %s, %s", cases[i].folder, cases[i].meta, ll_status_name(status),
                     error.text);
    }
}

/* ---- verdicts ---- */

static void every_folder_and_file_is_found_sound(void **state)
{
    ll_model_info info;
    ll_error error;
    check(ll_model_check(folder_of(*state), &info, &error), &error);
    assert_true(info.layers >= 2 && info.vocabulary > 0 && info.parameters > 1000);
}

/* ---- damage ---- */

static const char *const parts[] = {"config.json", "tokenizer.json", "tokenizer_config.json",
                                    "model.safetensors"};
enum { PARTS = 4, ROUNDS = 60, HEAD = 4000 /* bytes of weights that are their directory */ };

static size_t read_part(const char *folder, const char *part, char **ret)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/%s", folder, part);
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    assert_int_equal(fseek(in, 0, SEEK_END), 0);
    size_t size = (size_t)ftell(in);
    rewind(in);
    *ret = malloc(size);
    assert_non_null(*ret);
    assert_int_equal(fread(*ret, 1, size, in), size);
    fclose(in);
    return size;
}

static void write_part(const char *folder, const char *part, const char *bytes, size_t size)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/%s", folder, part);
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, size, out), size);
    fclose(out);
}

/* One part of a sound folder changed at a few places, or cut: a model or a sentence, never anything worse. */
static void random_damage_to_a_folder_is_an_error_or_a_model(void **state)
{
    char folder[] = "/tmp/longleaf-damage-XXXXXX", *bytes[PARTS];
    size_t sizes[PARTS], refused = 0;
    unsigned seed = (unsigned)getpid();
    (void)state;
    printf("# seed %u\n", seed);
    srand(seed);
    assert_non_null(mkdtemp(folder));
    for (int i = 0; i < PARTS; i++)
        sizes[i] = read_part(folder_of("mixtral"), parts[i], &bytes[i]);
    for (int round = 0; round < ROUNDS; round++) {
        int hit = round % PARTS;
        for (int i = 0; i < PARTS; i++)
            write_part(folder, parts[i], bytes[i], sizes[i]);
        size_t reach = hit == PARTS - 1 ? HEAD : sizes[hit], size = sizes[hit];
        char *damaged = malloc(size);
        assert_non_null(damaged);
        memcpy(damaged, bytes[hit], size);
        for (int n = rand() % 4; n >= 0; n--)
            damaged[(size_t)rand() % reach] = (char)(rand() % 2 ? '0' + rand() % 10 : rand() % 256);
        write_part(folder, parts[hit], damaged, rand() % 5 ? size : (size_t)rand() % size);
        free(damaged);
        ll_model *model = NULL;
        ll_error error = {0};
        ll_status status = ll_model_open(engines[0], folder, NULL, NULL, &model, &error);
        assert_true((status == LL_OK) == (model != NULL));
        assert_true(status == LL_OK || error.text[0]);
        refused += status != LL_OK;
        ll_model_close(model);
    }
    assert_true(refused > 0);
    for (int i = 0; i < PARTS; i++) {
        char path[4200];
        snprintf(path, sizeof path, "%s/%s", folder, parts[i]);
        unlink(path);
        free(bytes[i]);
    }
    rmdir(folder);
}

#define FAMILIES 22

static char families[FAMILIES][20] = {
    "llama", "mistral",  "qwen2",   "qwen3",    "gemma2",        "gemma3",         "phi3",   "smollm3",
    "olmo2", "granite",  "bloom",   "mpt",      "falcon",        "starcoder2",     "refact", "falcon-rw",
    "jais",  "baichuan", "mixtral", "qwen3moe", "llama-unigram", "mistral-unigram"};

static const struct {
    const char *name;
    CMUnitTestFunction run;
} checks[] = {
    {"a folder gives the logits of its family", a_folder_gives_the_logits_of_its_family},
    {"what is converted gives the same bits", what_is_converted_gives_the_same_bits},
    {"pieces give the same bits", pieces_give_the_same_bits},
    {"a saved session comes back", a_saved_session_comes_back},
    {"what is quantised stays close", what_is_quantised_stays_close},
    {"the tokenizer gives the ids of its library", the_tokenizer_gives_the_ids_of_its_library},
    {"every folder is found sound", every_folder_and_file_is_found_sound},
    {"the chat template is the folder's", the_chat_template_is_the_folders},
};
#define CHECKS (sizeof checks / sizeof *checks)

int main(void)
{
    static struct CMUnitTest tests[FAMILIES * CHECKS + 5] = {
        [FAMILIES * CHECKS] = cmocka_unit_test(scaling_that_is_asked_for_is_that_of_a_file),
        [FAMILIES * CHECKS + 1] = cmocka_unit_test(alibi_takes_its_bias_and_stretch_from_options),
        [FAMILIES * CHECKS + 2] = cmocka_unit_test(options_without_meaning_are_refused),
        [FAMILIES * CHECKS + 4] = cmocka_unit_test(random_damage_to_a_folder_is_an_error_or_a_model),
        [FAMILIES * CHECKS + 3] = cmocka_unit_test(mixtures_that_do_not_fit_are_refused),
    };
    static char names[FAMILIES * CHECKS][80];
    for (size_t i = 0; i < FAMILIES * CHECKS; i++) {
        snprintf(names[i], sizeof names[i], "%s: %s", families[i / CHECKS], checks[i % CHECKS].name);
        tests[i].name = names[i];
        tests[i].test_func = checks[i % CHECKS].run;
        tests[i].initial_state = families[i / CHECKS];
    }
    return cmocka_run_group_tests(tests, open_engines, close_engines);
}
