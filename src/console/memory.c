/* What memory is used for, in words, as JSON and for Prometheus: /memory, %memory and files of metrics.
 * SPDX-License-Identifier: Apache-2.0 */
#include "console/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "console/escape.h"
#include "console/human.h"

struct view { /* one reading of everything */
    const ll_engine *engine;
    size_t devices;
    bool with_model, with_session;
    ll_model_info model;
    uint64_t cached; /* bytes of the model's file in the page cache */
    ll_session_stats session;
};

static struct view read_view(const ll_engine *engine, const ll_model *model, const ll_session *session)
{
    struct view view = {.engine = engine, .devices = ll_engine_device_count(engine)};
    view.with_model = model && ll_model_get_info(model, &view.model) == LL_OK;
    if (view.with_model)
        view.cached = ll_model_cached_bytes(model);
    view.with_session = session && ll_session_get_stats(session, &view.session) == LL_OK;
    return view;
}

static bool read_device(const struct view *view, size_t device, ll_device_info *info, ll_memory *memory)
{
    return ll_engine_get_device(view->engine, device, info) == LL_OK &&
           ll_engine_get_memory(view->engine, device, memory) == LL_OK;
}

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0.0;
}

/* ---- text ---- */

static void device_text(const ll_device_info *info, const ll_memory *memory, struct text *out)
{
    text_printf(out, "%s: ", info->backend);
    escape_append_line(out, info->name);
    text_printf(out, ", %s of %s free%s\n", human_bytes(memory->free).text, human_bytes(memory->total).text,
                memory->limit ? " in its container" : "");
    text_printf(out, "  %-10s %12s %12s %12s\n", "", "used", "reserved", "peak");
    uint64_t used = 0, reserved = 0, peak = 0;
    for (int i = 0; i < LL_COMPONENTS; i++) {
        used += memory->used[i];
        reserved += memory->reserved[i];
        peak += memory->peak[i];
        text_printf(out, "  %-10s %12s %12s %12s\n", ll_component_name((ll_component)i),
                    human_bytes(memory->used[i]).text, human_bytes(memory->reserved[i]).text,
                    human_bytes(memory->peak[i]).text);
    }
    text_printf(out, "  %-10s %12s %12s %12s\n", "together", human_bytes(used).text,
                human_bytes(reserved).text, human_bytes(peak).text);
    if (reserved > used)
        text_printf(out, "  %s are reserved and hold nothing now (%s)\n", human_bytes(reserved - used).text,
                    human_share(share(reserved - used, reserved)).text);
    if (isfinite(memory->busy))
        text_printf(out, "  busy %s", human_share((double)memory->busy).text);
    if (isfinite(memory->celsius))
        text_printf(out, "%s%.0f °C", isfinite(memory->busy) ? ", " : "  ", (double)memory->celsius);
    if (isfinite(memory->watts))
        text_printf(out, ", %.0f W", (double)memory->watts);
    if (isfinite(memory->busy) || isfinite(memory->celsius))
        text_putc(out, '\n');
}

static void session_text(const ll_session_stats *s, struct text *out)
{
    text_printf(out, "context: %s of %s tokens, %s reused by the last prompt\n",
                human_count(s->position).text, human_count(s->cache_capacity).text,
                human_count(s->reused).text);
    text_printf(out, "KV blocks of %zu tokens: %s used (%s shared), %s free; %s of %s hold keys and values\n",
                s->block_tokens, human_count(s->cache_blocks).text, human_count(s->blocks_shared).text,
                human_count(s->blocks_free).text, human_bytes(s->cache_used_bytes).text,
                human_bytes(s->cache_bytes).text);
    if (s->reach)
        text_printf(out, "reach: the last step looked back %s token%s at the most",
                    human_count(s->reach).text, s->reach == 1 ? "" : "s");
    if (s->reach && s->reach_mean > 0.0)
        text_printf(out, ", %s in the mean of all heads (ALiBi)", human_count((uint64_t)s->reach_mean).text);
    if (s->reach && s->window)
        text_printf(out, "; layers with a sliding window see %s", human_count(s->window).text);
    if (s->reach)
        text_putc(out, '\n');
    if (s->prefill_rate > 0.0 || s->decode_rate > 0.0)
        text_printf(out, "tokens a second: %s read, %s written\n",
                    s->prefill_rate > 0.0 ? human_rate(s->prefill_rate).text : "-",
                    s->decode_rate > 0.0 ? human_rate(s->decode_rate).text : "-");
}

