/* The plan before: one model's needs over contexts, KV types, precisions, windows and memories, in words.
 * SPDX-License-Identifier: Apache-2.0 */
#include "console/outlook.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "console/chart.h"
#include "console/escape.h"
#include "console/human.h"
#include "console/outlook_split.h"

enum { MOST_CONTEXTS = 32, FIRST_CONTEXT = 512 };

static const ll_dtype kv_types[] = {LL_F32, LL_F16, LL_BF16, LL_Q8_0};
enum { KV_TYPES = sizeof kv_types / sizeof *kv_types };
static const char *const precisions[] = {"as stored", "F32", "F16", "BF16", "8 bit", "4 bit"};
enum { PRECISIONS = sizeof precisions / sizeof *precisions };
static const char *const precision_words[PRECISIONS] = {"stored", "f32", "f16", "bf16", "8bit", "4bit"};
static const size_t windows[] = {1, 2, 4, 8, 16};
enum { WINDOWS = sizeof windows / sizeof *windows };

static const struct {
    const char *task;
    size_t context;
    const char *reason;
} tasks[] = {{"sorting texts into kinds", 512, "one page and a word of answer"},
             {"a single question", 1024, "a page or two and a paragraph of answer"},
             {"a short chat", 2048, "some ten exchanges before the oldest are summarised"},
             {"a long chat", 4096, "an hour of talk, or a page to talk about"},
             {"a summary of a long document", 8192, "longer windows mean fewer seams; more is better here"}};
enum { TASKS = sizeof tasks / sizeof *tasks };

const char *outlook_kv_name(ll_dtype type)
{
    static const char *const names[] = {
        [LL_F32] = "f32", [LL_F16] = "f16", [LL_BF16] = "bf16", [LL_Q8_0] = "q8_0"};
    return (unsigned)type < sizeof names / sizeof *names ? names[type] : "unknown";
}

bool outlook_read_memories(const char *text, struct outlook *outlook, struct text *problem)
{
    outlook->memory_count = 0;
    while (*text) {
        char *end;
        double number = *text >= '0' && *text <= '9' ? strtod(text, &end) : -1.0;
        int shift = number < 0.0                 ? 0
                    : *end == 'k' || *end == 'K' ? 10
                    : *end == 'M'                ? 20
                    : *end == 'G'                ? 30
                    : *end == 'T'                ? 40
                                                 : 0;
        bool fits = number > 0.0 && number < 1e15;
        if (fits && shift)
            end++;
        if (fits && strncmp(end, "iB", 2) == 0)
            end += 2;
        if (!fits || (*end && *end != ',') || outlook->memory_count == OUTLOOK_MEMORIES) {
            text_puts(problem, "--gpu-memory: “");
            escape_append_line(problem, text);
            text_printf(problem, "” is no list of at most %d sizes such as 8G,24G", OUTLOOK_MEMORIES);
            return false;
        }
        outlook->memories[outlook->memory_count++] = (uint64_t)(number * (double)((uint64_t)1 << shift));
        text = *end ? end + 1 : end;
    }
    return true;
}

/* ---- what is computed ---- */

struct view {
    const struct outlook *outlook;
    ll_model_info info;
    size_t contexts[MOST_CONTEXTS];
    size_t context_count;
    size_t main_context; /* of the tables that have one context */
    ll_error *error;
    bool failed;
};

static void add_context(struct view *view, size_t context)
{
    if (view->context_count < MOST_CONTEXTS)
        view->contexts[view->context_count++] = context;
}

static struct view make_view(const struct outlook *outlook, ll_error *error)
{
    struct view view = {.outlook = outlook, .error = error};
    ll_blueprint_get_info(outlook->blueprint, &view.info);
    size_t trained = view.info.trained_context;
    view.main_context = outlook->options.context ? outlook->options.context : trained;
    if (outlook->options.context) {
        add_context(&view, outlook->options.context);
        return view;
    }
    for (size_t context = FIRST_CONTEXT; context < trained && context < SIZE_MAX / 2; context *= 2)
        add_context(&view, context);
    add_context(&view, trained);
    if (trained < SIZE_MAX / 4) {
        add_context(&view, trained * 2);
        add_context(&view, trained * 4);
    }
    return view;
}

