/* plan: what memory models will need, from their metadata alone, before anything is loaded.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "console/adapters.h"
#include "console/modelpath.h"
#include "console/outlook.h"
#include "console/sampling.h"
#include "repl/say.h"
#include "repl/verbs.h"
#include "repl/work.h"

/* The models folder first; else a path, which may be a folder or a config.json. */
static bool find_path(const char *name, struct text *path)
{
    struct text problem = {0};
    bool found = modelpath_find(name, path, &problem);
    if (!found)
        say_error("%s", text_string(&problem));
    text_fini(&problem);
    return found;
}

static void label_path(const char *path, struct text *label)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    size_t start = length;
    while (start > 0 && path[start - 1] != '/')
        start--;
    if (length - start > 5 && memcmp(path + length - 5, ".gguf", 5) == 0)
        length -= 5;
    text_append(label, path + start, length - start);
}

/* Sizes that were given, else what is free on the device that work would be done on. */
static int read_memories(struct program *program, struct outlook *outlook)
{
    const char *given = settings_text(&program->settings, OPTION_GPU_MEMORY);
    const char *device = settings_text(&program->settings, OPTION_DEVICE);
    struct text problem = {0};
    bool wants_gpu = given || (device && strncmp(device, "cuda", 4) == 0);
    if (given && !outlook_read_memories(given, outlook, &problem)) {
        say_error("%s", text_string(&problem));
        text_fini(&problem);
        return LEAVE_USAGE;
    }
    outlook->options.device = wants_gpu ? LL_CUDA : LL_CPU;
    if (given)
        return LEAVE_OK;
    ll_engine_options options;
    ll_engine *engine = NULL;
    ll_memory memory;
    ll_device_info info;
    ll_engine_options_init(&options);
    options.device = device;
    options.threads = 1;
    if (ll_engine_open(&options, &engine, NULL) == LL_OK &&
        ll_engine_get_memory(engine, 0, &memory) == LL_OK &&
        ll_engine_get_device(engine, 0, &info) == LL_OK) {
        outlook->options.device = info.kind;
        outlook->memories[0] = memory.free;
        outlook->memory_count = 1;
        outlook->memories_found = true;
    }
    ll_engine_close(engine);
    return LEAVE_OK;
}

static int write_svg(const struct outlook *outlook, const char *path, ll_error *error)
{
    struct text drawing = {0};
    struct output output;
    bool whole = outlook_show(outlook, OUTLOOK_SVG, &drawing, error) && !drawing.failed;
    int code = whole ? LEAVE_OK : LEAVE_OTHER;
    if (whole && output_open(&output, path)) {
        output_write(&output, text_string(&drawing), drawing.length);
        if (!output_close(&output, true)) {
            say_error("%s: %s", path, strerror(output.failure));
            code = LEAVE_OTHER;
        }
    } else if (whole) {
        say_error("%s: %s", path, strerror(errno));
        code = LEAVE_OTHER;
    }
    text_fini(&drawing);
    return code;
}

/* After the first model of several, CSV goes on without a second line of names, and text after a gap. */
static void put_answer(struct program *program, enum outlook_form form, const struct text *answer, bool first)
{
    const char *from = text_string(answer);
    if (!first && form == OUTLOOK_CSV)
        from = strchr(from, '\n') ? strchr(from, '\n') + 1 : from;
    else if (!first)
        output_puts(&program->output, form == OUTLOOK_JSON ? "" : "\n");
    output_puts(&program->output, from);
}

static int plan_model(struct program *program, struct outlook *outlook, const char *name, bool first)
{
    struct text path = {0}, label = {0}, answer = {0};
    ll_blueprint *blueprint = NULL;
    ll_error error = {0};
    enum outlook_form form = settings_flag(&program->settings, OPTION_JSON)  ? OUTLOOK_JSON
                             : settings_flag(&program->settings, OPTION_CSV) ? OUTLOOK_CSV
                                                                             : OUTLOOK_TEXT;
    const char *svg = settings_text(&program->settings, OPTION_SVG);
    int code = find_path(name, &path) ? LEAVE_OK : LEAVE_MODEL;
    struct adapter_list adapters = {0};
    struct text problem = {0};
    bool listed = adapters_of(&program->settings, &adapters);
    if (!code) {
        label_path(text_string(&path), &label);
        if (listed && !adapters_resolve(&path, &adapters, &problem)) {
            say_error("%s: %s", text_string(&label), text_string(&problem));
            code = LEAVE_MODEL;
        }
    }
    text_fini(&problem);
    if (!code && ll_blueprint_open(text_string(&path), &blueprint, &error) != LL_OK)
        code = program_fail(program, CONCERN_MODEL, &error);
    if (!code &&
        (!listed || ll_blueprint_add_adapters(blueprint, adapters.items, adapters.count, &error) != LL_OK))
        code = program_fail(program, CONCERN_MODEL, &error);
    adapters_fini(&adapters);
    if (!code) {
        outlook->blueprint = blueprint;
        outlook->label = text_string(&label);
        if (!outlook_show(outlook, form, &answer, &error) || answer.failed)
            code = program_fail(program, CONCERN_WORK, &error);
        else
            put_answer(program, form, &answer, first);
    }
    if (!code && svg)
        code = write_svg(outlook, svg, &error);
    ll_blueprint_close(blueprint);
    text_fini(&answer);
    text_fini(&label);
    text_fini(&path);
    return code;
}

int verb_plan(struct program *program)
{
    const struct settings *settings = &program->settings;
    struct outlook outlook = {0};
    ll_need_options_init(&outlook.options);
    if (settings->values[OPTION_CONTEXT].origin == ORIGIN_LINE) /* a usual context is not one to plan for */
        outlook.options.context = (size_t)settings_count(settings, OPTION_CONTEXT, 0);
    outlook.options.threads = (int)settings_count(settings, OPTION_THREADS, 0);
    outlook.options.sequences = (size_t)settings_count(settings, OPTION_WIDTH, 1);
    outlook.options.precision = (ll_precision)settings_count(settings, OPTION_PRECISION, 0);
    outlook.options.cache_type = cache_type_of(&program->settings);
    outlook.gpu_layers = gpu_layers_of(settings);
    if (settings_flag(settings, OPTION_LOOKUP))
        outlook.options.logit_rows = LL_ROWS_DRAFTED;
    if (program->operand_count && settings->values[OPTION_MODEL].origin == ORIGIN_LINE) {
        say_error("plan takes models either as MODEL or with -m");
        return LEAVE_USAGE;
    }
    if (settings_flag(settings, OPTION_JSON) && settings_flag(settings, OPTION_CSV)) {
        say_error("--json and --csv are two forms of the answer: choose one");
        return LEAVE_USAGE;
    }
    if (program->operand_count > 1 &&
        (settings_text(settings, OPTION_SVG) || settings_flag(settings, OPTION_JSON))) {
        say_error("%s shows one model at a time", settings_flag(settings, OPTION_JSON) ? "--json" : "--svg");
        return LEAVE_USAGE;
    }
    int code = read_memories(program, &outlook);
    if (!code && program->operand_count == 0)
        code = plan_model(program, &outlook, settings_text(settings, OPTION_MODEL), true);
    for (int i = 0; i < program->operand_count && !code; i++)
        code = plan_model(program, &outlook, program->operands[i], i == 0);
    return code;
}
