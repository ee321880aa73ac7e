/* Memory against context length, predicted from a model's metadata: a table and a curve.
 * SPDX-License-Identifier: Apache-2.0 */
#include "jupyter_kernel/curve.h"

#include "console/human.h"
#include "console/modelpath.h"
#include "console/sampling.h"
#include "jupyter_kernel/picture.h"

static void spell_bytes(double value, struct text *out)
{
    text_puts(out, human_bytes((uint64_t)value).text);
}

static void spell_count(double value, struct text *out)
{
    text_puts(out, human_count((uint64_t)value).text);
}

enum { MOST_POINTS = 24, LEAST_CONTEXT = 512 };

struct curve {
    ll_need needs[MOST_POINTS];
    size_t count;
};

/* Doubling lengths up to what the model was trained for. */
static bool measure(struct turn *turn, const ll_blueprint *blueprint, struct curve *curve)
{
    ll_model_info info = {0};
    ll_need_options options;
    ll_error error = {0};
    ll_blueprint_get_info(blueprint, &info);
    ll_need_options_init(&options);
    options.cache_type = cache_type_of(&turn->talk->settings);
    options.threads = (int)settings_count(&turn->talk->settings, OPTION_THREADS, 0);
    size_t most = info.trained_context ? info.trained_context : LEAST_CONTEXT;
    bool last = false;
    for (size_t context = LEAST_CONTEXT; !last && curve->count < MOST_POINTS; context *= 2) {
        last = context >= most;
        options.context = last ? most : context;
        if (ll_blueprint_need(blueprint, &options, &curve->needs[curve->count], &error) != LL_OK) {
            output_fail_error(turn->output, FAIL_MODEL, &error);
            return false;
        }
        curve->count++;
    }
    return true;
}

static json_t *curve_page(const struct curve *curve)
{
    struct text plain = {0}, markdown = {0};
    json_t *rows = json_array();
    text_puts(&markdown, "| context | weights | keys and values | together | a plain engine |\n"
                         "|---:|---:|---:|---:|---:|\n");
    for (size_t i = 0; i < curve->count; i++) {
        const ll_need *need = &curve->needs[i];
        struct human context = human_count(need->context), weights = human_bytes(need->bytes[LL_WEIGHTS]),
                     cache = human_bytes(need->bytes[LL_CACHE]), total = human_bytes(need->total),
                     naive = human_bytes(need->naive_total);
        text_printf(&plain, "%s%9s tokens: %s together (weights %s, keys and values %s); a plain engine %s",
                    i ? "\n" : "", context.text, total.text, weights.text, cache.text, naive.text);
        text_printf(&markdown, "| %s | %s | %s | %s | %s |\n", context.text, weights.text, cache.text,
                    total.text, naive.text);
        json_t *row = json_object();
        json_put_count(row, "context", need->context);
        json_put_count(row, "bytes", need->total);
        for (int c = 0; c < LL_COMPONENTS; c++)
            json_put_count(row, ll_component_name((ll_component)c), need->bytes[c]);
        json_put_count(row, "naive_bytes", need->naive_total);
        json_array_append_new(rows, row);
    }
    json_t *bundle = bundle_new(text_string(&plain), plain.length);
    bundle_add(bundle, "text/markdown", &markdown);
    json_put(bundle, "application/json", rows);
    text_fini(&plain);
    text_fini(&markdown);
    return bundle;
}

static void show_curve(struct turn *turn, const struct curve *curve)
{
    struct picture_point points[MOST_POINTS];
    struct text picture = {0};
    for (size_t i = 0; i < curve->count; i++)
        points[i] = (struct picture_point){(double)curve->needs[i].context, (double)curve->needs[i].total};
    picture_curve(&picture, "Memory against context, all components together", "tokens of context", "",
                  points, curve->count, curve->count, spell_count, spell_bytes);
    output_picture(turn->output, "memory against context", &picture);
    text_fini(&picture);
}

bool curve_show(struct turn *turn, json_t **ret)
{
    const struct talk *talk = turn->talk;
    struct curve curve = {.count = 0};
    struct text path = {0}, problem = {0};
    ll_blueprint *blueprint = NULL;
    ll_error error = {0};
    bool ok = true;
    if (talk->model)
        text_puts(&path, text_string(&talk->model_path));
    else
        ok = modelpath_find(settings_text(&talk->settings, OPTION_MODEL), &path, &problem);
    if (!ok)
        output_fail(turn->output, FAIL_MODEL, "%s", text_string(&problem));
    else if (ll_blueprint_open(text_string(&path), &blueprint, &error) != LL_OK)
        output_fail_error(turn->output, FAIL_MODEL, &error);
    ok = blueprint && measure(turn, blueprint, &curve);
    if (ok) {
        show_curve(turn, &curve);
        *ret = curve_page(&curve);
    }
    ll_blueprint_close(blueprint);
    text_fini(&path);
    text_fini(&problem);
    return ok;
}