static ll_need need_of(struct view *view, const ll_need_options *options)
{
    ll_need need = {0};
    if (!view->failed && ll_blueprint_need(view->outlook->blueprint, options, &need, view->error) != LL_OK)
        view->failed = true;
    return need;
}

static ll_need need_at(struct view *view, size_t context, ll_dtype type, ll_precision precision, size_t side)
{
    ll_need_options options = view->outlook->options;
    options.context = context;
    options.cache_type = type;
    options.precision = precision;
    options.sequences = side ? side : options.sequences;
    return need_of(view, &options);
}

/* A type that cannot hold the heads of this model has no row. */
static bool type_works(const struct view *view, ll_dtype type)
{
    ll_need_options options = view->outlook->options;
    ll_need need;
    options.cache_type = type;
    options.context = FIRST_CONTEXT;
    return ll_blueprint_need(view->outlook->blueprint, &options, &need, NULL) == LL_OK;
}

static size_t fit_of(struct view *view, uint64_t memory, ll_dtype type)
{
    ll_need_options options = view->outlook->options;
    size_t context = 0;
    options.cache_type = type;
    if (!view->failed &&
        ll_blueprint_fit(view->outlook->blueprint, &options, memory, &context, view->error) != LL_OK)
        view->failed = true;
    return context;
}

/* ---- text ---- */

static const char *bytes(uint64_t value, struct human *room)
{
    *room = human_bytes(value);
    return value == UINT64_MAX ? "beyond" : room->text;
}

static void show_model(const struct view *view, struct text *out)
{
    const ll_model_info *info = &view->info;
    escape_append_line(out, view->outlook->label);
    text_printf(out, ": %s, %s parameters, %zu layers, %s tokens in training\n", info->architecture,
                human_count(info->parameters).text, info->layers, human_count(info->trained_context).text);
    if (info->experts)
        text_printf(out,
                    "%zu experts in each layer, %zu for each token: %s parameters at work, all in memory\n",
                    info->experts, info->experts_used, human_count(info->token_parameters).text);
    text_puts(out, "weights by type:");
    for (size_t i = 0; i < ll_blueprint_type_count(view->outlook->blueprint); i++) {
        ll_weight_type type;
        if (ll_blueprint_get_type(view->outlook->blueprint, i, &type) == LL_OK)
            text_printf(out, "%s %s %s", i ? "," : "", type.name, human_bytes(type.bytes).text);
    }
    text_putc(out, '\n');
}

static void show_contexts(struct view *view, struct text *out)
{
    const ll_need_options *o = &view->outlook->options;
    struct human room[8];
    bool extrapolated = false, cuda = o->device == LL_CUDA;
    text_printf(out, "\nNeeds by context, %s KV, %zu %s%s:\n", outlook_kv_name(o->cache_type), o->sequences,
                o->sequences == 1 ? "sequence" : "windows at once",
                cuda ? ", on a GPU: computed, not proven by a measurement yet" : "");
    text_printf(out, "%10s %11s %11s %11s %11s %11s %12s %14s\n", "context", "weights", "KV cache", "scratch",
                "logits", cuda ? "driver" : "program", "together", "naive engine");
    for (size_t i = 0; i < view->context_count; i++) {
        ll_need need = need_at(view, view->contexts[i], o->cache_type, o->precision, 0);
        extrapolated |= need.extrapolated;
        text_printf(out, "%9s%s %11s %11s %11s %11s %11s %12s %14s\n", human_count(view->contexts[i]).text,
                    need.extrapolated ? "*" : " ", bytes(need.bytes[LL_WEIGHTS], &room[0]),
                    bytes(need.bytes[LL_CACHE], &room[1]), bytes(need.bytes[LL_SCRATCH], &room[2]),
                    bytes(need.bytes[LL_LOGITS], &room[3]), bytes(need.bytes[LL_PROGRAM], &room[4]),
                    bytes(need.total, &room[5]), bytes(need.naive_total, &room[6]));
    }
    if (extrapolated)
        text_printf(out, "* longer than in training: extrapolated%s\n",
                    view->info.position == LL_ALIBI ? ", which ALiBi is made for"
                                                    : ", and rotary positions answer badly there");
    if (cuda)
        text_puts(out, "The driver's context is assumed to take 512 MiB.\n");
}

