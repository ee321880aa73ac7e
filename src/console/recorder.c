/* Writes a run into the run log as it goes: begun, filled in, ended. A failing log never fails the run.
 * SPDX-License-Identifier: Apache-2.0 */
#include "console/recorder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console/memory.h"
#include "console/outlook.h"

struct recorder {
    uint64_t adapter_bytes;
    struct text log, model; /* paths */
    ll_runlog_entry entry;
    int64_t id;
    bool failed;
    recorder_warn_fn warn;
    ll_dtype kv;
    int threads;
    ll_device_kind device;
    double joules; /* of the device when the run began */
    int gpu_layers;
};

void recorder_path(struct text *path)
{
    const char *base = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (base && base[0] == '/') /* the specification: other values are to be ignored */
        text_printf(path, "%s/longleaf/runs.db", base);
    else if (home && *home)
        text_printf(path, "%s/.local/state/longleaf/runs.db", home);
}

/* The file is open only while a row is written, so that a run of hours holds nothing of it. */
static void write_row(struct recorder *recorder, bool ended)
{
    ll_runlog *log = NULL;
    ll_error error = {0};
    if (recorder->failed)
        return;
    ll_status status = ll_runlog_open(text_string(&recorder->log), NULL, &log, &error);
    if (status == LL_OK && !recorder->id)
        status = ll_runlog_begin(log, &recorder->entry, &recorder->id, &error);
    else if (status == LL_OK)
        status = ll_runlog_update(log, recorder->id, &recorder->entry, ended, &error);
    ll_runlog_close(log);
    if (status == LL_OK)
        return;
    struct text sentence = {0};
    text_printf(&sentence, "this run is not in the run log (--no-log does without): %s: %s", error.where,
                error.text);
    recorder->failed = true;
    recorder->warn(text_string(&sentence));
    text_fini(&sentence);
}

struct recorder *recorder_open(const char *verb, const char *path, const char *label, ll_dtype kv,
                               int threads, const ll_engine *engine, recorder_warn_fn warn)
{
    struct recorder *recorder = calloc(1, sizeof *recorder);
    ll_device_info device = {0};
    ll_memory memory;
    if (!recorder)
        return NULL;
    *recorder = (struct recorder){
        .warn = warn, .kv = kv, .threads = threads, .gpu_layers = LL_GPU_LAYERS_AUTO};
    recorder_path(&recorder->log);
    text_puts(&recorder->model, path);
    ll_runlog_entry_init(&recorder->entry);
    ll_runlog_entry *entry = &recorder->entry;
    if (!recorder->log.length || recorder->log.failed || recorder->model.failed) {
        recorder_close(recorder, NULL, NULL, "");
        return NULL;
    }
    ll_engine_get_device(engine, 0, &device);
    recorder->joules = ll_engine_get_memory(engine, 0, &memory) == LL_OK ? memory.joules : (double)NAN;
    recorder->device = device.kind;
    snprintf(entry->verb, sizeof entry->verb, "%s", verb);
    snprintf(entry->model, sizeof entry->model, "%s", label);
    snprintf(entry->kv, sizeof entry->kv, "%s", outlook_kv_name(kv));
    snprintf(entry->device, sizeof entry->device, "%s", device.name);
    snprintf(entry->backend, sizeof entry->backend, "%s", device.backend);
    write_row(recorder, false);
    return recorder;
}

void recorder_model(struct recorder *recorder, const ll_engine *engine, const ll_model *model)
{
    ll_model_info info;
    struct text device = {0};
    if (!recorder || recorder->failed)
        return;
    if (ll_model_get_info(model, &info) == LL_OK) {
        recorder->adapter_bytes = info.adapter_bytes;
        recorder->gpu_layers = info.gpu_layers;
        snprintf(recorder->entry.weights, sizeof recorder->entry.weights, "%s", info.quantization);
    }
    memory_name_device(engine, model, &device);
    snprintf(recorder->entry.device, sizeof recorder->entry.device, "%s", text_string(&device));
    text_fini(&device);
    (void)ll_model_get_identity(model, recorder->entry.identity, NULL);
    write_row(recorder, false);
}

