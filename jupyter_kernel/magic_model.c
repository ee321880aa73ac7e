/* Magics of the model and of memory: which one, how full its context, what it takes.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "console/human.h"
#include "console/memory.h"
#include "jupyter_kernel/magic.h"

static const char *position_words(ll_position position)
{
    static const char *const words[] = {"rotary", "ALiBi", "learned", "none"};
    return (size_t)position < sizeof words / sizeof *words ? words[position] : "unknown";
}

static json_t *describe(const struct talk *talk)
{
    ll_model_info info = {0};
    ll_device_info device = {0};
    struct text plain = {0}, markdown = {0};
    ll_model_get_info(talk->model, &info);
    ll_engine_get_device(talk->engine, 0, &device);
    const char *names[] = {"model", "kind", "weights", "context", "positions", "device", "file"};
    struct text values[7] = {{0}};
    text_puts(&values[0], text_string(&talk->label));
    text_printf(&values[1], "%s, %s parameters, %zu layers", info.architecture,
                human_count(info.parameters).text, info.layers);
    text_printf(&values[2], "%s, %s", info.quantization, human_bytes(info.file_bytes).text);
    text_printf(&values[3], "%s tokens (trained with %s), %s for each token",
                human_count(talk_capacity(talk)).text, human_count(info.trained_context).text,
                human_bytes(info.cache_bytes_per_token).text);
    text_printf(&values[4], "%s", position_words(info.position));
    if (info.sliding_window)
        text_printf(&values[4], ", sliding window of %s", human_count(info.sliding_window).text);
    memory_name_device(talk->engine, talk->model, &values[5]);
    text_printf(&values[5], ", %s", device.backend);
    text_puts(&values[6], text_string(&talk->model_path));
    text_puts(&markdown, "| | |\n|---|---|\n");
    json_t *object = json_object();
    for (size_t i = 0; i < 7; i++) {
        text_printf(&plain, "%s%-10s %s", i ? "\n" : "", names[i], text_string(&values[i]));
        text_printf(&markdown, "| %s | ", names[i]);
        markdown_append(&markdown, text_string(&values[i]), values[i].length);
        text_puts(&markdown, " |\n");
        json_put_text(object, names[i], &values[i]);
        text_fini(&values[i]);
    }
    json_t *bundle = bundle_new(text_string(&plain), plain.length);
    bundle_add(bundle, "text/markdown", &markdown);
    json_put(bundle, "application/json", object);
    text_fini(&plain);
    text_fini(&markdown);
    return bundle;
}

bool magic_model(struct turn *turn, const struct call *call, json_t **ret)
{
    bool ok = call->argument_length ? talk_change_model(turn, call->argument) : talk_open_model(turn);
    if (ok)
        *ret = describe(turn->talk);
    return ok;
}

bool magic_memory(struct turn *turn, const struct call *call, json_t **ret)
{
    enum memory_request request;
    const struct talk *talk = turn->talk;
    struct text account = {0};
    ll_error error = {0};
    if (!memory_read_request(call->argument, call->argument_length, &request)) {
        output_fail(turn->output, FAIL_USAGE, "%%memory takes trim, json, prometheus or nothing");
        return false;
    }
    if (!talk_open_engine(turn))
        return false;
    if (request == REQUEST_TEXT || request == REQUEST_JSON) {
        *ret = gauge_memory_bundle(talk->engine, talk->model, talk->session);
        return true;
    }
    bool ok = true;
    if (request == REQUEST_PROMETHEUS)
        memory_show(MEMORY_PROMETHEUS, talk->engine, talk->model, talk->session, &account);
    else
        ok = memory_trim(talk->engine, talk->model, talk->session, &account, &error) == LL_OK;
    if (ok) {
        json_t *object = json_object();
        json_put_text(object, "text", &account);
        *ret = bundle_new(text_string(&account), account.length);
        bundle_add_code(*ret, &account);
        json_put(*ret, "application/json", object);
    } else
        output_fail_error(turn->output, FAIL_WORK, &error);
    text_fini(&account);
    return ok;
}

static json_t *line_and_object(const struct text *line, json_t *object)
{
    json_t *bundle = bundle_line("%s", text_string(line));
    json_put(bundle, "application/json", object);
    return bundle;
}

/* After %undo or %back the cache still holds what was said after that point; the conversation does not. */
static size_t standing(const struct talk *talk, size_t position)
{
    ll_token *tokens = NULL;
    size_t count = 0;
    if (talk->conversation.now.count &&
        conversation_tokens(&talk->conversation, talk->model, talk->conversation.now.count, false, &tokens,
                            &count, NULL) != LL_OK)
        count = position;
    free(tokens);
    return count < position ? count : position;
}

bool magic_context(struct turn *turn, const struct call *call, json_t **ret)
{
    ll_session_stats stats = {0};
    struct text line = {0};
    (void)call;
    if (!talk_open_model(turn) || ll_session_get_stats(turn->talk->session, &stats) != LL_OK)
        return false;
    size_t messages = turn->talk->conversation.now.count;
    size_t position = standing(turn->talk, stats.position);
    text_printf(&line, "%s of %s tokens, %zu message%s", human_count(position).text,
                human_count(stats.cache_capacity).text, messages, messages == 1 ? "" : "s");
    json_t *object = json_object();
    json_put_count(object, "position", position);
    json_put_count(object, "capacity", stats.cache_capacity);
    json_put_count(object, "messages", messages);
    *ret = line_and_object(&line, object);
    text_fini(&line);
    return true;
}

bool magic_kv(struct turn *turn, const struct call *call, json_t **ret)
{
    ll_session_stats stats = {0};
    struct text line = {0};
    (void)call;
    if (!talk_open_model(turn) || ll_session_get_stats(turn->talk->session, &stats) != LL_OK)
        return false;
    text_printf(&line, "%s of %s tokens in %zu block%s, %s; %s tokens of the last prompt were there already",
                human_count(stats.cache_used).text, human_count(stats.cache_capacity).text,
                stats.cache_blocks, stats.cache_blocks == 1 ? "" : "s", human_bytes(stats.cache_bytes).text,
                human_count(stats.reused).text);
    json_t *object = json_object();
    json_put_count(object, "used", stats.cache_used);
    json_put_count(object, "capacity", stats.cache_capacity);
    json_put_count(object, "blocks", stats.cache_blocks);
    json_put_count(object, "bytes", stats.cache_bytes);
    json_put_count(object, "reused", stats.reused);
    json_put_count(object, "prefilled", stats.prefilled);
    json_put_count(object, "decoded", stats.decoded);
    *ret = line_and_object(&line, object);
    text_fini(&line);
    return true;
}
