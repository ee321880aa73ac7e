/* The gauge of one cell: a display that shows memory, context and speed while the cell works.
 * SPDX-License-Identifier: Apache-2.0 */
#include "jupyter_kernel/gauge.h"

#include <stdio.h>

#include "console/escape.h"
#include "console/human.h"
#include "console/memory.h"
#include "console/meter.h"

static const double pause_seconds = 0.34, quiet_seconds = 0.5; /* quick work needs no gauge */

void gauge_init(struct gauge *gauge, struct output *output, bool on)
{
    *gauge = (struct gauge){.output = on && !output->silent ? output : NULL, .began = human_clock()};
    snprintf(gauge->id, sizeof gauge->id, "gauge-%.60s", output->request->id);
}

void gauge_fini(struct gauge *gauge)
{
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

/* "window 3 of 22, 40 s left" while it works. */
static void phase_words(const struct gauge *gauge, struct row *row)
{
    text_puts(&row->words, meter_phase_words(gauge->phase));
    if (gauge->label.length) {
        text_puts(&row->words, ", ");
        escape_append_line(&row->words, text_string(&gauge->label));
    }
    if (!gauge->total)
        return;
    row->share = (double)gauge->done / (double)gauge->total;
    text_printf(&row->words, ", %.0f %%", 100 * row->share);
    double passed = human_clock() - gauge->phase_began;
    if (gauge->done > gauge->phase_first && gauge->done < gauge->total && passed > 1)
        text_printf(&row->words, ", %s left",
                    human_seconds(passed * (double)(gauge->total - gauge->done) /
                                  (double)(gauge->done - gauge->phase_first))
                        .text);
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

static void draw(struct gauge *gauge)
{
    struct row rows[ROWS] = {{.share = -1}, {.share = -1}, {.share = -1}};
    memory_row(gauge, &rows[0]);
    context_row(gauge, &rows[1]);
    work_row(gauge, &rows[2]);
    output_display(gauge->output, bundle(rows), gauge->id, gauge->shown);
    gauge->shown = true;
    gauge->drawn = human_clock();
}

/* ---- when ---- */

void gauge_show(struct gauge *gauge)
{
    gauge->working = true;
    if (gauge->output)
        draw(gauge);
}

static void draw_when_due(struct gauge *gauge)
{
    gauge->working = true;
    double now = human_clock();
    if (gauge->output &&
        now - (gauge->shown ? gauge->drawn : gauge->began) >= (gauge->shown ? pause_seconds : quiet_seconds))
        draw(gauge);
}

void gauge_progress(struct gauge *gauge, const ll_progress *progress)
{
    if (progress->phase != gauge->phase || progress->done < gauge->done || !gauge->working) {
        gauge->phase_began = human_clock();
        gauge->phase_first = progress->done;
    }
    gauge->phase = progress->phase;
    gauge->done = progress->done;
    gauge->total = progress->total;
    text_clear(&gauge->label);
    if (progress->label)
        text_puts(&gauge->label, progress->label);
    draw_when_due(gauge);
}

void gauge_token(struct gauge *gauge)
{
    gauge->last_token = human_clock();
    if (!gauge->tokens++)
        gauge->first_token = gauge->last_token;
    gauge->phase = LL_DECODING;
    draw_when_due(gauge);
}

void gauge_note(struct gauge *gauge, const char *note)
{
    text_clear(&gauge->note);
    text_puts(&gauge->note, note);
}

void gauge_end(struct gauge *gauge)
{
    gauge->working = false;
    if (gauge->output && gauge->shown)
        draw(gauge);
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
    json_put(object, "application/json", json_read_object(text_string(&account), account.length));
    text_fini(&plain);
    text_fini(&account);
    return object;
}
