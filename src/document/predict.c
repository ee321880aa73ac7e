/* How long a plan will take on this machine, told by timing a few short calls.
 * SPDX-License-Identifier: Apache-2.0 */
#include "document/predict.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"

enum { TRIAL_PROMPT = 256, TRIAL_ANSWER = 12, TRIAL_WIDTH = 8 };

struct trial {
    const struct ll_plan *plan;
    const struct llm *llm;
    const ll_run *run;
    struct token_list tokens; /* the beginning of the document's text */
    ll_error *error;
};

static ll_status time_calls(const struct trial *t, size_t prompt, size_t answer, size_t width, double *ret)
{
    struct batch_request requests[TRIAL_WIDTH];
    struct batch_output outputs[TRIAL_WIDTH] = {{0}};
    struct batch_options options = {.context = prompt + answer, .width = width, .cache_type = LL_F16};
    ll_run quiet = {.size = sizeof quiet, .cancel = t->run ? t->run->cancel : NULL};
    ll_sampling_init(&options.sampling);
    options.sampling.temperature = 0;
    options.sampling.ignore_end = true;
    for (size_t i = 0; i < width; i++)
        requests[i] = (struct batch_request){t->tokens.ids, prompt, answer, 0};
    double began = clock_seconds();
    ll_status status = t->llm->run(t->llm->self, &options, requests, width, &quiet, outputs, t->error);
    *ret = clock_seconds() - began;
    for (size_t i = 0; i < width; i++)
        mem_free(outputs[i].tokens);
    return status;
}

static ll_status measure(const struct trial *t, double *ret)
{
    const ll_plan_info *info = &t->plan->info;
    size_t width = info->method == LL_METHOD_REFINE ? 1
                   : info->windows < TRIAL_WIDTH    ? info->windows
                                                    : TRIAL_WIDTH;
    size_t prompt = t->tokens.count;
    double reading, writing, warm;
    LL_TRY(time_calls(t, 1, 1, 1, &warm)); /* first use of memory and threads is no measure */
    LL_TRY(time_calls(t, prompt, 1, 1, &reading));
    LL_TRY(time_calls(t, prompt, TRIAL_ANSWER, width, &writing));
    double for_prompt = reading / (double)prompt;
    double step = (writing - reading * (double)width) / (TRIAL_ANSWER - 1);
    double least = reading / (double)prompt; /* a step is never cheaper than a token of a prompt */
    step = step > least ? step : least;
    *ret = (double)info->prompt_tokens * for_prompt + (double)info->answer_tokens * step / (double)width;
    return LL_OK;
}

ll_status predict_seconds(const struct ll_plan *plan, const struct llm *llm, const ll_run *run, double *ret,
                          ll_error *error)
{
    struct trial trial = {.plan = plan, .llm = llm, .run = run, .error = error};
    const struct strbuf *text = &plan->document->text;
    if (!plan->needs_model || plan->info.calls == 0) {
        *ret = 0;
        return LL_OK;
    }
    if (!llm)
        return error_set(error, LL_ARGUMENT, "plan", "this plan needs the model it was made for");
    ll_status status = llm->encode_text(llm->self, text->text, text->length < 4096 ? text->length : 4096,
                                        &trial.tokens, error);
    size_t most = plan->info.context > TRIAL_ANSWER + 1 ? plan->info.context - TRIAL_ANSWER : 1;
    most = most < TRIAL_PROMPT ? most : TRIAL_PROMPT;
    if (status == LL_OK && trial.tokens.count > most)
        trial.tokens.count = most;
    if (status == LL_OK && trial.tokens.count == 0)
        *ret = 0;
    else if (status == LL_OK)
        status = measure(&trial, ret);
    token_list_fini(&trial.tokens);
    return status;
}