static void predict(struct recorder *recorder, size_t context, size_t logit_rows)
{
    ll_blueprint *blueprint = NULL;
    ll_need_options options;
    ll_need need;
    ll_need_options_init(&options);
    options.device = recorder->device;
    options.gpu_layers = recorder->device == LL_CUDA ? recorder->gpu_layers : LL_GPU_LAYERS_AUTO;
    options.logit_rows = logit_rows;
    options.threads = recorder->threads;
    options.cache_type = recorder->kv;
    options.context = context;
    options.sequences = 1;
    if (ll_blueprint_open(text_string(&recorder->model), &blueprint, NULL) == LL_OK &&
        ll_blueprint_need(blueprint, &options, &need, NULL) == LL_OK) {
        need.bytes[LL_WEIGHTS] += recorder->adapter_bytes;
        memcpy(recorder->entry.predicted, need.bytes, sizeof need.bytes);
    }
    ll_blueprint_close(blueprint);
    recorder->entry.context = context;
}

void recorder_session(struct recorder *recorder, const ll_session *session, size_t logit_rows)
{
    ll_session_stats stats;
    if (!recorder || recorder->failed || ll_session_get_stats(session, &stats) != LL_OK)
        return;
    predict(recorder, stats.cache_capacity, logit_rows);
    write_row(recorder, false);
}

void recorder_plan(struct recorder *recorder, const ll_plan_info *plan, size_t width)
{
    if (!recorder || recorder->failed)
        return;
    recorder->entry.windows += plan->windows;
    recorder->entry.width = width;
    if (recorder->entry.context == 0) { /* else a conversation, whose session has been predicted */
        predict(recorder, plan->context, 1);
        recorder->entry.predicted[LL_CACHE] = plan->memory_bytes;
    }
    write_row(recorder, false);
}

void recorder_tokens(struct recorder *recorder, uint64_t in, uint64_t out)
{
    if (!recorder)
        return;
    recorder->entry.tokens_in += in;
    recorder->entry.tokens_out += out;
}

void recorder_first_token(struct recorder *recorder, double seconds)
{
    if (recorder && isnan(recorder->entry.first_token_seconds))
        recorder->entry.first_token_seconds = seconds;
}

void recorder_coverage(struct recorder *recorder, double share)
{
    if (recorder)
        recorder->entry.coverage = fmin(recorder->entry.coverage, share); /* NAN: the other one */
}

/* What was predicted is the GPU's part where there is one. */
static size_t measured_device(const struct recorder *recorder, const ll_engine *engine)
{
    bool left = recorder->device == LL_CUDA && recorder->gpu_layers == 0; /* by all layers */
    return left && ll_engine_device_count(engine) > 1 ? 1 : 0;
}

static void measure(struct recorder *recorder, const ll_engine *engine, const ll_session *session)
{
    ll_runlog_entry *entry = &recorder->entry;
    double joules = recorder->joules;
    ll_memory memory;
    ll_session_stats stats;
    if (engine && ll_engine_get_memory(engine, measured_device(recorder, engine), &memory) == LL_OK) {
        memcpy(entry->peak, memory.peak, sizeof entry->peak);
        entry->resident_peak = memory.resident_peak;
        entry->joules = memory.joules - joules; /* NAN: the device does not count them */
    }
    if (!session || ll_session_get_stats(session, &stats) != LL_OK)
        return;
    entry->tokens_in += stats.prefilled;
    if (!entry->tokens_out) /* else answers were counted; the last token of each was not computed */
        entry->tokens_out = stats.decoded;
    if (stats.decoded)
        entry->token_seconds = stats.decode_seconds / (double)stats.decoded;
}

void recorder_update(struct recorder *recorder, const ll_engine *engine, const ll_session *session)
{
    if (!recorder || !recorder->id)
        return;
    ll_runlog_entry counted = recorder->entry; /* measuring adds what the session has counted so far */
    measure(recorder, engine, session);
    write_row(recorder, false);
    recorder->entry = counted;
}

void recorder_close(struct recorder *recorder, const ll_engine *engine, const ll_session *session,
                    const char *end)
{
    if (!recorder)
        return;
    if (recorder->id) {
        measure(recorder, engine, session);
        snprintf(recorder->entry.end, sizeof recorder->entry.end, "%s", end);
        write_row(recorder, true);
    }
    text_fini(&recorder->log);
    text_fini(&recorder->model);
    free(recorder);
}
