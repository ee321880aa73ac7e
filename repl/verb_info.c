/* info: what a model file is, what this machine offers, where each setting comes from.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "console/escape.h"
#include "console/human.h"
#include "console/modelpath.h"
#include "repl/json.h"
#include "repl/say.h"
#include "repl/verbs.h"
#include "repl/work.h"

static const char *position_name(ll_position position)
{
    static const char *const names[] = {"rotary", "alibi", "learned", "none"};
    return (size_t)position < sizeof names / sizeof *names ? names[position] : "unknown";
}

static const char *origin_name(const struct setting *setting)
{
    static const char *const names[] = {"built in", "file", "environment", "command line"};
    return names[setting->origin];
}

/* ---- settings ---- */

static json_t *settings_json(const struct settings *settings)
{
    json_t *object = json_object();
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct setting *setting = &settings->values[i];
        if (option_row((enum option)i)->line_only)
            continue;
        json_t *row = json_object();
        json_put_string(row, "value", setting->text);
        json_put_string(row, "origin", setting->given ? origin_name(setting) : NULL);
        if (setting->origin == ORIGIN_FILE)
            json_put_count(row, "line", setting->line);
        json_object_set_new(object, option_row((enum option)i)->name, row);
    }
    return object;
}

static void print_settings(struct output *output, const struct settings *settings)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct setting *setting = &settings->values[i];
        const struct option_row *row = option_row((enum option)i);
        if (row->line_only)
            continue;
        output_printf(output, "%-18s = %s", row->name, setting->given ? setting->text : "");
        if (setting->origin == ORIGIN_FILE)
            output_printf(output, "  (line %zu of the configuration file)\n", setting->line);
        else if (setting->origin != ORIGIN_BUILT_IN)
            output_printf(output, "  (%s)\n", origin_name(setting));
        else
            output_puts(output, "\n");
    }
}

static int show_settings(struct program *program)
{
    if (settings_flag(&program->settings, OPTION_JSON)) {
        json_print(&program->output, settings_json(&program->settings), JSON_INDENT(2));
        return LEAVE_OK;
    }
    struct text path = {0};
    settings_config_path(&path);
    output_printf(&program->output, "# configuration file: %s\n", text_string(&path));
    text_fini(&path);
    print_settings(&program->output, &program->settings);
    return LEAVE_OK;
}

/* ---- model ---- */

static json_t *devices_json(const ll_engine *engine)
{
    json_t *devices = json_array();
    for (size_t i = 0; i < ll_engine_device_count(engine); i++) {
        ll_device_info info = {0};
        json_t *row = json_object();
        if (ll_engine_get_device(engine, i, &info) == LL_OK) {
            json_put_string(row, "name", info.name);
            json_put_string(row, "backend", info.backend);
        }
        json_array_append_new(devices, row);
    }
    return devices;
}

static json_t *tensors_json(const ll_model *model)
{
    json_t *tensors = json_array();
    for (size_t i = 0; i < ll_model_tensor_count(model); i++) {
        ll_tensor_info info;
        if (ll_model_get_tensor(model, i, &info) != LL_OK)
            continue;
        json_t *row = json_object(), *shape = json_array();
        json_put_string(row, "name", info.name);
        json_put_string(row, "type", info.type);
        for (int d = 0; d < info.dims; d++)
            json_array_append_new(shape, json_make_count(info.shape[d]));
        json_object_set_new(row, "shape", shape);
        json_put_count(row, "bytes", info.bytes);
        json_array_append_new(tensors, row);
    }
    return tensors;
}

static json_t *meta_json(const ll_model *model)
{
    json_t *metadata = json_object();
    for (size_t i = 0; i < ll_model_meta_count(model); i++) {
        ll_meta meta;
        struct text key = {0};
        if (ll_model_get_meta(model, i, &meta) != LL_OK)
            continue;
        escape_append_line(&key, meta.key); /* keys come from the file and may hold anything */
        json_put_string(metadata, text_string(&key), meta.value);
        text_fini(&key);
    }
    return metadata;
}

/* ---- what it takes, from the file's metadata ---- */

enum { CONTEXTS = 5 };