static void put_row(struct text *out, const char *what, const char *detail, uint64_t value)
{
    struct human room;
    text_printf(out, "  %-10s %-52s %11s\n", what, detail, bytes(value, &room));
}

/* Weights by type are the file's; in another precision all matrices have that one. */
static void show_weight_rows(struct view *view, const ll_need *need, struct text *out)
{
    const struct outlook *outlook = view->outlook;
    struct text detail = {0};
    uint64_t left = need->bytes[LL_WEIGHTS];
    for (size_t i = 0; i < ll_blueprint_type_count(outlook->blueprint); i++) {
        ll_weight_type type;
        if (outlook->options.precision != LL_AS_STORED ||
            ll_blueprint_get_type(outlook->blueprint, i, &type) != LL_OK || type.bytes > left)
            continue;
        text_clear(&detail);
        text_printf(&detail, "%s, %zu tensor%s", type.name, type.tensors, type.tensors == 1 ? "" : "s");
        put_row(out, "weights", text_string(&detail), type.bytes);
        left -= type.bytes;
    }
    if (left)
        put_row(out, "weights",
                outlook->options.precision == LL_AS_STORED ? "norms and biases besides, as F32"
                                                           : precisions[outlook->options.precision],
                left);
    text_fini(&detail);
}

static void show_cache_row(struct text *out, size_t layers, const char *what, uint64_t value)
{
    struct text detail = {0};
    text_printf(&detail, "%zu layer%s %s", layers, layers == 1 ? "" : "s", what);
    if (layers)
        put_row(out, "KV cache", text_string(&detail), value);
    text_fini(&detail);
}

/* One context row by row, as it would stand on the device. */
static void show_rows(struct view *view, struct text *out)
{
    const ll_need_options *o = &view->outlook->options;
    bool cuda = o->device == LL_CUDA;
    ll_need need = need_at(view, view->main_context, o->cache_type, o->precision, 0);
    struct text window = {0};
    text_printf(&window, "that see a window of %s tokens", human_count(view->info.sliding_window).text);
    text_printf(out, "\nRow by row at %s tokens, %s KV, on %s:\n", human_count(view->main_context).text,
                outlook_kv_name(o->cache_type), cuda ? "a GPU" : "the processor");
    show_weight_rows(view, &need, out);
    show_cache_row(out, need.full_layers, "that see all tokens", need.cache_full);
    show_cache_row(out, need.sliding_layers, text_string(&window), need.cache_sliding);
    show_cache_row(out, need.alibi_layers, "whose reach ALiBi's slopes bound; keys of all tokens stay",
                   need.cache_alibi);
    put_row(out, "scratch", "activations of one step", need.activations);
    put_row(out, "scratch", cuda ? "working space of products and attention" : "working space of the threads",
            need.working);
    put_row(out, "graphs", cuda ? "recorded steps (assumed)" : "none on the processor", need.graphs);
    put_row(out, "logits",
            o->logit_rows > 1 ? "rows of the vocabulary for the drafts of --lookup, twice"
                              : "a row of the vocabulary, twice, for each sequence",
            need.bytes[LL_LOGITS]);
    put_row(out, cuda ? "driver" : "program", cuda ? "the driver's context (assumed)" : "with the tokenizer",
            need.bytes[LL_PROGRAM]);
    put_row(out, "together", "", need.total);
    text_fini(&window);
}

