/* Opens the tiny models beside the vectors for the engine's tests.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_ENGINE_TINY_H
#define TESTS_ENGINE_TINY_H

#include "longleaf.h"
#include "unit.h"

/* One of each family that differs in the pass: rotary, window with QK norms, ALiBi. */
static const char *const tiny_names[] = {"llama-grouped", "gemma3-window", "bloom-6-heads",
                                         "mpt-bias-16-clipped"};
enum { TINY_COUNT = 4 };

static inline ll_engine *tiny_engine(const char *device)
{
    ll_engine_options options;
    ll_engine *engine = NULL;
    ll_error error;
    ll_engine_options_init(&options);
    options.device = device;
    options.threads = 2;
    if (ll_engine_open(&options, &engine, &error) != LL_OK)
        fail_msg("%s", error.text);
    return engine;
}

static inline ll_model *tiny_model(ll_engine *engine, const char *name)
{
    const char *folder = getenv("top_srcdir");
    char path[4096];
    ll_model *model = NULL;
    ll_error error;
    snprintf(path, sizeof path, "%s/tests/vectors/%s.gguf", folder ? folder : ".", name);
    if (ll_model_open(engine, path, NULL, NULL, &model, &error) != LL_OK)
        fail_msg("%s", error.text);
    return model;
}

static inline ll_session *tiny_session(ll_model *model, size_t context)
{
    ll_session_options options;
    ll_session *session = NULL;
    ll_error error;
    ll_session_options_init(&options);
    options.context = context;
    if (ll_session_open(model, &options, &session, &error) != LL_OK)
        fail_msg("%s", error.text);
    return session;
}

static inline size_t tiny_vocabulary(const ll_model *model)
{
    ll_model_info info;
    ll_model_get_info(model, &info);
    return info.vocabulary;
}

static inline void tiny_tokens(const ll_model *model, ll_token *tokens, size_t count)
{
    for (size_t i = 0; i < count; i++)
        tokens[i] = (ll_token)unit_below(tiny_vocabulary(model));
}

#endif
