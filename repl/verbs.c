/* The table of verbs: which function does each.
 * SPDX-License-Identifier: Apache-2.0 */
#include "repl/verbs.h"

static const verb_fn functions[VERB_COUNT] = {
    [VERB_CHAT] = verb_chat,       [VERB_SUM] = verb_sum,           [VERB_RUN] = verb_run,
    [VERB_TEXT] = verb_text,       [VERB_TOKENS] = verb_tokens,     [VERB_INFO] = verb_info,
    [VERB_PPL] = verb_ppl,         [VERB_BENCH] = verb_bench,       [VERB_ASK] = verb_ask,
    [VERB_CACHE] = verb_cache,     [VERB_PLAN] = verb_plan,         [VERB_MODELS] = verb_models,
    [VERB_HELP] = verb_help,       [VERB_QUANTIZE] = verb_quantize, [VERB_LOG] = verb_log,
    [VERB_CONVERT] = verb_convert, [VERB_CHECK] = verb_check, [VERB_TOP] = verb_top,
};

verb_fn verbs_function(enum verb verb)
{
    return functions[verb];
}