static bool sensors_missing(const ll_memory *memory)
{
    return !isfinite(memory->busy) && !isfinite(memory->celsius) && !isfinite(memory->watts);
}

static void show_text(const struct view *view, struct text *out)
{
    ll_memory memory = {0};
    ll_heap heap;
    for (size_t i = 0; i < view->devices; i++) {
        ll_device_info info;
        if (read_device(view, i, &info, &memory))
            device_text(&info, &memory, out);
    }
    text_printf(out, "process: %s resident, %s at the most\n", human_bytes(memory.resident).text,
                human_bytes(memory.resident_peak).text);
    ll_heap_get(&heap);
    if (heap.reserved)
        text_printf(out, "allocator: %s in use of %s taken from the system\n", human_bytes(heap.used).text,
                    human_bytes(heap.reserved).text);
    for (size_t i = 0; sensors_missing(&memory) && i < ll_engine_note_count(view->engine); i++)
        if (strstr(ll_engine_note(view->engine, i), "temperature"))
            text_printf(out, "%s\n", ll_engine_note(view->engine, i));
    if (view->cached)
        text_printf(out, "model file: %s of %s in the page cache (%s)\n", human_bytes(view->cached).text,
                    human_bytes(view->model.file_bytes).text,
                    human_share(share(view->cached, view->model.file_bytes)).text);
    if (view->with_session)
        session_text(&view->session, out);
}

/* ---- JSON ---- */

