/* How likely a text is: the log-probability of each token given all before it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "base/options.h"
#include "engine/model.h"
#include "engine/sampler.h"
#include "engine/session.h"
#include "model/hparams.h"

struct score {
    const ll_token *tokens;
    size_t count, vocabulary;
    float *logprobs;
};

static void take_row(void *user, size_t index, const float *logits)
{
    struct score *score = user;
    if (index + 1 < score->count)
        score->logprobs[index + 1] =
            (float)(logits[score->tokens[index + 1]] - sampler_log_sum(logits, score->vocabulary));
}

ll_status ll_session_score(ll_session *session, const ll_token *tokens, size_t count, float *logprobs,
                           const ll_run *run, ll_error *error)
{
    LL_TRY(run_check(run, error));
    LL_TRY(session_enter(session, error));
    struct score score = {tokens, count, (size_t)model_hparams(session_model(session))->vocabulary, logprobs};
    ll_status status = session_score_rows(session, tokens, count, run, take_row, &score, error);
    if (status == LL_OK)
        logprobs[0] = 0.0f;
    session_leave(session);
    return status;
}