static void show_naive(struct view *view, struct text *out)
{
    const ll_need_options *o = &view->outlook->options;
    struct human room[8];
    ll_need need = need_at(view, view->main_context, o->cache_type, o->precision, 0);
    text_printf(
        out,
        "\nA naive engine at %s tokens: weights in FP32 %s, keys and values in FP32 %s, the scores of\n"
        "one layer as a matrix of context by context for each head %s, logits of all positions %s.\n"
        "longleaf keeps weights as they are stored, never makes that matrix, and keeps one row of logits.\n",
        human_count(view->main_context).text, bytes(need.naive_weights, &room[0]),
        bytes(need.naive_cache, &room[1]), bytes(need.naive_scores, &room[2]),
        bytes(need.naive_logits, &room[3]));
    if (need.sliding_layers)
        text_printf(out,
                    "%zu of %zu layers see a window of %s tokens: their keys take %s of the %s KV cache.\n",
                    need.sliding_layers, view->info.layers, human_count(view->info.sliding_window).text,
                    bytes(need.cache_sliding, &room[4]), bytes(need.bytes[LL_CACHE], &room[5]));
    if (view->info.position == LL_ALIBI)
        text_puts(out,
                  "ALiBi: steep heads reach only near keys, which saves time; their keys stay in memory.\n");
}

static void show_choices(struct view *view, struct text *out)
{
    const ll_need_options *o = &view->outlook->options;
    struct human room[2];
    text_printf(out, "\nAt %s tokens, by KV type:", human_count(view->main_context).text);
    for (int i = 0; i < KV_TYPES; i++)
        if (type_works(view, kv_types[i])) {
            ll_need need = need_at(view, view->main_context, kv_types[i], o->precision, 0);
            text_printf(out, "\n  %-10s KV %11s  together %11s", outlook_kv_name(kv_types[i]),
                        bytes(need.bytes[LL_CACHE], &room[0]), bytes(need.total, &room[1]));
        }
    text_puts(out, "\nby precision of the weights:");
    for (int i = 0; i < PRECISIONS; i++) {
        ll_need need = need_at(view, view->main_context, o->cache_type, (ll_precision)i, 0);
        text_printf(out, "\n  %-10s weights %6s  together %11s", precisions[i],
                    bytes(need.bytes[LL_WEIGHTS], &room[0]), bytes(need.total, &room[1]));
    }
    text_puts(out, "\nby windows at once:");
    for (int i = 0; i < WINDOWS; i++) {
        ll_need need = need_at(view, view->main_context, o->cache_type, o->precision, windows[i]);
        text_printf(out, "\n  %-10zu KV %11s  together %11s", windows[i],
                    bytes(need.bytes[LL_CACHE], &room[0]), bytes(need.total, &room[1]));
    }
    text_putc(out, '\n');
}

static bool places_work(struct view *view, ll_dtype type, size_t context)
{
    const struct outlook *outlook = view->outlook;
    ll_placement places[OUTLOOK_MEMORIES];
    ll_need_options options = outlook->options;
    options.context = context;
    options.cache_type = type;
    return ll_blueprint_place(outlook->blueprint, &options, outlook->memories, outlook->memory_count, places,
                              NULL) == LL_OK;
}

/* The greatest context of a model that is spread over all the memories. */
static size_t spread_fit(struct view *view, ll_dtype type)
{
    enum { STEP = 128 };
    uint64_t sum = 0;
    for (size_t i = 0; i < view->outlook->memory_count; i++)
        sum += view->outlook->memories[i];
    size_t low = 0, high = fit_of(view, sum, type) / STEP + 1; /* in steps that fit, and that do not */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        *(places_work(view, type, middle * STEP) ? &low : &high) = middle;
    }
    return low * STEP;
}

static bool several_devices(const struct view *view)
{
    return view->outlook->memory_count > 1 && !view->outlook->memories_found;
}

/* One size after the other, each once; last, where `all`, all of them together. */
static void show_fits(struct view *view, size_t index, bool all, struct text *out)
{
    const uint64_t *memories = view->outlook->memories;
    for (size_t i = 0; !all && i < index; i++)
        if (memories[i] == memories[index])
            return;
    text_printf(out, "  %-10s", all ? "together" : human_bytes(memories[index]).text);
    for (int t = 0; t < KV_TYPES; t++)
        if (type_works(view, kv_types[t])) {
            size_t context = all ? spread_fit(view, kv_types[t]) : fit_of(view, memories[index], kv_types[t]);
            text_printf(out, "  %s %s%s", outlook_kv_name(kv_types[t]), human_count(context).text,
                        context > view->info.trained_context ? "*" : "");
        }
    text_putc(out, '\n');
}

