/* What the cells of a notebook share: model, session, conversation, documents, settings.
 * SPDX-License-Identifier: Apache-2.0 */
#include "jupyter_kernel/talk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console/adapters.h"
#include "console/cachepath.h"
#include "console/human.h"
#include "console/memory.h"
#include "console/modelpath.h"
#include "console/sampling.h"

bool talk_init(struct talk *talk, struct text *problem)
{
    struct text path = {0};
    *talk = (struct talk){.gauge = true};
    if (!settings_init(&talk->settings)) {
        text_puts(problem, "no memory for the settings");
        return false;
    }
    settings_config_path(&path);
    talk->beacon = beacon_open("longleaf-kernel", "notebook");
    bool ok = (!path.length || settings_read_config(&talk->settings, text_string(&path), problem)) &&
              settings_read_environment(&talk->settings, problem);
    text_fini(&path);
    const char *system = settings_text(&talk->settings, OPTION_SYSTEM);
    ok = ok && conversation_set_system(&talk->conversation, system);
    if (!ok)
        talk_fini(talk);
    return ok;
}

void talk_fini(struct talk *talk)
{
    talk_close_model(talk);
    beacon_close(talk->beacon);
    ll_engine_close(talk->engine);
    conversation_fini(&talk->conversation);
    for (size_t i = 0; i < talk->document_count; i++) {
        free(talk->documents[i].path);
        ll_document_close(talk->documents[i].document);
    }
    free(talk->documents);
    json_decref(talk->passages);
    settings_fini(&talk->settings);
    *talk = (struct talk){0};
}

/* ---- a turn hears of tokens and progress ---- */

static void on_progress(void *user, const ll_progress *progress)
{
    struct turn *turn = user;
    beacon_progress(turn->talk->beacon, progress);
    gauge_progress(&turn->gauge, progress);
}

static ll_flow on_token(void *user, const ll_token_event *event)
{
    struct turn *turn = user;
    if (event->token >= 0) {
        gauge_token(&turn->gauge);
        beacon_token(turn->talk->beacon);
    }
    if (turn->asked > 0)
        recorder_first_token(turn->talk->recorder, human_clock() - turn->asked);
    if (!turn->output->first_token[0])
        wire_moment(turn->output->first_token);
    if (!turn->streams) /* a part of a summary, which is shown as a whole */
        return LL_CONTINUE;
    text_append(&turn->text, event->text, event->length);
    turn->tokens += event->token >= 0;
    turn_show(turn, event->text, event->length);
    return turn->text.failed ? LL_STOP : LL_CONTINUE;
}

void turn_init(struct turn *turn, struct talk *talk, struct output *output, ll_cancel *cancel)
{
    *turn = (struct turn){.talk = talk, .output = output, .cancel = cancel};
    talk->rests = false;
    gauge_init(&turn->gauge, output, talk->gauge);
    gauge_watch(&turn->gauge, talk->engine, talk->session);
}

void turn_fini(struct turn *turn)
{
    turn->talk->worked = human_clock();
    beacon_progress(turn->talk->beacon, NULL);
    gauge_fini(&turn->gauge);
    text_fini(&turn->text);
}

ll_run turn_run(struct turn *turn)
{
    ll_run run;
    ll_run_init(&run);
    run.cancel = turn->cancel;
    run.on_token = on_token;
    run.on_progress = on_progress;
    run.user = turn;
    return run;
}

/* ---- the model ---- */

static bool open_engine(struct turn *turn, ll_engine **ret)
{
    const struct settings *settings = &turn->talk->settings;
    ll_engine_options options;
    ll_error error = {0};
    ll_engine_options_init(&options);
    options.threads = (int)settings_count(settings, OPTION_THREADS, 0);
    options.device = settings_text(settings, OPTION_DEVICE);
    options.memory = settings_count(settings, OPTION_MEMORY, 0);
    if (ll_engine_open(&options, ret, &error) == LL_OK)
        return true;
    output_fail_error(turn->output, FAIL_WORK, &error);
    return false;
}

bool talk_open_engine(struct turn *turn)
{
    if (!turn->talk->engine && !open_engine(turn, &turn->talk->engine))
        return false;
    gauge_watch(&turn->gauge, turn->talk->engine, turn->talk->session);
    return true;
}

static bool open_session(struct turn *turn, ll_model *model, ll_session **ret)
{
    ll_session_options options;
    ll_error error = {0};
    ll_session_options_init(&options);
    options.context = (size_t)settings_count(&turn->talk->settings, OPTION_CONTEXT, 0);
    options.cache_type = cache_type_of(&turn->talk->settings);
    if (ll_session_open(model, &options, ret, &error) == LL_OK)
        return true;
    output_fail_error(turn->output, FAIL_WORK, &error);
    return false;
}

