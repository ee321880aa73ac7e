/* The gauge of one cell: a display that shows memory, context and speed while the cell works.
 * SPDX-License-Identifier: Apache-2.0 */
#include "jupyter_kernel/gauge.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "console/escape.h"
#include "console/human.h"
#include "console/memory.h"
#include "console/meter.h"

static const double pause_seconds = 0.34, quiet_seconds = 0.5; /* quick work needs no gauge */

void gauge_init(struct gauge *gauge, struct output *output, bool on)
{
    pthread_condattr_t attributes;
    *gauge = (struct gauge){.began = human_clock()};
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    bool ok =
        pthread_mutex_init(&gauge->lock, NULL) == 0 && pthread_cond_init(&gauge->ends, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    gauge->output = ok && on && !output->silent ? output : NULL;
    snprintf(gauge->id, sizeof gauge->id, "gauge-%.60s", output->request->id);
}

void gauge_fini(struct gauge *gauge)
{
    gauge_end(gauge);
    pthread_cond_destroy(&gauge->ends);
    pthread_mutex_destroy(&gauge->lock);
    text_fini(&gauge->label);
    text_fini(&gauge->note);
}

/* ---- what stands in it: rows of name, share and words ---- */

struct row {
    const char *name;
    double share; /* below 0: no bar */
    struct text words;
};

enum { ROWS = 3 };

static void memory_row(const struct gauge *gauge, struct row *row)
{
    ll_memory memory;
    ll_device_info device;
    if (!gauge->engine || ll_engine_get_memory(gauge->engine, 0, &memory) != LL_OK)
        return;
    bool on_card = ll_engine_get_device(gauge->engine, 0, &device) == LL_OK && device.kind == LL_CUDA;
    uint64_t ours = memory.weights + memory.cache + memory.scratch;
    row->name = on_card ? "VRAM" : "memory";
    row->share =
        memory.total ? (double)(on_card ? memory.total - memory.free : ours) / (double)memory.total : -1;
    text_printf(&row->words, "%s of %s: weights %s, keys and values %s, scratch %s",
                human_bytes(on_card ? memory.total - memory.free : ours).text, human_bytes(memory.total).text,
                human_bytes(memory.weights).text, human_bytes(memory.cache).text,
                human_bytes(memory.scratch).text);
}

static void context_row(const struct gauge *gauge, struct row *row)
{
    ll_session_stats stats;
    if (!gauge->session || ll_session_get_stats(gauge->session, &stats) != LL_OK || !stats.cache_used)
        return;
    row->name = "KV";
    row->share = (double)stats.cache_used / (double)stats.cache_capacity;
    text_printf(&row->words, "%s/%s tokens", human_count(stats.cache_used).text,
                human_count(stats.cache_capacity).text);
    if (stats.reused)
        text_printf(&row->words, ", %s reused", human_count(stats.reused).text);
}

static double token_rate(const struct gauge *gauge)
{
    double seconds = gauge->last_token - gauge->first_token;
    return gauge->tokens > 1 && seconds > 0 ? (double)(gauge->tokens - 1) / seconds : 0;
}

/* The rate so far, less the time that has passed since it was known; nothing when it has run out. */
static void time_left(const struct gauge *gauge, struct text *words)
{
    double passed = gauge->done_when - gauge->phase_began;
    if (gauge->done <= gauge->phase_first || gauge->done >= gauge->total || passed < 1)
        return;
    double left = passed * (double)(gauge->total - gauge->done) / (double)(gauge->done - gauge->phase_first) -
                  (human_clock() - gauge->done_when);
    if (left > 0)
        text_printf(words, ", %s left", human_seconds(left).text);
}

/* "summarizing, window 3 of 22, 14 %, 40 s left" while it works. */
static void phase_words(const struct gauge *gauge, struct row *row)
{
    text_puts(&row->words, gauge->told ? meter_phase_words(gauge->phase) : "at work");
    if (gauge->told && gauge->label.length) {
        text_puts(&row->words, ", ");
        escape_append_line(&row->words, text_string(&gauge->label));
    }
    if (gauge->told && gauge->total) {
        row->share = (double)gauge->done / (double)gauge->total;
        text_printf(&row->words, ", %.0f %%", 100 * row->share);
        time_left(gauge, &row->words);
    }
    double passed = human_clock() - gauge->began;
    if (passed >= 1)
        text_printf(&row->words, ", %s so far", human_seconds(passed).text);
}

static void work_row(const struct gauge *gauge, struct row *row)
{
    bool writes = gauge->tokens && (gauge->phase == LL_DECODING || !gauge->working);
    row->name = gauge->working ? "now" : "done";
    row->share = -1;
    if (writes)
        text_printf(&row->words, "%s tokens, %s tokens/s", human_count(gauge->tokens).text,
                    gauge->tokens > 1 ? human_rate(token_rate(gauge)).text : "?");
    else if (gauge->working)
        phase_words(gauge, row);
    else if (gauge->told && gauge->label.length)
        escape_append_line(&row->words, text_string(&gauge->label));
    if (!gauge->working)
        text_printf(&row->words, "%s%s", row->words.length ? ", " : "",
                    human_seconds(human_clock() - gauge->began).text);
    if (gauge->note.length)
        text_printf(&row->words, "; %s", text_string(&gauge->note));
}

/* ---- its two forms ---- */

static void plain_rows(const struct row rows[ROWS], struct text *out)
{
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].words.length)
            text_printf(out, "%s%s %s", out->length ? " | " : "", rows[i].name, text_string(&rows[i].words));
}