static void show_memories(struct view *view, struct text *out)
{
    const struct outlook *outlook = view->outlook;
    if (outlook->memory_count == 0)
        return;
    text_printf(out, "\nGreatest context in %s:\n",
                outlook->memories_found ? "the memory that is free here" : "a memory of");
    for (size_t i = 0; i < outlook->memory_count; i++)
        show_fits(view, i, false, out);
    if (several_devices(view))
        show_fits(view, 0, true, out);
}

static size_t task_context(const struct view *view, int task)
{
    return tasks[task].context < view->info.trained_context ? tasks[task].context
                                                            : view->info.trained_context;
}

static void show_tasks(struct view *view, struct text *out)
{
    const struct outlook *outlook = view->outlook;
    struct human room;
    text_puts(out, "\nContexts that suit a task:\n");
    for (int i = 0; i < TASKS; i++) {
        size_t context = task_context(view, i);
        ll_need need = need_at(view, context, outlook->options.cache_type, outlook->options.precision, 0);
        text_printf(out, "  %-30s %6s  %11s  %s%s\n", tasks[i].task, human_count(context).text,
                    bytes(need.total, &room), tasks[i].reason,
                    context < tasks[i].context ? "; this model was trained for no more" : "");
    }
}

/* What people compute with in their heads, beside what is so: bytes. */
struct folk {
    double half_rule, half_exact; /* all weights in FP16 */
    double least, most, exact;    /* keys and values of 1,000 tokens in FP16 */
};

static struct folk compute_folk(struct view *view)
{
    const ll_need_options *o = &view->outlook->options;
    ll_need half = need_at(view, 1024, LL_F16, LL_IN_F16, 0);
    ll_need less = need_at(view, 1024, LL_F16, o->precision, 1),
            more = need_at(view, 2048, LL_F16, o->precision, 1);
    double billions = (double)view->info.parameters / 1e9;
    return (struct folk){2e9 * billions, (double)half.bytes[LL_WEIGHTS], 1.2e9 * billions / 7.0,
                         1.8e9 * billions / 7.0,
                         (double)(more.bytes[LL_CACHE] - less.bytes[LL_CACHE]) / 1024.0 * 1000.0};
}

static void show_folk(struct view *view, struct text *out)
{
    struct folk folk = compute_folk(view);
    text_printf(
        out,
        "\nRules of thumb beside the figures:\n"
        "  \"2 GB for a billion parameters in FP16\": %.2f GB; exactly %.2f GB\n"
        "  \"1.2 to 1.8 GB for a thousand tokens of a 7B\": %.3f to %.3f GB for this size; exactly %.3f GB"
        " (f16, KV of 1,000 tokens)\n",
        folk.half_rule / 1e9, folk.half_exact / 1e9, folk.least / 1e9, folk.most / 1e9, folk.exact / 1e9);
}

static void show_placement(struct view *view, struct text *out)
{
    const struct outlook *outlook = view->outlook;
    ll_placement places[OUTLOOK_MEMORIES];
    ll_error problem = {0};
    if (!several_devices(view))
        return;
    ll_need_options options = outlook->options;
    options.context = view->main_context;
    text_printf(out,
                "\nSpread over these %zu devices at %s tokens (computed, not proven by a measurement):\n",
                outlook->memory_count, human_count(view->main_context).text);
    ll_status status = ll_blueprint_place(outlook->blueprint, &options, outlook->memories,
                                          outlook->memory_count, places, &problem);
    if (status != LL_OK) {
        text_printf(out, "  does not fit: %s\n", problem.text);
        return;
    }
    for (size_t i = 0; i < outlook->memory_count; i++) {
        text_printf(out, "  device %zu, %s of %s: ", i, human_bytes(places[i].bytes).text,
                    human_bytes(places[i].memory).text);
        if (!places[i].layers) {
            text_puts(out, "nothing\n");
            continue;
        }
        text_printf(out, "%slayers %zu to %zu%s\n   ", places[i].embedding ? "embedding, " : "",
                    places[i].first_layer, places[i].first_layer + places[i].layers - 1,
                    places[i].output ? ", output" : "");
        for (int c = 0; c < LL_COMPONENTS; c++)
            text_printf(out, "%s %s %s", c ? "," : "",
                        c == LL_PROGRAM && options.device == LL_CUDA ? "driver"
                                                                     : ll_component_name((ll_component)c),
                        human_bytes(places[i].parts[c]).text);
        text_putc(out, '\n');
    }
}

