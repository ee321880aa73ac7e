/* What the document pipeline asks of a language model: counting, encoding, generating.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The public calls that take a model stand here, so that the rest of this folder links without an
 * engine. */
#include "document/llm.h"

#include <string.h>

#include "base/options.h"
#include "document/plan.h"
#include "document/predict.h"
#include "document/summary.h"
#include "engine/identity.h"
#include "engine/model.h"

static ll_status encode_text(void *self, const char *text, size_t length, struct token_list *out,
                             ll_error *error)
{
    return tokenizer_encode(model_tokenizer(self), text, length, 0, out, error);
}

static ll_status encode_chat(void *self, const char *system, const char *user, size_t user_length,
                             struct token_list *out, ll_error *error)
{
    ll_message messages[2] = {{"system", system, strlen(system)}, {"user", user, user_length}};
    return chat_encode(model_chat(self), model_tokenizer(self), messages, 2, true, out, error);
}

static const char *piece(void *self, ll_token token, size_t *ret_length)
{
    return tokenizer_piece(model_tokenizer(self), token, ret_length);
}

static ll_status run_batch(void *self, const struct batch_options *options,
                           const struct batch_request *requests, size_t count, const ll_run *run,
                           struct batch_output *outputs, ll_error *error)
{
    return batch_run(self, options, requests, count, run, outputs, error);
}

static uint64_t cache_bytes(void *self, size_t context, size_t width, ll_dtype cache_type)
{
    return batch_cache_bytes(self, context, width, cache_type);
}

static bool embed(void *self, ll_token token, float *out)
{
    return model_embedding(self, token, out);
}

static ll_status identify(void *self, unsigned char *ret, ll_error *error)
{
    return model_identity(self, ret, error);
}

void llm_of_model(const ll_model *model, struct llm *ret)
{
    ll_model_info info = {0};
    (void)ll_model_get_info(model, &info);
    *ret = (struct llm){
        .self = (void *)(uintptr_t)model, /* a model is shared and used under its engine's lock */
        .parameters = info.parameters,
        .context = info.trained_context,
        .chat = strcmp(info.chat, "none") != 0 && strcmp(info.chat, "unknown") != 0,
        .encode_text = encode_text,
        .encode_chat = encode_chat,
        .piece = piece,
        .run = run_batch,
        .embed = embed,
        .embedding_width = info.width,
        .vocabulary = info.vocabulary,
        .identify = identify,
        .cache_bytes = cache_bytes,
    };
}

ll_status ll_plan_make(const ll_document *document, const ll_model *model, const ll_plan_options *options,
                       const ll_run *run, ll_plan **ret, ll_error *error)
{
    struct llm llm;
    if (model)
        llm_of_model(model, &llm);
    return plan_make(document, model ? &llm : NULL, options, run, ret, error);
}

ll_status ll_plan_predict(const ll_plan *plan, ll_model *model, const ll_run *run, double *ret_seconds,
                          ll_error *error)
{
    struct llm llm;
    LL_TRY(run_check(run, error));
    if (model)
        llm_of_model(model, &llm);
    return predict_seconds(plan, model ? &llm : NULL, run, ret_seconds, error);
}

ll_status ll_summarize(ll_model *model, const ll_plan *plan, const ll_summary_options *options,
                       const ll_run *run, ll_summary **ret, ll_error *error)
{
    struct llm llm;
    if (model)
        llm_of_model(model, &llm);
    return summary_make(model ? &llm : NULL, plan, options, run, ret, error);
}