static void html_rows(const struct row rows[ROWS], struct text *out)
{
    text_puts(out, "<table style=\"font-size:85%;margin:0\">");
    for (size_t i = 0; i < ROWS; i++) {
        if (!rows[i].words.length)
            continue;
        text_printf(out, "<tr><th style=\"text-align:left\">%s</th><td>", rows[i].name);
        if (rows[i].share >= 0)
            text_printf(out, "<progress value=\"%.3f\" max=\"1\">%.0f %%</progress>",
                        rows[i].share > 1 ? 1 : rows[i].share, 100 * rows[i].share);
        text_puts(out, "</td><td style=\"text-align:left\">");
        html_append(out, text_string(&rows[i].words));
        text_puts(out, "</td></tr>");
    }
    text_puts(out, "</table>");
}

static json_t *bundle(struct row rows[ROWS])
{
    struct text plain = {0}, html = {0};
    plain_rows(rows, &plain);
    html_rows(rows, &html);
    json_t *bundle = bundle_new(text_string(&plain), plain.length);
    bundle_add(bundle, "text/html", &html);
    text_fini(&plain);
    text_fini(&html);
    for (size_t i = 0; i < ROWS; i++)
        text_fini(&rows[i].words);
    return bundle;
}

/* The lock is held: a display never overtakes another. */
static void draw(struct gauge *gauge, struct publisher *publisher)
{
    struct row rows[ROWS] = {{.share = -1}, {.share = -1}, {.share = -1}};
    memory_row(gauge, &rows[0]);
    context_row(gauge, &rows[1]);
    work_row(gauge, &rows[2]);
    output_display_by(gauge->output, publisher, bundle(rows), gauge->id, gauge->shown);
    gauge->shown = true;
}

/* ---- when ---- */

static struct timespec moment(double seconds)
{
    struct timespec when;
    clock_gettime(CLOCK_MONOTONIC, &when);
    long nanoseconds = when.tv_nsec + (long)(seconds * 1e9);
    return (struct timespec){when.tv_sec + nanoseconds / 1000000000, nanoseconds % 1000000000};
}

static void *tick(void *user)
{
    struct gauge *gauge = user;
    struct wire wire;
    struct channel *channel = gauge->output->channel;
    if (!wire_init(&wire, channel->wire.shared))
        return NULL;
    struct publisher publisher = publisher_share(&channel->publisher, &wire);
    pthread_mutex_lock(&gauge->lock);
    while (!gauge->ended) {
        struct timespec until = moment(gauge->shown ? pause_seconds : quiet_seconds);
        int why = 0;
        while (!gauge->ended && why != ETIMEDOUT)
            why = pthread_cond_timedwait(&gauge->ends, &gauge->lock, &until);
        if (!gauge->ended)
            draw(gauge, &publisher);
    }
    pthread_mutex_unlock(&gauge->lock);
    wire_fini(&wire);
    return NULL;
}