static void show_text(struct view *view, struct text *out)
{
    show_model(view, out);
    show_contexts(view, out);
    show_rows(view, out);
    outlook_split_show(view->outlook, view->info.layers, out);
    show_naive(view, out);
    show_choices(view, out);
    show_memories(view, out);
    show_placement(view, out);
    show_tasks(view, out);
    show_folk(view, out);
}

/* ---- JSON ---- */

static json_t *count_json(uint64_t value)
{
    return value > INT64_MAX ? json_null() : json_integer((json_int_t)value);
}

static json_t *need_json(const ll_need *need)
{
    json_t *row = json_object(), *naive = json_object();
    json_object_set_new(row, "context", count_json(need->context));
    json_object_set_new(row, "extrapolated", json_boolean(need->extrapolated));
    json_object_set_new(row, "proven", json_boolean(need->proven));
    for (int i = 0; i < LL_COMPONENTS; i++)
        json_object_set_new(row, ll_component_name((ll_component)i), count_json(need->bytes[i]));
    json_object_set_new(row, "total", count_json(need->total));
    json_object_set_new(row, "cache_full", count_json(need->cache_full));
    json_object_set_new(row, "cache_sliding", count_json(need->cache_sliding));
    json_object_set_new(row, "cache_alibi", count_json(need->cache_alibi));
    json_object_set_new(row, "activations", count_json(need->activations));
    json_object_set_new(row, "working", count_json(need->working));
    json_object_set_new(row, "graphs", count_json(need->graphs));
    json_object_set_new(naive, "weights", count_json(need->naive_weights));
    json_object_set_new(naive, "cache", count_json(need->naive_cache));
    json_object_set_new(naive, "scores", count_json(need->naive_scores));
    json_object_set_new(naive, "logits", count_json(need->naive_logits));
    json_object_set_new(naive, "total", count_json(need->naive_total));
    json_object_set_new(row, "naive", naive);
    return row;
}

static json_t *model_json(const struct view *view)
{
    json_t *model = json_object(), *types = json_array();
    json_object_set_new(model, "name", json_string(view->outlook->label));
    json_object_set_new(model, "architecture", json_string(view->info.architecture));
    json_object_set_new(model, "parameters", count_json(view->info.parameters));
    json_object_set_new(model, "token_parameters", count_json(view->info.token_parameters));
    json_object_set_new(model, "experts", count_json(view->info.experts));
    json_object_set_new(model, "experts_used", count_json(view->info.experts_used));
    json_object_set_new(model, "trained_context", count_json(view->info.trained_context));
    json_object_set_new(model, "layers", count_json(view->info.layers));
    json_object_set_new(model, "sliding_window", count_json(view->info.sliding_window));
    for (size_t i = 0; i < ll_blueprint_type_count(view->outlook->blueprint); i++) {
        ll_weight_type type;
        if (ll_blueprint_get_type(view->outlook->blueprint, i, &type) != LL_OK)
            continue;
        json_array_append_new(types,
                              json_pack("{s:s, s:o, s:o}", "type", type.name, "bytes", count_json(type.bytes),
                                        "parameters", count_json(type.parameters)));
    }
    json_object_set_new(model, "types", types);
    return model;
}

static json_t *contexts_json(struct view *view)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < view->context_count; i++)
        for (int t = 0; t < KV_TYPES; t++)
            if (type_works(view, kv_types[t])) {
                ll_need need =
                    need_at(view, view->contexts[i], kv_types[t], view->outlook->options.precision, 0);
                json_t *row = need_json(&need);
                json_object_set_new(row, "kv", json_string(outlook_kv_name(kv_types[t])));
                json_array_append_new(rows, row);
            }
    return rows;
}

static json_t *precisions_json(struct view *view)
{
    json_t *rows = json_array();
    for (int i = 0; i < PRECISIONS; i++) {
        ll_need need =
            need_at(view, view->main_context, view->outlook->options.cache_type, (ll_precision)i, 0);
        json_t *row = need_json(&need);
        json_object_set_new(row, "precision", json_string(precisions[i]));
        json_array_append_new(rows, row);
    }
    return rows;
}

