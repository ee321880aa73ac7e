/* What settings say, as the library takes it: sampling rules, the type of keys and values, plans.
 * SPDX-License-Identifier: Apache-2.0 */
#include "console/sampling.h"

#include <string.h>

ll_dtype cache_type_of(const struct settings *settings)
{
    static const ll_dtype types[] = {LL_F32, LL_F16, LL_BF16, LL_Q8_0}; /* as option.c lists them */
    return types[settings_count(settings, OPTION_KV, 1)];
}

int gpu_layers_of(const struct settings *settings)
{
    const char *given = settings_text(settings, OPTION_GPU_LAYERS);
    if (!given || strcmp(given, "auto") == 0)
        return LL_GPU_LAYERS_AUTO;
    return (int)settings_count(settings, OPTION_GPU_LAYERS, 0);
}

/* A file's name; "none" takes one back that was given elsewhere. */
static const char *file_of(const struct settings *settings, enum option option)
{
    const char *name = settings_text(settings, option);
    return name && strcmp(name, "none") != 0 ? name : NULL;
}

ll_sampling sampling_of(const struct settings *settings)
{
    ll_sampling sampling;
    ll_sampling_init(&sampling);
    sampling.temperature = (float)settings_number(settings, OPTION_TEMP);
    sampling.top_k = (int)settings_count(settings, OPTION_TOP_K, 0);
    sampling.top_p = (float)settings_number(settings, OPTION_TOP_P);
    sampling.min_p = (float)settings_number(settings, OPTION_MIN_P);
    sampling.repeat_penalty = (float)settings_number(settings, OPTION_REPEAT_PENALTY);
    sampling.presence_penalty = (float)settings_number(settings, OPTION_PRESENCE_PENALTY);
    sampling.frequency_penalty = (float)settings_number(settings, OPTION_FREQUENCY_PENALTY);
    sampling.penalty_window = (int)settings_count(settings, OPTION_PENALTY_WINDOW, 64);
    sampling.dry_multiplier = (float)settings_number(settings, OPTION_DRY_MULTIPLIER);
    sampling.dry_base = (float)settings_number(settings, OPTION_DRY_BASE);
    sampling.dry_length = (int)settings_count(settings, OPTION_DRY_LENGTH, 2);
    sampling.dry_window = (int)settings_count(settings, OPTION_DRY_WINDOW, 0);
    sampling.dry_breakers = (const char *const *)settings->values[OPTION_DRY_BREAKER].items;
    sampling.dry_breaker_count = settings->values[OPTION_DRY_BREAKER].item_count;
    sampling.typical_p = (float)settings_number(settings, OPTION_TYPICAL);
    sampling.xtc_probability = (float)settings_number(settings, OPTION_XTC_PROBABILITY);
    sampling.xtc_threshold = (float)settings_number(settings, OPTION_XTC_THRESHOLD);
    sampling.mirostat = (int)settings_count(settings, OPTION_MIROSTAT, 0);
    sampling.mirostat_tau = (float)settings_number(settings, OPTION_MIROSTAT_TAU);
    sampling.mirostat_eta = (float)settings_number(settings, OPTION_MIROSTAT_ETA);
    sampling.bias = (const char *const *)settings->values[OPTION_LOGIT_BIAS].items;
    sampling.bias_count = settings->values[OPTION_LOGIT_BIAS].item_count;
    sampling.grammar_file = file_of(settings, OPTION_GRAMMAR);
    sampling.json_schema_file = file_of(settings, OPTION_JSON_SCHEMA);
    sampling.seed = settings_count(settings, OPTION_SEED, 0);
    sampling.choices = (int)settings_count(settings, OPTION_LOGPROBS, 0);
    sampling.ignore_end = settings_flag(settings, OPTION_IGNORE_EOS);
    sampling.stop = (const char *const *)settings->values[OPTION_STOP].items;
    sampling.stop_count = settings->values[OPTION_STOP].item_count;
    sampling.lookup = settings_flag(settings, OPTION_LOOKUP);
    return sampling;
}

static size_t wanted_words(const struct settings *settings)
{
    static const size_t words[] = {100, 200, 350}; /* short, medium, long */
    uint64_t given = settings_count(settings, OPTION_LENGTH, 1);
    return given < 3 ? words[given] : (size_t)given;
}

ll_plan_options plan_options_of(const struct settings *settings)
{
    ll_plan_options options;
    ll_plan_options_init(&options);
    options.method = (ll_method)settings_count(settings, OPTION_METHOD, LL_METHOD_AUTO);
    options.context = (size_t)settings_count(settings, OPTION_CONTEXT, 0);
    options.window_tokens = (size_t)settings_count(settings, OPTION_WINDOW, 0);
    options.overlap_tokens = (size_t)settings_count(settings, OPTION_OVERLAP, (uint64_t)(size_t)-1);
    options.summary_words = wanted_words(settings);
    options.focus = settings_text(settings, OPTION_FOCUS);
    options.language = settings_text(settings, OPTION_LANGUAGE);
    return options;
}