void talk_label(const char *path, struct text *label)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t length = strlen(name);
    bool suffix = length > 5 && strcmp(name + length - 5, ".gguf") == 0;
    text_clear(label);
    text_append(label, name, suffix ? length - 5 : length);
}

/* For whoever runs the notebook server; the cell is not to blame. */
static void warn_of_log(const char *sentence)
{
    fprintf(stderr, "longleaf-kernel: %s\n", sentence);
}

static void begin_record(struct talk *talk)
{
    int threads = (int)settings_count(&talk->settings, OPTION_THREADS, 0);
    if (settings_flag(&talk->settings, OPTION_NO_LOG))
        return;
    talk->recorder = recorder_open("notebook", text_string(&talk->model_path), text_string(&talk->label),
                                   talk->kv, threads, talk->engine, warn_of_log);
    recorder_model(talk->recorder, talk->engine, talk->model);
    recorder_session(talk->recorder, talk->session,
                     settings_flag(&talk->settings, OPTION_LOOKUP) ? LL_ROWS_DRAFTED : 1);
}

void talk_record(struct turn *turn)
{
    recorder_tokens(turn->talk->recorder, 0, turn->tokens);
    recorder_update(turn->talk->recorder, turn->talk->engine, turn->talk->session);
}

/* What was opened takes the place of what was there. */
static void take(struct turn *turn, ll_engine *engine, ll_model *model, ll_session *session,
                 struct text *path)
{
    struct talk *talk = turn->talk;
    gauge_watch(&turn->gauge, engine, NULL);
    talk_close_model(talk);
    if (talk->engine != engine)
        ll_engine_close(talk->engine);
    talk->engine = engine;
    talk->model = model;
    talk->session = session;
    talk->context = (size_t)settings_count(&talk->settings, OPTION_CONTEXT, 0);
    talk->kv = cache_type_of(&talk->settings);
    gauge_watch(&turn->gauge, engine, session);
    talk->model_path = *path;
    *path = (struct text){0};
    struct text problem = {0}; /* where the session is to be opened anew, it is this model's */
    settings_set(&talk->settings, OPTION_MODEL, ORIGIN_LINE, 0, text_string(&talk->model_path), &problem);
    text_fini(&problem);
    talk_label(text_string(&talk->model_path), &talk->label);
    beacon_watch(talk->beacon, text_string(&talk->label), engine, session);
    begin_record(talk);
}

/* Opens model and session beside what is there, with an engine of their own, so that each model's peaks of
 * memory are its own; path is taken on success. */
static bool open_both(struct turn *turn, struct text *path)
{
    struct talk *talk = turn->talk;
    ll_engine *engine = talk->model ? NULL : talk->engine;
    ll_model *model = NULL;
    ll_session *session = NULL;
    ll_error error = {0};
    ll_run run = turn_run(turn);
    if (!engine && !open_engine(turn, &engine))
        return false;
    struct adapter_list adapters;
    ll_model_options options;
    ll_model_options_init(&options);
    struct text base = {0}, problem = {0};
    text_puts(&base, text_string(path));
    bool ok = adapters_of(&talk->settings, &adapters);
    if (!ok)
        error.status = LL_NOMEM;
    if (ok && !adapters_resolve(&base, &adapters, &problem)) {
        ok = false;
        error.status = LL_NOT_FOUND;
        snprintf(error.text, sizeof error.text, "%s", text_string(&problem));
    }
    text_fini(&problem);
    options.adapters = adapters.items;
    options.adapter_count = adapters.count;
    options.gpu_layers = gpu_layers_of(&talk->settings);
    options.context = (size_t)settings_count(&talk->settings, OPTION_CONTEXT, 0);
    gauge_watch(&turn->gauge, engine, talk->session);
    ok = ok && ll_model_open(engine, text_string(&base), &options, &run, &model, &error) == LL_OK;
    adapters_fini(&adapters);
    text_fini(&base);
    if (!ok)
        output_fail_error(turn->output, FAIL_MODEL, &error);
    ok = ok && open_session(turn, model, &session);
    if (ok) {
        take(turn, engine, model, session, path);
        return true;
    }
    ll_model_close(model);
    if (!talk->model)
        talk->engine = engine;
    gauge_watch(&turn->gauge, talk->engine, talk->session);
    if (talk->model)
        ll_engine_close(engine);
    return false;
}

bool talk_change_model(struct turn *turn, const char *name)
{
    struct text path = {0}, problem = {0};
    bool ok = modelpath_find(name, &path, &problem);
    if (!ok)
        output_fail(turn->output, FAIL_MODEL, "%s", text_string(&problem));
    ok = ok && open_both(turn, &path);
    text_fini(&path);
    text_fini(&problem);
    return ok;
}

long talk_idle(const struct talk *talk)
{
    double minutes = settings_number(&talk->settings, OPTION_IDLE);
    if (!talk->model || talk->rests || minutes <= 0.0)
        return -1;
    double left = talk->worked + minutes * 60.0 - human_clock();
    return left <= 0.0 ? 0 : left < 1e6 ? (long)(left * 1000.0) + 1 : 1000000000;
}