static json_t *windows_json(struct view *view)
{
    const ll_need_options *o = &view->outlook->options;
    json_t *rows = json_array();
    for (int i = 0; i < WINDOWS; i++) {
        ll_need need = need_at(view, view->main_context, o->cache_type, o->precision, windows[i]);
        json_t *row = need_json(&need);
        json_object_set_new(row, "windows", count_json(windows[i]));
        json_array_append_new(rows, row);
    }
    return rows;
}

/* memory null: all of them together, the model spread over them. */
static json_t *fits_json(struct view *view)
{
    const struct outlook *outlook = view->outlook;
    json_t *rows = json_array();
    for (size_t i = 0; i < outlook->memory_count; i++)
        for (int t = 0; t < KV_TYPES; t++)
            if (type_works(view, kv_types[t]))
                json_array_append_new(rows,
                                      json_pack("{s:o, s:s, s:o}", "memory", count_json(outlook->memories[i]),
                                                "kv", outlook_kv_name(kv_types[t]), "context",
                                                count_json(fit_of(view, outlook->memories[i], kv_types[t]))));
    for (int t = 0; several_devices(view) && t < KV_TYPES; t++)
        if (type_works(view, kv_types[t]))
            json_array_append_new(rows, json_pack("{s:n, s:s, s:o}", "memory", "kv",
                                                  outlook_kv_name(kv_types[t]), "context",
                                                  count_json(spread_fit(view, kv_types[t]))));
    return rows;
}

/* null: one device, or they do not hold it. Computed, not proven. */
static json_t *placement_json(struct view *view)
{
    const struct outlook *outlook = view->outlook;
    ll_placement places[OUTLOOK_MEMORIES];
    ll_need_options options = outlook->options;
    options.context = view->main_context;
    if (!several_devices(view) ||
        ll_blueprint_place(outlook->blueprint, &options, outlook->memories, outlook->memory_count, places,
                           NULL) != LL_OK)
        return json_null();
    json_t *rows = json_array();
    for (size_t i = 0; i < outlook->memory_count; i++) {
        json_t *row = json_object();
        json_object_set_new(row, "memory", count_json(places[i].memory));
        json_object_set_new(row, "bytes", count_json(places[i].bytes));
        json_object_set_new(row, "first_layer", count_json(places[i].first_layer));
        json_object_set_new(row, "layers", count_json(places[i].layers));
        json_object_set_new(row, "embedding", json_boolean(places[i].embedding));
        json_object_set_new(row, "output", json_boolean(places[i].output));
        for (int c = 0; c < LL_COMPONENTS; c++)
            json_object_set_new(row, ll_component_name((ll_component)c), count_json(places[i].parts[c]));
        json_object_set_new(row, "proven", json_false());
        json_array_append_new(rows, row);
    }
    return rows;
}

static json_t *tasks_json(struct view *view)
{
    const ll_need_options *o = &view->outlook->options;
    json_t *rows = json_array();
    for (int i = 0; i < TASKS; i++) {
        ll_need need = need_at(view, task_context(view, i), o->cache_type, o->precision, 0);
        json_array_append_new(rows, json_pack("{s:s, s:o, s:o, s:s}", "task", tasks[i].task, "context",
                                              count_json(need.context), "total", count_json(need.total),
                                              "reason", tasks[i].reason));
    }
    return rows;
}

static json_t *folk_json(struct view *view)
{
    struct folk folk = compute_folk(view);
    return json_pack("{s:f, s:f, s:f, s:f, s:f}", "half_rule", folk.half_rule, "half_exact", folk.half_exact,
                     "thousand_rule_least", folk.least, "thousand_rule_most", folk.most, "thousand_exact",
                     folk.exact);
}