/* Common contexts up to the trained one, which comes last; how many. */
static size_t contexts_of(const ll_model_info *info, size_t out[CONTEXTS])
{
    static const size_t common[CONTEXTS - 1] = {2048, 8192, 32768, 131072};
    size_t count = 0;
    for (size_t i = 0; i < CONTEXTS - 1; i++)
        if (common[i] < info->trained_context)
            out[count++] = common[i];
    out[count++] = info->trained_context;
    return count;
}

static uint64_t need_of(const ll_blueprint *blueprint, const struct program *program, size_t context)
{
    ll_need_options options;
    ll_need need;
    ll_error error;
    ll_need_options_init(&options);
    options.context = context;
    options.threads = (int)settings_count(&program->settings, OPTION_THREADS, 0);
    return ll_blueprint_need(blueprint, &options, &need, &error) == LL_OK ? need.total : 0;
}

static json_t *types_json(const ll_blueprint *blueprint)
{
    json_t *types = json_array();
    for (size_t i = 0; i < ll_blueprint_type_count(blueprint); i++) {
        ll_weight_type type;
        json_t *row = json_object();
        if (ll_blueprint_get_type(blueprint, i, &type) == LL_OK) {
            json_put_string(row, "type", type.name);
            json_put_count(row, "tensors", type.tensors);
            json_put_count(row, "parameters", type.parameters);
            json_put_count(row, "bytes", type.bytes);
        }
        json_array_append_new(types, row);
    }
    return types;
}

static json_t *needs_json(const ll_blueprint *blueprint, const struct program *program,
                          const ll_model_info *info)
{
    size_t contexts[CONTEXTS], count = contexts_of(info, contexts);
    json_t *needs = json_array();
    for (size_t i = 0; i < count; i++) {
        json_t *row = json_object();
        json_put_count(row, "context", contexts[i]);
        json_put_count(row, "bytes", need_of(blueprint, program, contexts[i]));
        json_array_append_new(needs, row);
    }
    return needs;
}

static void print_blueprint(struct program *program, const struct work *work)
{
    size_t contexts[CONTEXTS], count = contexts_of(&work->info, contexts);
    struct output *output = &program->output;
    ll_blueprint *blueprint = NULL;
    ll_error error;
    if (ll_blueprint_open(text_string(&work->path), &blueprint, &error) != LL_OK)
        return; /* what opening has accepted, but by an override */
    for (size_t i = 0; i < ll_blueprint_type_count(blueprint); i++) {
        ll_weight_type type;
        if (ll_blueprint_get_type(blueprint, i, &type) == LL_OK)
            output_printf(output, "%-13s %zu tensor%s in %s, %s\n", i ? "" : "tensors", type.tensors,
                          type.tensors == 1 ? "" : "s", type.name, human_bytes(type.bytes).text);
    }
    for (size_t i = 0; i < count; i++)
        output_printf(output, "%-13s %s with a context of %s tokens\n", i ? "" : "memory",
                      human_bytes(need_of(blueprint, program, contexts[i])).text,
                      human_count(contexts[i]).text);
    ll_blueprint_close(blueprint);
}

static void add_blueprint(json_t *object, const struct program *program, const struct work *work)
{
    ll_blueprint *blueprint = NULL;
    ll_error error;
    if (ll_blueprint_open(text_string(&work->path), &blueprint, &error) != LL_OK)
        return;
    json_object_set_new(object, "types", types_json(blueprint));
    json_object_set_new(object, "memory", needs_json(blueprint, program, &work->info));
    ll_blueprint_close(blueprint);
}

/* ---- special tokens ---- */

static const char *const specials[] = {"bos", "eos", "unknown", "padding"};

/* The id as the file writes it, or NULL. */
static const char *special_id(const ll_model *model, const char *name)
{
    struct text key = {0};
    const char *found = NULL;
    text_printf(&key, "tokenizer.ggml.%s_token_id", name);
    for (size_t i = 0; i < ll_model_meta_count(model) && !found; i++) {
        ll_meta meta;
        if (ll_model_get_meta(model, i, &meta) == LL_OK && strcmp(meta.key, text_string(&key)) == 0)
            found = meta.value;
    }
    text_fini(&key);
    return found;
}

static void print_specials(struct output *output, const ll_model *model)
{
    const char *before = "special       ";
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++) {
        const char *id = special_id(model, specials[i]);
        if (!id)
            continue;
        output_printf(output, "%s%s %s", before, specials[i], id);
        before = ", ";
    }
    if (*before == ',')
        output_puts(output, "\n");
}

