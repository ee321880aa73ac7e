/* What runs of a model took, as dots over the line that its plan predicts.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "console/chart.h"
#include "console/escape.h"
#include "console/human.h"
#include "console/outlook.h"
#include "console/runs.h"

enum { KV_TYPES = 4, MOST_POINTS = 1000, LINE_POINTS = 64, FIRST_CONTEXT = 512, ROWS = 12 };

struct curve {
    const char *label;
    struct chart_point dots[KV_TYPES][MOST_POINTS], lines[KV_TYPES][LINE_POINTS];
    size_t dot_count[KV_TYPES], line_count[KV_TYPES];
    double most; /* context of a run */
};

static ll_flow add_dot(void *user, const ll_runlog_entry *entry)
{
    struct curve *curve = user;
    uint64_t total = runs_total(entry->peak);
    if (strcmp(entry->model, curve->label) != 0 || entry->windows || !entry->context || !total)
        return LL_CONTINUE;
    for (int t = 0; t < KV_TYPES; t++) {
        size_t at = curve->dot_count[t];
        if (strcmp(entry->kv, outlook_kv_name((ll_dtype)t)) != 0)
            continue;
        if (at == MOST_POINTS) /* the oldest go */
            memmove(curve->dots[t], curve->dots[t] + 1, --at * sizeof *curve->dots[t]);
        curve->dots[t][at] = (struct chart_point){(double)entry->context, (double)total};
        curve->dot_count[t] = at + 1;
        curve->most = entry->context > curve->most ? (double)entry->context : curve->most;
    }
    return LL_CONTINUE;
}

/* From 512 tokens, or the least context of a run, to what the model was trained with or a run had. */
static ll_status draw_lines(struct curve *curve, const char *path, ll_error *error)
{
    ll_blueprint *blueprint = NULL;
    ll_model_info info;
    ll_status status = ll_blueprint_open(path, &blueprint, error);
    if (status == LL_OK)
        status = ll_blueprint_get_info(blueprint, &info);
    for (int t = 0; status == LL_OK && t < KV_TYPES; t++) {
        double first = FIRST_CONTEXT, last = (double)info.trained_context;
        for (size_t i = 0; i < curve->dot_count[t]; i++)
            first = curve->dots[t][i].x < first ? curve->dots[t][i].x : first;
        last = curve->most > last ? curve->most : last;
        for (double x = first; curve->dot_count[t] && curve->line_count[t] < LINE_POINTS;
             x = x < last && x * 1.5 > last ? last : x * 1.5) {
            ll_need_options options;
            ll_need need;
            ll_need_options_init(&options);
            options.cache_type = (ll_dtype)t;
            options.context = (size_t)x;
            if (x > last || ll_blueprint_need(blueprint, &options, &need, NULL) != LL_OK)
                break;
            curve->lines[t][curve->line_count[t]++] = (struct chart_point){x, (double)need.total};
        }
    }
    ll_blueprint_close(blueprint);
    return status;
}

static size_t make_series(const struct curve *curve, char names[][32], struct chart_series *series)
{
    size_t count = 0;
    for (int t = 0; t < KV_TYPES; t++) {
        struct text name = {0};
        if (!curve->dot_count[t])
            continue;
        for (int dots = 0; dots < 2; dots++) {
            text_clear(&name);
            text_printf(&name, "%s %s", outlook_kv_name((ll_dtype)t), dots ? "measured" : "predicted");
            strncpy(names[count], text_string(&name), 31);
            series[count] = (struct chart_series){names[count], dots ? curve->dots[t] : curve->lines[t],
                                                  dots ? curve->dot_count[t] : curve->line_count[t], dots};
            count++;
        }
        text_fini(&name);
    }
    return count;
}

static void list_dots(const struct curve *curve, struct text *out)
{
    for (int t = 0; t < KV_TYPES; t++)
        if (curve->dot_count[t])
            text_printf(out, "%s: %zu run%s measured over the line predicted\n", outlook_kv_name((ll_dtype)t),
                        curve->dot_count[t], curve->dot_count[t] == 1 ? "" : "s");
}

static void show(const struct curve *curve, bool svg, size_t columns, struct text *out)
{
    char names[2 * KV_TYPES][32] = {{0}};
    struct chart_series series[2 * KV_TYPES];
    struct chart chart = {.title = curve->label,
                          .x_name = "tokens of context",
                          .y_name = "memory",
                          .series = series,
                          .count = make_series(curve, names, series)};
    if (svg) {
        chart_svg(&chart, out);
    } else if (!chart.count) {
        text_puts(out, "no run of ");
        escape_append_line(out, curve->label);
        text_puts(out, " in one session that has ended is in the log; runs over many windows do not count\n");
    } else {
        chart_braille(&chart, columns, ROWS, out);
        list_dots(curve, out);
    }
}

ll_status runs_curve(const char *path, const char *label, const ll_runlog_filter *filter, bool svg,
                     size_t columns, struct text *out, ll_error *error)
{
    struct curve *curve = calloc(1, sizeof *curve);
    ll_runlog *log = NULL;
    if (!curve) {
        *error = (ll_error){.status = LL_NOMEM, .offset = -1, .where = "run log"};
        return LL_NOMEM;
    }
    curve->label = label;
    ll_status status = runs_open(&log, error);
    if (status == LL_OK && log)
        status = ll_runlog_query(log, filter, add_dot, curve, error);
    ll_runlog_close(log);
    if (status == LL_OK)
        status = draw_lines(curve, path, error);
    if (status == LL_OK)
        show(curve, svg, columns, out);
    free(curve);
    return status;
}