static void show_json(struct view *view, struct text *out)
{
    json_t *root = json_object();
    json_object_set_new(root, "model", model_json(view));
    json_object_set_new(root, "device",
                        json_string(view->outlook->options.device == LL_CUDA ? "cuda" : "cpu"));
    json_object_set_new(root, "sequences", count_json(view->outlook->options.sequences));
    json_object_set_new(root, "needs", contexts_json(view));
    json_object_set_new(root, "precisions", precisions_json(view));
    json_object_set_new(root, "windows", windows_json(view));
    json_object_set_new(root, "fits", fits_json(view));
    json_object_set_new(root, "placement", placement_json(view));
    json_object_set_new(root, "runs_on_gpu", json_boolean(outlook_split_works(&view->info)));
    json_object_set_new(root, "split", outlook_split_json(view->outlook, view->info.layers));
    json_object_set_new(root, "tasks", tasks_json(view));
    json_object_set_new(root, "folk_rules", folk_json(view));
    char *text = json_dumps(root, JSON_INDENT(2));
    json_decref(root);
    text_puts(out, text ? text : "");
    text_putc(out, '\n');
    out->failed |= !text;
    free(text);
}

/* ---- CSV ---- */

static void put_field(struct text *out, const char *field)
{
    text_putc(out, '"');
    for (; *field; field++)
        text_append(out, *field == '"' ? "\"\"" : field, *field == '"' ? 2 : 1);
    text_putc(out, '"');
}

static void put_csv_row(struct view *view, const ll_need *need, int type, int precision, size_t side,
                        struct text *out)
{
    put_field(out, view->outlook->label);
    text_printf(out, ",%s,%zu,%d,%d,%s,%s,%zu", view->outlook->options.device == LL_CUDA ? "cuda" : "cpu",
                need->context, need->extrapolated, need->proven, outlook_kv_name(kv_types[type]),
                precision_words[precision], side);
    for (int c = 0; c < LL_COMPONENTS; c++)
        text_printf(out, ",%llu", (unsigned long long)need->bytes[c]);
    text_printf(out, ",%llu,%llu\n", (unsigned long long)need->total, (unsigned long long)need->naive_total);
}

/* Every context with every KV type, precision and number of windows. */
static void show_csv(struct view *view, struct text *out)
{
    text_puts(out, "model,device,context,extrapolated,proven,kv,precision,windows,weights,cache,scratch,"
                   "logits,program,total,naive_total\n");
    for (size_t i = 0; i < view->context_count; i++)
        for (int t = 0; t < KV_TYPES; t++)
            for (int p = 0; type_works(view, kv_types[t]) && p < PRECISIONS; p++)
                for (int w = 0; w < WINDOWS; w++) {
                    ll_need need = need_at(view, view->contexts[i], kv_types[t], (ll_precision)p, windows[w]);
                    put_csv_row(view, &need, t, p, windows[w], out);
                }
}

/* ---- SVG ---- */

static void show_svg(struct view *view, struct text *out)
{
    struct chart_point points[KV_TYPES][MOST_CONTEXTS];
    struct chart_series series[KV_TYPES];
    double levels[OUTLOOK_MEMORIES];
    struct chart chart = {.title = view->outlook->label,
                          .x_name = "tokens of context",
                          .y_name = "memory",
                          .series = series,
                          .levels = levels,
                          .level_count = view->outlook->memory_count};
    for (size_t i = 0; i < chart.level_count; i++)
        levels[i] = (double)view->outlook->memories[i];
    for (int t = 0; t < KV_TYPES; t++) {
        if (!type_works(view, kv_types[t]))
            continue;
        for (size_t i = 0; i < view->context_count; i++) {
            ll_need need = need_at(view, view->contexts[i], kv_types[t], view->outlook->options.precision, 0);
            points[t][i] = (struct chart_point){(double)need.context, (double)need.total};
        }
        series[chart.count++] =
            (struct chart_series){outlook_kv_name(kv_types[t]), points[t], view->context_count, false};
    }
    chart_svg(&chart, out);
}

bool outlook_show(const struct outlook *outlook, enum outlook_form form, struct text *out, ll_error *error)
{
    struct view view = make_view(outlook, error);
    if (form == OUTLOOK_JSON)
        show_json(&view, out);
    else if (form == OUTLOOK_CSV)
        show_csv(&view, out);
    else if (form == OUTLOOK_SVG)
        show_svg(&view, out);
    else
        show_text(&view, out);
    return !view.failed;
}
