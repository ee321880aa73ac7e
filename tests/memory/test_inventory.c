/* Tests of weights counted from a configuration: held against folders, files and published models.
 * SPDX-License-Identifier: Apache-2.0 */
#include <glob.h>
#include <unistd.h>

#include "base/file.h"
#include "engine/tiny.h"

static char scratch[64];

static ll_blueprint *blueprint(const char *path)
{
    ll_blueprint *made = NULL;
    ll_error error = {0};
    if (ll_blueprint_open(path, &made, &error) != LL_OK)
        fail_msg("%s: %s", path, error.text);
    return made;
}

static void assert_same_types(const char *path, const ll_blueprint *a, const ll_blueprint *b)
{
    size_t count = ll_blueprint_type_count(a);
    assert_int_equal(count, ll_blueprint_type_count(b));
    for (size_t i = 0; i < count; i++) {
        ll_weight_type left, right;
        assert_int_equal(ll_blueprint_get_type(a, i, &left), LL_OK);
        assert_int_equal(ll_blueprint_get_type(b, i, &right), LL_OK);
        if (strcmp(left.name, right.name) != 0 || left.bytes != right.bytes ||
            left.parameters != right.parameters || left.tensors != right.tensors)
            fail_msg("%s: %zu tensors of %s with %llu bytes, and %zu of %s with %llu", path, left.tensors,
                     left.name, (unsigned long long)left.bytes, right.tensors, right.name,
                     (unsigned long long)right.bytes);
    }
}

static void assert_same_needs(const char *path, const ll_blueprint *a, const ll_blueprint *b)
{
    static const ll_dtype types[] = {LL_F32, LL_F16, LL_BF16};
    ll_need_options options;
    ll_need left, right;
    ll_need_options_init(&options);
    for (int device = LL_CPU; device <= LL_CUDA; device++)
        for (int precision = LL_AS_STORED; precision <= LL_IN_4BIT; precision++) {
            options.device = (ll_device_kind)device;
            options.precision = (ll_precision)precision;
            options.threads = 1 + (int)unit_below(8);
            options.cache_type = types[unit_below(3)];
            options.context = 1 + unit_below(5000);
            options.sequences = 1 + unit_below(5);
            options.shared = unit_below(100);
            assert_int_equal(ll_blueprint_need(a, &options, &left, NULL), LL_OK);
            assert_int_equal(ll_blueprint_need(b, &options, &right, NULL), LL_OK);
            for (int i = 0; i < LL_COMPONENTS; i++)
                if (left.bytes[i] != right.bytes[i])
                    fail_msg("%s: %s %llu and %llu", path, ll_component_name((ll_component)i),
                             (unsigned long long)left.bytes[i], (unsigned long long)right.bytes[i]);
            assert_int_equal(left.naive_total, right.naive_total);
        }
}

static void assert_same(const char *path, const char *other)
{
    ll_model_info left, right;
    ll_blueprint *a = blueprint(path), *b = blueprint(other);
    assert_same_types(path, a, b);
    assert_same_needs(path, a, b);
    ll_blueprint_get_info(a, &left);
    ll_blueprint_get_info(b, &right);
    assert_int_equal(left.parameters, right.parameters);
    assert_int_equal(left.token_parameters, right.token_parameters);
    assert_int_equal(left.experts, right.experts);
    assert_int_equal(left.vocabulary, right.vocabulary);
    assert_int_equal(left.sliding_window, right.sliding_window);
    assert_int_equal(left.trained_context, right.trained_context);
    assert_string_equal(left.quantization, right.quantization);
    assert_int_equal(left.token_parameters < left.parameters, left.experts > 0);
    ll_blueprint_close(a);
    ll_blueprint_close(b);
}

/* Every family of docs/models.md has a folder among the vectors. */
static void a_configuration_a_folder_and_its_file_are_planned_alike(void **state)
{
    char pattern[4096], config[4200];
    glob_t found;
    (void)state;
    snprintf(pattern, sizeof pattern, "%s/tests/vectors/hf/*", getenv("top_srcdir"));
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        ll_error error = {0};
        snprintf(config, sizeof config, "%s/config.json", found.gl_pathv[i]);
        if (ll_model_quantize(found.gl_pathv[i], "made.gguf", NULL, NULL, &error) != LL_OK)
            fail_msg("%s: %s", found.gl_pathv[i], error.text);
        assert_same(config, "made.gguf");
        assert_same(found.gl_pathv[i], "made.gguf");
        unlink("made.gguf");
    }
    assert_true(found.gl_pathc >= 20);
    globfree(&found);
}