static json_t *model_json(const struct program *program, const struct work *work)
{
    const ll_model_info *info = &work->info;
    json_t *object = json_object();
    json_put_string(object, "path", text_string(&work->path));
    json_put_string(object, "name", info->name);
    json_put_string(object, "architecture", info->architecture);
    json_put_string(object, "quantization", info->quantization);
    json_put_string(object, "tokenizer", info->tokenizer);
    json_put_string(object, "chat", info->chat);
    json_put_string(object, "position", position_name(info->position));
    json_put_count(object, "parameters", info->parameters);
    json_put_count(object, "token_parameters", info->token_parameters);
    json_put_count(object, "experts", info->experts);
    json_put_count(object, "experts_used", info->experts_used);
    json_put_count(object, "file_bytes", info->file_bytes);
    json_put_count(object, "trained_context", info->trained_context);
    json_put_count(object, "vocabulary", info->vocabulary);
    json_put_count(object, "layers", info->layers);
    json_put_count(object, "width", info->width);
    json_put_count(object, "heads", info->heads);
    json_put_count(object, "cache_heads", info->cache_heads);
    json_put_count(object, "head_size", info->head_size);
    json_put_count(object, "sliding_window", info->sliding_window);
    json_put_count(object, "cache_bytes_per_token", info->cache_bytes_per_token);
    json_t *special = json_object();
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++)
        if (special_id(work->model, specials[i]))
            json_put_string(special, specials[i], special_id(work->model, specials[i]));
    json_object_set_new(object, "special_tokens", special);
    add_blueprint(object, program, work);
    json_object_set_new(object, "devices", devices_json(work->engine));
    if (settings_flag(&program->settings, OPTION_META))
        json_object_set_new(object, "metadata", meta_json(work->model));
    if (settings_flag(&program->settings, OPTION_TENSORS))
        json_object_set_new(object, "tensors", tensors_json(work->model));
    return object;
}

static void print_model(struct output *output, const struct work *work)
{
    const ll_model_info *info = &work->info;
    output_printf(output, "file          %s\n", text_string(&work->path));
    output_printf(output, "size          %s\n", human_bytes(info->file_bytes).text);
    output_printf(output, "name          %s\n", info->name);
    output_printf(output, "architecture  %s\n", info->architecture);
    output_printf(output, "parameters    %s\n", human_count(info->parameters).text);
    if (info->experts)
        output_printf(output, "experts       %zu in each layer, %zu for each token: %s parameters\n",
                      info->experts, info->experts_used, human_count(info->token_parameters).text);
    output_printf(output, "weights       %s\n", info->quantization);
    output_printf(output, "context       %s tokens in training\n", human_count(info->trained_context).text);
    output_printf(output, "positions     %s\n", position_name(info->position));
    if (info->sliding_window)
        output_printf(output, "window        %s tokens\n", human_count(info->sliding_window).text);
    output_printf(output, "shape         %zu layers, width %zu, %zu heads (%zu for keys and values) of %zu\n",
                  info->layers, info->width, info->heads, info->cache_heads, info->head_size);
    output_printf(output, "vocabulary    %s tokens, tokenizer %s\n", human_count(info->vocabulary).text,
                  info->tokenizer);
    output_printf(output, "chat          %s\n", info->chat);
    output_printf(output, "context costs %s a token, %s for all of it\n",
                  human_bytes(info->cache_bytes_per_token).text,
                  human_bytes(info->cache_bytes_per_token * info->trained_context).text);
}

static void print_devices(struct output *output, const ll_engine *engine)
{
    for (size_t i = 0; i < ll_engine_device_count(engine); i++) {
        ll_device_info info;
        if (ll_engine_get_device(engine, i, &info) == LL_OK)
            output_printf(output, "device        %s: %s\n", info.backend, info.name);
    }
    for (size_t i = 0; i < ll_engine_note_count(engine); i++)
        output_printf(output, "note          %s\n", ll_engine_note(engine, i));
}