/* The cell has begun to work: its thread calls, and holds the lock. */
static void begin(struct gauge *gauge)
{
    gauge->working = true;
    if (gauge->output && !gauge->ticks)
        gauge->ticks = pthread_create(&gauge->thread, NULL, tick, gauge) == 0;
}

void gauge_show(struct gauge *gauge)
{
    pthread_mutex_lock(&gauge->lock);
    if (gauge->session) { /* nothing is loaded any more */
        gauge->phase = LL_PREFILLING;
        gauge->told = true;
    }
    if (gauge->output) {
        gauge->working = true;
        draw(gauge, &gauge->output->channel->publisher);
    }
    begin(gauge);
    pthread_mutex_unlock(&gauge->lock);
}

void gauge_watch(struct gauge *gauge, const ll_engine *engine, const ll_session *session)
{
    pthread_mutex_lock(&gauge->lock);
    gauge->engine = engine;
    gauge->session = session;
    pthread_mutex_unlock(&gauge->lock);
}

void gauge_progress(struct gauge *gauge, const ll_progress *progress)
{
    double now = human_clock();
    pthread_mutex_lock(&gauge->lock);
    if (progress->phase != gauge->phase || progress->done < gauge->done || !gauge->working || !gauge->told) {
        gauge->phase_began = now;
        gauge->phase_first = progress->done;
    }
    gauge->phase = progress->phase;
    gauge->told = true;
    gauge->done = progress->done;
    gauge->done_when = now;
    gauge->total = progress->total;
    text_clear(&gauge->label);
    if (progress->label)
        text_puts(&gauge->label, progress->label);
    begin(gauge);
    pthread_mutex_unlock(&gauge->lock);
}

void gauge_token(struct gauge *gauge)
{
    pthread_mutex_lock(&gauge->lock);
    gauge->last_token = human_clock();
    if (!gauge->tokens++)
        gauge->first_token = gauge->last_token;
    gauge->phase = LL_DECODING;
    gauge->told = true;
    begin(gauge);
    pthread_mutex_unlock(&gauge->lock);
}

void gauge_count_anew(struct gauge *gauge)
{
    pthread_mutex_lock(&gauge->lock);
    gauge->tokens = 0;
    pthread_mutex_unlock(&gauge->lock);
}

void gauge_note(struct gauge *gauge, const char *note)
{
    pthread_mutex_lock(&gauge->lock);
    text_clear(&gauge->note);
    text_puts(&gauge->note, note);
    pthread_mutex_unlock(&gauge->lock);
}

void gauge_end(struct gauge *gauge)
{
    pthread_mutex_lock(&gauge->lock);
    gauge->ended = true;
    pthread_cond_signal(&gauge->ends);
    pthread_mutex_unlock(&gauge->lock);
    if (gauge->ticks)
        pthread_join(gauge->thread, NULL);
    gauge->ticks = false;
    gauge->working = false;
    if (gauge->output && gauge->shown)
        draw(gauge, &gauge->output->channel->publisher);
    gauge->output = NULL;
}

/* ---- memory on its own ---- */

json_t *gauge_memory_bundle(const ll_engine *engine, const ll_model *model, const ll_session *session)
{
    struct gauge still = {.engine = engine, .session = session};
    struct row rows[ROWS] = {{.share = -1}, {.share = -1}, {.share = -1}};
    struct text plain = {0}, account = {0};
    memory_row(&still, &rows[0]);
    context_row(&still, &rows[1]);
    json_t *object = bundle(rows);
    memory_show(MEMORY_TEXT, engine, model, session, &plain);
    if (!session)
        text_puts(&plain, "no model is loaded yet; the first prompt or %model loads one\n");
    memory_show(MEMORY_JSON, engine, model, session, &account);
    json_put_text(object, "text/plain", &plain);
    bundle_add_code(object, &plain);
    json_put(object, "application/json", json_read_object(text_string(&account), account.length));
    text_fini(&plain);
    text_fini(&account);
    return object;
}
