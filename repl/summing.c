/* Summarising by the settings: plan, summary and what is known of both.
 * SPDX-License-Identifier: Apache-2.0 */
#include "repl/summing.h"

#include "console/sampling.h"
#include "repl/keeping.h"
#include "repl/say.h"
#include "repl/work.h"

const char *summing_method_name(ll_method method)
{
    const char *const *names = option_row(OPTION_METHOD)->choices; /* in the order of ll_method */
    return (unsigned)method <= LL_METHOD_EXTRACTIVE ? names[method] : "unknown";
}

int summing_plan(struct summing *summing, struct program *program, const ll_document *document,
                 ll_model *model, const char *model_name)
{
    const struct settings *settings = &program->settings;
    *summing = (struct summing){.document = document,
                                .model = model,
                                .model_name = model_name,
                                .wanted_words = summing->wanted_words,
                                .focus = summing->focus};
    ll_document_get_info(document, &summing->document_info);
    ll_plan_options options = plan_options_of(settings);
    if (!summing->wanted_words)
        summing->wanted_words = options.summary_words;
    options.summary_words = summing->wanted_words;
    options.focus = summing->focus ? summing->focus : options.focus;
    ll_run run = program_run(program);
    ll_error error = {0};
    if (ll_plan_make(document, model, &options, &run, &summing->plan, &error) != LL_OK)
        return program_fail(program, CONCERN_WORK, &error);
    meter_clear(&program->meter);
    ll_plan_get_info(summing->plan, &summing->plan_info);
    return LEAVE_OK;
}

int summing_predict(struct summing *summing, struct program *program)
{
    ll_run run = program_run(program);
    ll_error error = {0};
    if (!summing->model)
        return LEAVE_OK;
    if (ll_plan_predict(summing->plan, summing->model, &run, &summing->seconds, &error) != LL_OK)
        return program_fail(program, CONCERN_WORK, &error);
    meter_clear(&program->meter);
    return LEAVE_OK;
}

int summing_make(struct summing *summing, struct program *program)
{
    ll_summary_options options;
    ll_summary_options_init(&options);
    options.width = (size_t)settings_count(&program->settings, OPTION_WIDTH, 0);
    options.cache_type = cache_type_of(&program->settings);
    options.sampling = sampling_of(&program->settings);
    struct text journal = {0};
    options.journal = keeping_path(program, &journal);
    options.journal_limit = keeping_limit(program);
    if (summing->model)
        recorder_plan(program->recorder, &summing->plan_info, options.width);
    ll_run run = program_run(program);
    ll_error error = {0};
    program->meter.hold = 0; /* the first windows take long to come */
    ll_status status = ll_summarize(summing->model, summing->plan, &options, &run, &summing->summary, &error);
    text_fini(&journal);
    if (status != LL_OK)
        return program_fail(program, CONCERN_WORK, &error);
    meter_clear(&program->meter);
    ll_summary_get_coverage(summing->summary, &summing->coverage);
    ll_summary_get_stats(summing->summary, &summing->stats);
    if (summing->stats.unkept)
        say_note("the model's answers are not kept: %s", summing->stats.unkept);
    recorder_tokens(program->recorder, summing->stats.prompt_tokens, summing->stats.generated_tokens);
    recorder_coverage(program->recorder, summing->coverage.share);
    return LEAVE_OK;
}

void summing_fini(struct summing *summing)
{
    ll_summary_free(summing->summary);
    ll_plan_free(summing->plan);
    summing->summary = NULL;
    summing->plan = NULL;
}

bool summing_complete(const struct summing *summing)
{
    return summing->coverage.share >= 1 && !summing->coverage.unread_pages &&
           !summing->document_info.skipped;
}

ll_place summing_place(const struct summing *summing, uint64_t first, uint64_t last)
{
    ll_place place = {.name = "", .label = ""};
    (void)ll_document_get_place(summing->document, first, last, &place);
    return place;
}

bool summing_is_written(const struct summing *summing)
{
    ll_summary_node node;
    for (size_t i = 0; i < ll_summary_node_count(summing->summary); i++)
        if (ll_summary_get_node(summing->summary, i, &node) == LL_OK && !node.quoted)
            return true;
    return false;
}

bool summing_is_part(const struct summing *summing, const ll_summary_node *node)
{
    ll_method method = summing->plan_info.method;
    bool by_file = summing->document_info.files > 1 &&
                   (method == LL_METHOD_SELECT || method == LL_METHOD_EXTRACTIVE);
    return node->level == (by_file ? 1 : 0);
}