void talk_rest(struct talk *talk)
{
    struct text account = {0};
    if (talk_idle(talk) != 0)
        return;
    talk->rests = memory_trim(talk->engine, talk->model, talk->session, &account, NULL) == LL_OK;
    text_fini(&account);
}

/* %params context and kv are of the next session, so another one is opened when they have changed. */
static bool is_as_wanted(const struct talk *talk)
{
    return talk->context == settings_count(&talk->settings, OPTION_CONTEXT, 0) &&
           talk->kv == cache_type_of(&talk->settings);
}

/* The old session goes first: what both take together would be more than either needs. */
static bool reopen(struct turn *turn)
{
    struct talk *talk = turn->talk;
    struct text path = {0};
    text_puts(&path, text_string(&talk->model_path));
    gauge_watch(&turn->gauge, NULL, NULL);
    talk_close_model(talk);
    ll_engine_close(talk->engine);
    talk->engine = NULL;
    bool ok = open_both(turn, &path);
    text_fini(&path);
    return ok;
}

bool talk_open_model(struct turn *turn)
{
    struct talk *talk = turn->talk;
    if (!talk->session)
        return talk_change_model(turn, settings_text(&talk->settings, OPTION_MODEL));
    return is_as_wanted(talk) || reopen(turn);
}

void talk_close_model(struct talk *talk)
{
    beacon_leave(talk->beacon, talk->engine);
    recorder_close(talk->recorder, talk->engine, talk->session, "done");
    talk->recorder = NULL;
    ll_session_close(talk->session);
    ll_model_close(talk->model);
    talk->session = NULL;
    talk->model = NULL;
    text_fini(&talk->model_path);
    text_fini(&talk->label);
}

size_t talk_capacity(const struct talk *talk)
{
    ll_session_stats stats;
    return talk->session && ll_session_get_stats(talk->session, &stats) == LL_OK ? stats.cache_capacity : 0;
}

const char *talk_journal(const struct talk *talk, struct text *path)
{
    if (settings_flag(&talk->settings, OPTION_NO_CACHE))
        return NULL;
    cachepath_find(path);
    return path->length && !path->failed ? text_string(path) : NULL;
}

/* ---- documents ---- */

ll_document *talk_read_all(struct turn *turn, const char *const *paths, size_t count)
{
    const struct settings *settings = &turn->talk->settings;
    const char *password = getenv("LONGLEAF_PASSWORD");
    ll_document_options options;
    ll_document *document = NULL;
    ll_error error = {0};
    ll_run run = turn_run(turn);
    ll_document_options_init(&options);
    options.encoding = settings_text(settings, OPTION_ENCODING);
    options.password = password && *password ? password : NULL;
    if (ll_document_open(paths, count, &options, &run, &document, &error) != LL_OK)
        output_fail_error(turn->output, FAIL_DOCUMENT, &error);
    return document;
}

ll_document *talk_read(struct turn *turn, const char *path)
{
    if (strcmp(path, "-") != 0)
        return talk_read_all(turn, &path, 1);
    output_fail(turn->output, FAIL_DOCUMENT, "a notebook has no standard input to read; name a file");
    return NULL;
}

bool talk_keep(struct turn *turn, const char *name, ll_document *document, bool from_cell)
{
    struct talk *talk = turn->talk;
    struct talk_document *documents =
        realloc(talk->documents, (talk->document_count + 1) * sizeof *documents);
    char *copy = strdup(name);
    if (documents)
        talk->documents = documents;
    if (!documents || !copy) {
        free(copy);
        ll_document_close(document);
        output_fail(turn->output, FAIL_MEMORY, "there is no memory to keep %s", name);
        return false;
    }
    talk->documents[talk->document_count++] =
        (struct talk_document){.path = copy, .document = document, .from_cell = from_cell, .told = from_cell};
    return true;
}

bool talk_attach(struct turn *turn, const char *path)
{
    ll_document *document = talk_read(turn, path);
    return document && talk_keep(turn, path, document, false);
}

bool talk_weigh(struct turn *turn, const ll_document *document, size_t *ret_tokens)
{
    size_t length;
    ll_error error = {0};
    const char *text = ll_document_text(document, &length);
    if (ll_tokenize(turn->talk->model, text, length, false, false, NULL, 0, ret_tokens, &error) == LL_OK)
        return true;
    output_fail_error(turn->output, FAIL_WORK, &error);
    return false;
}

ll_sampling talk_sampling(const struct talk *talk)
{
    ll_sampling sampling = sampling_of(&talk->settings);
    sampling.seed += talk->retries;
    sampling.ignore_end = talk->ignore_end;
    sampling.choices = 0; /* a cell has no place to show them */
    return sampling;
}