static json_t *count_json(uint64_t value)
{
    return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

static json_t *number_json(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *device_json(const ll_device_info *info, const ll_memory *memory)
{
    json_t *device = json_object(), *components = json_object();
    json_object_set_new(device, "backend", json_string(info->backend));
    json_object_set_new(device, "name", json_string(info->name));
    json_object_set_new(device, "total", count_json(memory->total));
    json_object_set_new(device, "free", count_json(memory->free));
    json_object_set_new(device, "limit", memory->limit ? count_json(memory->limit) : json_null());
    for (int i = 0; i < LL_COMPONENTS; i++) {
        json_t *row = json_object();
        json_object_set_new(row, "used", count_json(memory->used[i]));
        json_object_set_new(row, "reserved", count_json(memory->reserved[i]));
        json_object_set_new(row, "peak", count_json(memory->peak[i]));
        json_object_set_new(components, ll_component_name((ll_component)i), row);
    }
    json_object_set_new(device, "components", components);
    json_object_set_new(device, "busy", number_json((double)memory->busy));
    json_object_set_new(device, "celsius", number_json((double)memory->celsius));
    json_object_set_new(device, "watts", number_json((double)memory->watts));
    json_object_set_new(device, "joules", number_json(memory->joules));
    return device;
}

static json_t *session_json(const ll_session_stats *s)
{
    json_t *session = json_object();
    json_object_set_new(session, "position", count_json(s->position));
    json_object_set_new(session, "capacity", count_json(s->cache_capacity));
    json_object_set_new(session, "reused", count_json(s->reused));
    json_object_set_new(session, "block_tokens", count_json(s->block_tokens));
    json_object_set_new(session, "blocks_used", count_json(s->cache_blocks));
    json_object_set_new(session, "blocks_shared", count_json(s->blocks_shared));
    json_object_set_new(session, "blocks_free", count_json(s->blocks_free));
    json_object_set_new(session, "cache_bytes", count_json(s->cache_bytes));
    json_object_set_new(session, "cache_used_bytes", count_json(s->cache_used_bytes));
    json_object_set_new(session, "window", count_json(s->window));
    json_object_set_new(session, "reach", count_json(s->reach));
    json_object_set_new(session, "reach_mean", number_json(s->reach_mean));
    json_object_set_new(session, "prefill_rate", number_json(s->prefill_rate));
    json_object_set_new(session, "decode_rate", number_json(s->decode_rate));
    return session;
}

static json_t *view_json(const struct view *view)
{
    json_t *root = json_object(), *devices = json_array();
    ll_memory memory = {0};
    ll_heap heap;
    for (size_t i = 0; i < view->devices; i++) {
        ll_device_info info;
        if (read_device(view, i, &info, &memory))
            json_array_append_new(devices, device_json(&info, &memory));
    }
    json_object_set_new(root, "devices", devices);
    json_object_set_new(root, "resident", count_json(memory.resident));
    json_object_set_new(root, "resident_peak", count_json(memory.resident_peak));
    ll_heap_get(&heap);
    json_object_set_new(
        root, "heap",
        json_pack("{s:o, s:o}", "used", count_json(heap.used), "reserved", count_json(heap.reserved)));
    if (view->with_model) {
        json_object_set_new(root, "model_file", count_json(view->model.file_bytes));
        json_object_set_new(root, "model_cached", count_json(view->cached));
    }
    if (view->with_session)
        json_object_set_new(root, "session", session_json(&view->session));
    return root;
}

json_t *memory_json(const ll_engine *engine, const ll_session *session)
{
    struct view view = read_view(engine, NULL, session);
    return view_json(&view);
}

static void show_json(const struct view *view, struct text *out)
{
    json_t *root = view_json(view);
    char *line = json_dumps(root, JSON_COMPACT);
    json_decref(root);
    if (line)
        text_puts(out, line);
    else
        out->failed = true;
    free(line);
}

/* ---- Prometheus text format 0.0.4 ---- */

static void family(struct text *out, const char *name, const char *help)
{
    text_printf(out, "# HELP longleaf_%s %s\n# TYPE longleaf_%s gauge\n", name, help, name);
}

static void sample(struct text *out, const char *name, double value)
{
    if (isfinite(value))
        text_printf(out, "longleaf_%s %.15g\n", name, value);
}

static void components_prometheus(const struct view *view, struct text *out)
{
    static const char *const states[] = {"used", "reserved", "peak"};
    family(out, "memory_bytes", "Memory by device, component and state.");
    for (size_t d = 0; d < view->devices; d++) {
        ll_device_info info;
        ll_memory memory;
        if (!read_device(view, d, &info, &memory))
            continue;
        const uint64_t *rows[] = {memory.used, memory.reserved, memory.peak};
        for (int i = 0; i < LL_COMPONENTS; i++)
            for (size_t s = 0; s < sizeof states / sizeof *states; s++)
                text_printf(out, "longleaf_memory_bytes{device=\"%zu\",component=\"%s\",state=\"%s\"} %llu\n",
                            d, ll_component_name((ll_component)i), states[s], (unsigned long long)rows[s][i]);
    }
}

enum device_figure {
    DEVICE_TOTAL,
    DEVICE_FREE,
    DEVICE_BUSY,
    DEVICE_CELSIUS,
    DEVICE_WATTS,
    DEVICE_JOULES,
    DEVICE_FIGURES
};

static double device_figure(const ll_memory *memory, enum device_figure figure)
{
    switch (figure) {
    case DEVICE_TOTAL:
        return (double)memory->total;
    case DEVICE_FREE:
        return (double)memory->free;
    case DEVICE_BUSY:
        return (double)memory->busy;
    case DEVICE_CELSIUS:
        return (double)memory->celsius;
    case DEVICE_WATTS:
        return (double)memory->watts;
    default:
        return memory->joules;
    }
}

static void devices_prometheus(const struct view *view, struct text *out)
{
    static const char *const figures[DEVICE_FIGURES][2] = {
        {"device_memory_total_bytes", "Memory of the device, or of the container around the process."},
        {"device_memory_free_bytes", "Memory of the device that could still be given."},
        {"device_busy_ratio", "Share of time that the device computes."},
        {"device_temperature_celsius", "Temperature of the device."},
        {"device_power_watts", "Power that the device draws."},
        {"device_energy_joules", "Energy that the device has drawn since its driver was loaded."}};
    for (int f = 0; f < DEVICE_FIGURES; f++) {
        bool named = false;
        for (size_t d = 0; d < view->devices; d++) {
            ll_device_info info;
            ll_memory memory;
            if (!read_device(view, d, &info, &memory))
                continue;
            double value = device_figure(&memory, (enum device_figure)f);
            if (!isfinite(value))
                continue;
            if (!named)
                family(out, figures[f][0], figures[f][1]);
            named = true;
            text_printf(out, "longleaf_%s{device=\"%zu\"} %.15g\n", figures[f][0], d, value);
        }
    }
}

static void one(struct text *out, const char *name, const char *help, double value)
{
    family(out, name, help);
    sample(out, name, value);
}

static void session_prometheus(const ll_session_stats *s, struct text *out)
{
    one(out, "context_tokens", "Tokens on the timeline.", (double)s->position);
    one(out, "context_capacity_tokens", "Tokens that the context holds.", (double)s->cache_capacity);
    one(out, "reused_tokens", "Tokens of the last prompt that needed no computing.", (double)s->reused);
    family(out, "kv_blocks", "Blocks of the KV cache by state; shared ones are among the used.");
    text_printf(out, "longleaf_kv_blocks{state=\"used\"} %zu\n", s->cache_blocks);
    text_printf(out, "longleaf_kv_blocks{state=\"shared\"} %zu\n", s->blocks_shared);
    text_printf(out, "longleaf_kv_blocks{state=\"free\"} %zu\n", s->blocks_free);
    one(out, "reach_tokens", "How far back the last step looked at the most.", (double)s->reach);
    one(out, "sliding_window_tokens", "What layers with a sliding window see; 0: none has one.",
        (double)s->window);
    one(out, "prefill_tokens_per_second", "Speed of reading lately.", s->prefill_rate);
    one(out, "decode_tokens_per_second", "Speed of writing lately.", s->decode_rate);
}

static void show_prometheus(const struct view *view, struct text *out)
{
    ll_memory memory = {0};
    ll_heap heap;
    components_prometheus(view, out);
    devices_prometheus(view, out);
    ll_engine_get_memory(view->engine, 0, &memory);
    one(out, "process_resident_bytes", "Memory of the process.", (double)memory.resident);
    one(out, "process_resident_peak_bytes", "The most that it was.", (double)memory.resident_peak);
    ll_heap_get(&heap);
    one(out, "heap_used_bytes", "What the allocator has given out.", (double)heap.used);
    one(out, "heap_reserved_bytes", "What the allocator has taken from the system.", (double)heap.reserved);
    if (view->with_model) {
        one(out, "model_file_bytes", "Size of the model's file.", (double)view->model.file_bytes);
        one(out, "model_cached_bytes", "How much of it is in the page cache.", (double)view->cached);
    }
    if (view->with_session)
        session_prometheus(&view->session, out);
}

void memory_name_device(const ll_engine *engine, const ll_model *model, struct text *out)
{
    ll_device_info device = {0};
    ll_model_info info;
    ll_engine_get_device(engine, 0, &device);
    text_puts(out, device.name);
    if (device.kind == LL_CUDA && model && ll_model_get_info(model, &info) == LL_OK &&
        (size_t)info.gpu_layers <= info.layers)
        text_printf(out, ", %d of %zu layers", info.gpu_layers, info.layers);
}

void memory_show(enum memory_form form, const ll_engine *engine, const ll_model *model,
                 const ll_session *session, struct text *out)
{
    struct view view = read_view(engine, model, session);
    if (form == MEMORY_JSON)
        show_json(&view, out);
    else if (form == MEMORY_PROMETHEUS)
        show_prometheus(&view, out);
    else
        show_text(&view, out);
}

bool memory_read_request(const char *word, size_t length, enum memory_request *ret)
{
    static const char *const words[] = {[REQUEST_TEXT] = "text",
                                        [REQUEST_JSON] = "json",
                                        [REQUEST_PROMETHEUS] = "prometheus",
                                        [REQUEST_TRIM] = "trim"};
    *ret = REQUEST_TEXT;
    for (size_t i = 0; length && i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == length && memcmp(words[i], word, length) == 0) {
            *ret = (enum memory_request)i;
            return true;
        }
    return !length;
}

ll_status memory_trim(const ll_engine *engine, ll_model *model, ll_session *session, struct text *out,
                      ll_error *error)
{
    ll_memory before = {0}, after = {0};
    uint64_t keys = 0, weights = 0;
    ll_engine_get_memory(engine, 0, &before);
    ll_status status = session ? ll_session_trim(session, &keys, error) : LL_OK;
    if (status != LL_OK)
        return status;
    if (model)
        weights = ll_model_rest(model);
    ll_engine_get_memory(engine, 0, &after);
    text_printf(out, "given back: %s of weights and working space, %s of free blocks for keys and values\n",
                human_bytes(weights).text, human_bytes(keys).text);
    text_printf(out, "resident: %s before, %s now\n", human_bytes(before.resident).text,
                human_bytes(after.resident).text);
    if (weights)
        text_puts(out, "the next message reads the weights again; the conversation stays as it is\n");
    return LL_OK;
}
