/* What every verb is given: settings, operands, the answer's way out, the cancel flag, the meter.
 * SPDX-License-Identifier: Apache-2.0 */
#include "repl/program.h"

#include <string.h>

#include <signal.h>
#include <string.h>

#include "console/human.h"
#include "repl/json.h"
#include "repl/say.h"
#include "repl/signals.h"

/* Ten lines a second at most, and always the last of a phase. */
static void stream_progress(struct program *program, const ll_progress *progress)
{
    double now = human_clock();
    if (now - program->streamed < 0.1 && progress->done != progress->total)
        return;
    program->streamed = now;
    json_t *line = json_object();
    json_put_string(line, "type", "progress");
    json_put_string(line, "phase", meter_phase_words(progress->phase));
    json_put_count(line, "done", progress->done);
    json_put_count(line, "total", progress->total);
    if (progress->label)
        json_put_string(line, "label", progress->label);
    json_print(&program->output, line, JSON_COMPACT);
    output_flush(&program->output);
}

static void on_progress(void *user, const ll_progress *progress)
{
    struct program *program = user;
    beacon_progress(program->beacon, progress);
    program->last_phase = progress->phase;
    program->last_done = progress->done;
    program->last_total = progress->total;
    if (program->streams_json && progress->phase != LL_DECODING)
        stream_progress(program, progress);
    if (program->on_progress)
        program->on_progress(program->progress_user, progress);
    else
        meter_update(&program->meter, progress);
}

static ll_flow on_token(void *user, const ll_token_event *event)
{
    struct program *program = user;
    beacon_token(program->beacon);
    return program->on_token ? program->on_token(program->hearer, event) : LL_CONTINUE;
}

ll_run program_run(struct program *program)
{
    ll_run run;
    ll_run_init(&run);
    run.cancel = program->cancel;
    run.on_progress = on_progress;
    run.on_token = on_token;
    run.user = program;
    return run;
}

int program_interrupted(void)
{
    int seen = signals_seen();
    return seen == SIGTERM ? LEAVE_TERMINATED : seen == SIGHUP ? LEAVE_HUNG_UP : LEAVE_INTERRUPTED;
}

/* The text often begins with the name already. */
static bool is_named(const ll_error *error)
{
    const char *colon = strstr(error->text, ": ");
    size_t length = strlen(error->where), before = colon ? (size_t)(colon - error->text) : 0;
    return length && before >= length && memcmp(colon - length, error->where, length) == 0;
}

/* What of an interrupted work is kept, and how it goes on. */
static void say_stopped(const struct program *program)
{
    const char *what = program->last_phase == LL_FUSING ? "joins" : "windows";
    bool windows = program->last_phase == LL_SUMMARIZING || program->last_phase == LL_FUSING ||
                   program->last_phase == LL_ASKING;
    if (!windows || !program->last_total)
        say_aside("stopped");
    else if (settings_flag(&program->settings, OPTION_NO_CACHE))
        say_aside("stopped after %llu of %llu %s; nothing is kept (--no-cache)",
                  (unsigned long long)program->last_done, (unsigned long long)program->last_total, what);
    else
        say_aside(
            "stopped after %llu of %llu %s; what is finished is kept: the same command goes on from there",
            (unsigned long long)program->last_done, (unsigned long long)program->last_total, what);
}

int program_fail(struct program *program, enum concern concern, const ll_error *error)
{
    meter_clear(&program->meter);
    if (error->status == LL_CANCELLED) {
        say_stopped(program);
        return program_interrupted();
    }
    bool named = !error->where[0] || is_named(error);
    say_error("%s%s%s", named ? "" : error->where, named ? "" : ": ", error->text);
    switch (error->status) {
    case LL_NOMEM:
    case LL_DEVICE_MEMORY:
        return LEAVE_MEMORY;
    case LL_UNREADABLE:
        return LEAVE_DOCUMENT;
    case LL_CONTEXT_FULL:
        return LEAVE_UNCOVERED;
    case LL_ARGUMENT:
        if (concern == CONCERN_WORK)
            return LEAVE_USAGE;
        /* fall through */
    default:
        return concern == CONCERN_MODEL || strcmp(error->where, "model file") == 0 ? LEAVE_MODEL
               : concern == CONCERN_DOCUMENT                                       ? LEAVE_DOCUMENT
                                                                                   : LEAVE_OTHER;
    }
}
