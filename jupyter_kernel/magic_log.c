/* %log: what earlier runs took, as a table, two side by side, or a picture over what was predicted.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "console/modelpath.h"
#include "console/runs.h"
#include "jupyter_kernel/magic.h"

enum { PLAIN_COLUMNS = 72, TABLE_COLUMNS = 96 }; /* of a curve in plain text; the JSON has all */

/* A table as text and as what programs read. */
static json_t *make_bundle(const struct text *table, const struct text *json)
{
    json_t *bundle = bundle_new(text_string(table), table->length);
    bundle_add_code(bundle, table);
    json_put(bundle, "application/json", json_read_object(text_string(json), json->length));
    return bundle;
}

static bool show_table(struct turn *turn, json_t **ret)
{
    struct text table = {0}, json = {0};
    ll_error error = {0};
    ll_runlog_filter filter;
    ll_runlog_filter_init(&filter);
    bool ok = runs_show(RUNS_TEXT, &filter, TABLE_COLUMNS, &table, &error) == LL_OK &&
              runs_show(RUNS_JSON, &filter, 0, &json, &error) == LL_OK;
    if (ok)
        *ret = make_bundle(&table, &json);
    else
        output_fail_error(turn->output, FAIL_FILE, &error);
    text_fini(&table);
    text_fini(&json);
    return ok;
}

static bool show_pair(struct turn *turn, const int64_t ids[2], json_t **ret)
{
    struct text table = {0}, json = {0};
    ll_error error = {0};
    bool ok = runs_compare(RUNS_TEXT, ids[0], ids[1], &table, &error) == LL_OK &&
              runs_compare(RUNS_JSON, ids[0], ids[1], &json, &error) == LL_OK;
    if (ok)
        *ret = make_bundle(&table, &json);
    else
        output_fail_error(turn->output, error.status == LL_NOT_FOUND ? FAIL_USAGE : FAIL_FILE, &error);
    text_fini(&table);
    text_fini(&json);
    return ok;
}

/* ---- the curve ---- */

/* The model of the conversation, or the one that would be opened. */
static bool find_model(struct turn *turn, struct text *path)
{
    const struct talk *talk = turn->talk;
    struct text problem = {0};
    bool ok = true;
    if (talk->model)
        text_puts(path, text_string(&talk->model_path));
    else
        ok = modelpath_find(settings_text(&talk->settings, OPTION_MODEL), path, &problem);
    if (!ok)
        output_fail(turn->output, FAIL_MODEL, "%s", text_string(&problem));
    text_fini(&problem);
    return ok;
}

static bool draw(struct turn *turn, const char *path, json_t **ret)
{
    struct text label = {0}, drawn = {0}, picture = {0};
    ll_error error = {0};
    ll_runlog_filter filter;
    ll_runlog_filter_init(&filter);
    talk_label(path, &label);
    bool ok = runs_curve(path, text_string(&label), &filter, false, PLAIN_COLUMNS, &drawn, &error) == LL_OK &&
              runs_curve(path, text_string(&label), &filter, true, 0, &picture, &error) == LL_OK;
    if (!ok) {
        output_fail_error(turn->output, FAIL_FILE, &error);
    } else {
        *ret = bundle_new(text_string(&drawn), drawn.length);
        if (strstr(text_string(&picture), "<circle"))
            bundle_add_picture(*ret, &picture);
    }
    text_fini(&label);
    text_fini(&drawn);
    text_fini(&picture);
    return ok;
}

static bool show_curve(struct turn *turn, json_t **ret)
{
    struct text path = {0};
    bool ok = find_model(turn, &path) && draw(turn, text_string(&path), ret);
    text_fini(&path);
    return ok;
}

bool magic_log(struct turn *turn, const struct call *call, json_t **ret)
{
    int64_t ids[2];
    switch (runs_read_wish(call->argument, ids)) {
    case RUNS_LIST:
        return show_table(turn, ret);
    case RUNS_CURVE:
        return show_curve(turn, ret);
    case RUNS_PAIR:
        return show_pair(turn, ids, ret);
    case RUNS_UNKNOWN:
        break;
    }
    output_fail(turn->output, FAIL_USAGE,
                "%%log takes nothing, --curve, or --compare and the numbers of two runs, not “%s”",
                call->argument);
    return false;
}