/* What a folder's weights are stored in is in their headers; its configuration may say something else. */
/* from, with one word in the place of another of the same length. */
static void copy_file(const char *from, const char *to, const char *word, const char *other)
{
    struct strbuf text = {0};
    ll_error error = {0};
    if (file_read(from, 1 << 20, NULL, &text, &error) != LL_OK)
        fail_msg("%s", error.text);
    char *found = word ? strstr(text.text, word) : NULL;
    assert_true(!word || found);
    if (found)
        memcpy(found, other, strlen(word));
    assert_int_equal(file_write(to, text.text, text.length, NULL), LL_OK);
    strbuf_fini(&text);
}

static const char *quantization_of(const char *path)
{
    static ll_model_info info;
    ll_blueprint *plan = blueprint(path);
    ll_blueprint_get_info(plan, &info);
    ll_blueprint_close(plan);
    return info.quantization;
}

/* Also a configuration may say something else. */
static void headers_of_weights_are_believed_before_the_configuration(void **state)
{
    char from[4096];
    ll_blueprint *plan = NULL;
    ll_error error = {0};
    (void)state;
    snprintf(from, sizeof from, "%s/tests/vectors/hf/qwen3/config.json", getenv("top_srcdir"));
    copy_file(from, "config.json", "bfloat16\"", "float32\" ");
    assert_string_equal(quantization_of("."), "F32"); /* without weights the configuration speaks */
    snprintf(from, sizeof from, "%s/tests/vectors/hf/qwen3/model.safetensors", getenv("top_srcdir"));
    copy_file(from, "model.safetensors", NULL, NULL);
    assert_string_equal(quantization_of("."), "BF16");
    assert_string_equal(quantization_of("config.json"), "F32");
    assert_int_equal(truncate("model.safetensors", 100), 0);
    assert_int_equal(ll_blueprint_open(".", &plan, &error), LL_FORMAT); /* damage is told, not hidden */
    unlink("model.safetensors");
    unlink("config.json");
}