static void print_lists(struct program *program, const ll_model *model)
{
    struct output *output = &program->output;
    for (size_t i = 0; settings_flag(&program->settings, OPTION_META) && i < ll_model_meta_count(model);
         i++) {
        ll_meta meta;
        if (ll_model_get_meta(model, i, &meta) == LL_OK)
            output_printf(output, "%s = %s\n", meta.key, meta.value);
    }
    for (size_t i = 0; settings_flag(&program->settings, OPTION_TENSORS) && i < ll_model_tensor_count(model);
         i++) {
        ll_tensor_info info;
        if (ll_model_get_tensor(model, i, &info) != LL_OK)
            continue;
        output_printf(output, "%-32s %-5s [", info.name, info.type);
        for (int d = 0; d < info.dims; d++)
            output_printf(output, "%s%llu", d ? ", " : "", (unsigned long long)info.shape[d]);
        output_printf(output, "] %s\n", human_bytes(info.bytes).text);
    }
}

/* ---- adapters ---- */

static json_t *adapter_json(const char *path, const ll_adapter_info *info)
{
    json_t *object = json_object();
    json_put_string(object, "path", path);
    json_put_string(object, "type", "adapter");
    json_put_string(object, "name", info->name);
    json_put_string(object, "architecture", info->architecture);
    json_put_string(object, "base", info->base);
    json_put_string(object, "base_file", info->base_file);
    json_put_number(object, "alpha", info->alpha);
    json_put_count(object, "matrices", info->matrices);
    json_put_count(object, "vectors", info->vectors);
    json_put_count(object, "least_rank", info->least_rank);
    json_put_count(object, "most_rank", info->most_rank);
    json_put_count(object, "slopes", info->slopes);
    json_put_count(object, "parameters", info->parameters);
    json_put_count(object, "file_bytes", info->file_bytes);
    return object;
}

static void print_adapter(struct output *output, const char *path, const ll_adapter_info *info)
{
    output_printf(output, "file          %s\n", path);
    output_printf(output, "size          %s\n", human_bytes(info->file_bytes).text);
    output_printf(output, "kind          LoRA adapter for %s models, to be put over one with --adapter\n",
                  info->architecture);
    if (info->name[0])
        output_printf(output, "name          %s\n", info->name);
    if (info->base[0])
        output_printf(output, "made for      %s\n", info->base);
    if (info->base_file[0])
        output_printf(output, "stands for    itself over %s beside it, wherever a model is named\n",
                      info->base_file);
    output_printf(output, "changes       %zu matrices, %zu vectors, %s parameters\n", info->matrices,
                  info->vectors, human_count(info->parameters).text);
    if (info->matrices)
        output_printf(output, "rank          %zu … %zu, alpha %g\n", info->least_rank, info->most_rank,
                      info->alpha);
    if (info->slopes)
        output_printf(output, "positions     ALiBi with %zu slopes in place of rotary ones\n", info->slopes);
}

/* Whether the file is an adapter, which is then shown. */
static bool show_adapter(struct program *program, const char *name)
{
    struct text path = {0}, problem = {0};
    ll_adapter_info info;
    bool shown = name && modelpath_find(name, &path, &problem) &&
                 ll_adapter_get_info(text_string(&path), &info, NULL) == LL_OK;
    if (shown && settings_flag(&program->settings, OPTION_JSON))
        json_print(&program->output, adapter_json(text_string(&path), &info), JSON_INDENT(2));
    else if (shown)
        print_adapter(&program->output, text_string(&path), &info);
    text_fini(&path);
    text_fini(&problem);
    return shown;
}

int verb_info(struct program *program)
{
    const char *name = program->operand_count ? program->operands[0] : NULL;
    if (settings_flag(&program->settings, OPTION_CONFIG) && name) {
        say_error("--config shows settings and takes no model");
        return LEAVE_USAGE;
    }
    if (settings_flag(&program->settings, OPTION_CONFIG))
        return show_settings(program);
    if (name && program->settings.values[OPTION_MODEL].origin == ORIGIN_LINE) {
        say_error("info takes one model, either as MODEL or with -m");
        return LEAVE_USAGE;
    }
    if (show_adapter(program, name ? name : settings_text(&program->settings, OPTION_MODEL)))
        return LEAVE_OK;
    struct work work = {0};
    int code = work_open(&work, program, name, WORK_METADATA);
    if (!code && settings_flag(&program->settings, OPTION_JSON)) {
        json_print(&program->output, model_json(program, &work), JSON_INDENT(2));
    } else if (!code) {
        print_model(&program->output, &work);
        print_specials(&program->output, work.model);
        print_blueprint(program, &work);
        print_devices(&program->output, work.engine);
        print_lists(program, work.model);
    }
    work_close(&work, code);
    return code;
}
