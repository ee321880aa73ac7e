/* Opens what a verb needs of the library: engine, model, session, by the settings.
 * SPDX-License-Identifier: Apache-2.0 */
#include "repl/work.h"

#include <string.h>

#include "console/adapters.h"
#include "console/human.h"
#include "console/modelpath.h"
#include "console/positions.h"
#include "console/sampling.h"
#include "repl/say.h"
#include "repl/signals.h"

static void on_log(void *user, int level, const char *module, const char *text)
{
    struct program *program = user;
    bool short_of_memory = strcmp(module, "memory") == 0 && level <= 1; /* errors and warnings */
    if (!short_of_memory && !settings_flag(&program->settings, OPTION_VERBOSE))
        return;
    meter_clear(&program->meter);
    say_error("%s: %s", module, text);
}

static int engine_open(struct work *work, struct program *program)
{
    const struct settings *settings = &program->settings;
    ll_engine_options options;
    ll_engine_options_init(&options);
    options.threads = (int)settings_count(settings, OPTION_THREADS, 0);
    options.device = settings_text(settings, OPTION_DEVICE);
    options.memory = settings_count(settings, OPTION_MEMORY, 0);
    ll_error error = {0};
    if (ll_engine_open(&options, &work->engine, &error) != LL_OK)
        return program_fail(program, CONCERN_WORK, &error);
    ll_engine_set_log(work->engine, on_log, program);
    if (settings_flag(settings, OPTION_VERBOSE)) {
        for (size_t i = 0; i < ll_engine_note_count(work->engine); i++)
            say_error("engine: %s", ll_engine_note(work->engine, i));
    }
    return LEAVE_OK;
}

/* The name inside the file is often that of a training run. */
static void label_model(struct work *work)
{
    const char *path = text_string(&work->path), *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    size_t length = strlen(name);
    bool suffix = length > 5 && strcmp(name + length - 5, ".gguf") == 0;
    text_append(&work->label, name, suffix ? length - 5 : length);
}

static void warn_of_log(const char *sentence)
{
    say_note("%s", sentence);
}

static void begin_record(struct work *work, struct program *program)
{
    int threads = (int)settings_count(&program->settings, OPTION_THREADS, 0);
    if (!settings_flag(&program->settings, OPTION_NO_LOG))
        work->recorder =
            recorder_open(verb_row(program->verb)->name, text_string(&work->path), text_string(&work->label),
                          cache_type_of(&program->settings), threads, work->engine, warn_of_log);
}

static int model_open(struct work *work, struct program *program, enum work_depth depth)
{
    ll_model_options options;
    ll_model_options_init(&options);
    struct meta_list meta;
    if (!positions_meta(&program->settings, &meta)) {
        say_error("out of memory");
        return LEAVE_MEMORY;
    }
    options.metadata_only = depth == WORK_METADATA;
    options.set_meta = (const char *const *)meta.items;
    options.set_meta_count = meta.count;
    struct adapter_list adapters;
    if (!adapters_of(&program->settings, &adapters)) {
        meta_list_fini(&meta);
        say_error("no memory for the names of adapters");
        return LEAVE_MEMORY;
    }
    struct text path = {0}, problem = {0};
    text_puts(&path, text_string(&work->path));
    if (!adapters_resolve(&path, &adapters, &problem)) {
        say_error("%s: %s", text_string(&work->label), text_string(&problem));
        text_fini(&path);
        text_fini(&problem);
        adapters_fini(&adapters);
        meta_list_fini(&meta);
        return LEAVE_MODEL;
    }
    text_fini(&problem);
    options.adapters = adapters.items;
    options.adapter_count = adapters.count;
    options.gpu_layers = gpu_layers_of(&program->settings);
    options.context = (size_t)settings_count(&program->settings, OPTION_CONTEXT, 0);
    ll_run run = program_run(program);
    ll_error error = {0};
    double began = human_clock();
    ll_status status = ll_model_open(work->engine, text_string(&path), &options, &run, &work->model, &error);
    text_fini(&path);
    adapters_fini(&adapters);
    meta_list_fini(&meta);
    if (status != LL_OK)
        return program_fail(program, error.status == LL_ARGUMENT ? CONCERN_WORK : CONCERN_MODEL, &error);
    work->load_seconds = human_clock() - began;
    ll_model_get_info(work->model, &work->info);
    recorder_model(work->recorder, work->engine, work->model);
    return LEAVE_OK;
}

int work_open(struct work *work, struct program *program, const char *name, enum work_depth depth)
{
    *work = (struct work){0};
    struct text problem = {0};
    if (!name)
        name = settings_text(&program->settings, OPTION_MODEL);
    if (!modelpath_find(name, &work->path, &problem)) {
        say_error("%s", text_string(&problem));
        text_fini(&problem);
        return LEAVE_MODEL;
    }
    text_fini(&problem);
    label_model(work);
    if (!program->beacon && depth != WORK_METADATA)
        program->beacon = beacon_open("longleaf", verb_row(program->verb)->name);
    work->beacon = program->beacon;
    int code = engine_open(work, program);
    if (!code && depth != WORK_METADATA)
        begin_record(work, program);
    if (!code)
        code = model_open(work, program, depth);
    if (!code && depth == WORK_SESSION)
        code = work_open_session(work, program, 0);
    meter_clear(&program->meter);
    if (!code) {
        program->recorder = work->recorder;
        beacon_watch(work->beacon, text_string(&work->label), work->engine, work->session);
        beacon_progress(work->beacon, NULL);
    }
    return !code && signals_seen() ? program_interrupted() : code;
}

static size_t logit_rows(const struct program *program)
{
    if (program->verb == VERB_PPL)
        return LL_ROWS_SCORED;
    return settings_flag(&program->settings, OPTION_LOOKUP) ? LL_ROWS_DRAFTED : 1;
}

int work_open_session(struct work *work, struct program *program, size_t context)
{
    ll_session_options options;
    ll_session_options_init(&options);
    options.context = context ? context : (size_t)settings_count(&program->settings, OPTION_CONTEXT, 0);
    options.cache_type = cache_type_of(&program->settings);
    ll_error error = {0};
    if (ll_session_open(work->model, &options, &work->session, &error) != LL_OK)
        return program_fail(program, CONCERN_WORK, &error);
    recorder_session(work->recorder, work->session, logit_rows(program));
    beacon_watch(work->beacon, text_string(&work->label), work->engine, work->session);
    return LEAVE_OK;
}

static const char *end_name(int code)
{
    switch (code) {
    case LEAVE_OK:
        return "done";
    case LEAVE_UNCOVERED:
        return "not all read";
    case LEAVE_MEMORY:
        return "no memory";
    case LEAVE_MODEL:
        return "model refused";
    case LEAVE_ABSENT:
        return "no answer";
    case LEAVE_HUNG_UP:
        return "hung up";
    case LEAVE_INTERRUPTED:
        return "interrupted";
    case LEAVE_TERMINATED:
        return "terminated";
    default:
        return "failed";
    }
}

void work_close(struct work *work, int code)
{
    beacon_leave(work->beacon, work->engine);
    recorder_close(work->recorder, work->engine, work->session, end_name(code));
    ll_session_close(work->session);
    ll_model_close(work->model);
    ll_engine_close(work->engine);
    text_fini(&work->path);
    text_fini(&work->label);
    *work = (struct work){0};
}

size_t work_capacity(const struct work *work)
{
    ll_session_stats stats;
    return ll_session_get_stats(work->session, &stats) == LL_OK ? stats.cache_capacity : 0;
}