/* Parameters as published with each model (a model's page, or half the bytes of its 16-bit weights). */
static const struct {
    const char *name, *config;
    uint64_t parameters, at_work; /* at_work 0: all of them */
} published[] = {
    {"Llama 3.1 8B",
     "'model_type':'llama','hidden_size':4096,'intermediate_size':14336,'num_hidden_layers':32,"
     "'num_attention_heads':32,'num_key_value_heads':8,'vocab_size':128256,'rope_scaling':{'rope_type':"
     "'llama3','factor':8.0,'low_freq_factor':1.0,'high_freq_factor':4.0,'original_max_position_embeddings':"
     "8192}",
     8030261248, 0},
    {"Llama 3.1 70B",
     "'model_type':'llama','hidden_size':8192,'intermediate_size':28672,'num_hidden_layers':80,"
     "'num_attention_heads':64,'num_key_value_heads':8,'vocab_size':128256",
     70553706496, 0},
    {"Llama 3.1 405B",
     "'model_type':'llama','hidden_size':16384,'intermediate_size':53248,'num_hidden_layers':126,"
     "'num_attention_heads':128,'num_key_value_heads':8,'vocab_size':128256",
     405853388800, 0},
    {"Mixtral 8x7B",
     "'model_type':'mixtral','hidden_size':4096,'intermediate_size':14336,'num_hidden_layers':32,"
     "'num_attention_heads':32,'num_key_value_heads':8,'num_local_experts':8,'vocab_size':32000",
     46702792704, 12879925248},
    {"Mixtral 8x22B",
     "'model_type':'mixtral','hidden_size':6144,'intermediate_size':16384,'num_hidden_layers':56,"
     "'num_attention_heads':48,'num_key_value_heads':8,'num_local_experts':8,'vocab_size':32000",
     140620634112, 39152031744},
    {"Qwen2 7B",
     "'model_type':'qwen2','hidden_size':3584,'intermediate_size':18944,'num_hidden_layers':28,"
     "'num_attention_heads':28,'num_key_value_heads':4,'vocab_size':152064",
     7615616512, 0},
    {"Qwen3 8B",
     "'model_type':'qwen3','hidden_size':4096,'intermediate_size':12288,'num_hidden_layers':36,"
     "'num_attention_heads':32,'num_key_value_heads':8,'head_dim':128,'vocab_size':151936",
     8190735360, 0},
    {"Qwen3 30B-A3B",
     "'model_type':'qwen3_moe','hidden_size':2048,'intermediate_size':6144,'num_hidden_layers':48,"
     "'num_attention_heads':32,'num_key_value_heads':4,'head_dim':128,'vocab_size':151936,'num_experts':128,"
     "'num_experts_per_tok':8,'moe_intermediate_size':768,'decoder_sparse_step':1,'mlp_only_layers':[]",
     30532122624, 3353032704},
    {"Gemma 2 9B",
     "'model_type':'gemma2','hidden_size':3584,'intermediate_size':14336,'num_hidden_layers':42,"
     "'num_attention_heads':16,'num_key_value_heads':8,'head_dim':256,'vocab_size':256000",
     9241705984, 0},
    {"Phi 3 mini",
     "'model_type':'phi3','hidden_size':3072,'intermediate_size':8192,'num_hidden_layers':32,"
     "'num_attention_heads':32,'num_key_value_heads':32,'vocab_size':32064,'sliding_window':2047",
     3821079552, 0},
    {"SmolLM3 3B",
     "'model_type':'smollm3','hidden_size':2048,'intermediate_size':11008,'num_hidden_layers':36,"
     "'num_attention_heads':16,'num_key_value_heads':4,'vocab_size':128256",
     3075098624, 0},
    {"OLMo 2 7B",
     "'model_type':'olmo2','hidden_size':4096,'intermediate_size':11008,'num_hidden_layers':32,"
     "'num_attention_heads':32,'num_key_value_heads':32,'vocab_size':100352",
     7298617344, 0},
    {"Granite 3.1 8B",
     "'model_type':'granite','hidden_size':4096,'intermediate_size':12800,'num_hidden_layers':40,"
     "'num_attention_heads':32,'num_key_value_heads':8,'vocab_size':49155,'tie_word_embeddings':true",
     8170848256, 0},
    {"StarCoder2 7B",
     "'model_type':'starcoder2','hidden_size':4608,'intermediate_size':18432,'num_hidden_layers':32,"
     "'num_attention_heads':36,'num_key_value_heads':4,'vocab_size':49152,'use_bias':true",
     7173923840, 0},
    {"Falcon 7B",
     "'model_type':'falcon','hidden_size':4544,'num_hidden_layers':32,'num_attention_heads':71,"
     "'vocab_size':65024,'bias':false,'parallel_attn':true,'multi_query':true,'alibi':false",
     6921720704, 0},
    {"Falcon 40B",
     "'model_type':'falcon','hidden_size':8192,'num_hidden_layers':60,'num_attention_heads':128,"
     "'num_kv_heads':8,'new_decoder_architecture':true,'vocab_size':65024,'bias':false",
     41303293952, 0},
    {"Baichuan 2 13B",
     "'model_type':'baichuan','hidden_size':5120,'intermediate_size':13696,'num_hidden_layers':40,"
     "'num_attention_heads':40,'vocab_size':125696,'model_max_length':4096",
     13896668160, 0},
};

static void configurations_give_the_parameters_of_published_models(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        struct strbuf text = {0};
        ll_model_info info;
        strbuf_printf(&text, "{%s,'max_position_embeddings':8192}", published[i].config);
        if (strstr(published[i].config, "baichuan")) {
            strbuf_fini(&text);
            strbuf_printf(&text, "{%s}", published[i].config);
        }
        for (char *at = text.text; *at; at++)
            *at = *at == '\'' ? '"' : *at;
        assert_int_equal(file_write("config.json", text.text, text.length, NULL), LL_OK);
        strbuf_fini(&text);
        ll_blueprint *plan = blueprint("config.json");
        ll_blueprint_get_info(plan, &info);
        uint64_t at_work = published[i].at_work ? published[i].at_work : published[i].parameters;
        if (info.parameters != published[i].parameters || info.token_parameters != at_work)
            fail_msg("%s has %llu parameters, not %llu, and %llu at work", published[i].name,
                     (unsigned long long)published[i].parameters, (unsigned long long)info.parameters,
                     (unsigned long long)info.token_parameters);
        ll_blueprint_close(plan);
        unlink("config.json");
    }
}

static int enter(void **state)
{
    (void)state;
    unit_seed();
    return unit_enter_scratch(scratch);
}

static int leave(void **state)
{
    (void)state;
    unit_leave_scratch(scratch);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_configuration_a_folder_and_its_file_are_planned_alike),
        cmocka_unit_test(headers_of_weights_are_believed_before_the_configuration),
        cmocka_unit_test(configurations_give_the_parameters_of_published_models),
    };
    return cmocka_run_group_tests_name("memory/inventory", tests, enter, leave);
}
