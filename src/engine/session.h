/* A session's inside, for the rooms that continue its timeline.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_SESSION_H
#define ENGINE_SESSION_H

#include "cache/blocks.h"
#include "longleaf.h"
#include "text/token_list.h"

/* A mutating call: LL_BUSY when another thread is inside one. Pair with session_leave. */
ll_status session_enter(ll_session *session, ll_error *error);
void session_leave(ll_session *session);

/* Inside enter/leave: */
ll_model *session_model(const ll_session *session);
size_t session_context(const ll_session *session);
/* Puts a token on the timeline without computing it. */
ll_status session_append(ll_session *session, ll_token token, ll_error *error);
/* Computes all of the timeline (one token at least) that is not computed yet; the logits are those after its
 * last token. greatest, when not NULL, gets the best token there instead, and no logits are copied. */
ll_status session_compute(ll_session *session, const ll_run *run, bool decoding, ll_token *greatest,
                          ll_error *error);
/* The same for the one token that is not computed yet, with drafts, at most LOOKUP_MOST, put behind it for
 * this step only. What comes after the token and after each draft, count + 1 rows: *ret_logits, the session's
 * own, or greatest when it is not NULL. Drafts that are then appended need no computing; session_settle ends
 * it. */
ll_status session_verify(ll_session *session, const ll_token *drafts, size_t count, const ll_run *run,
                         const float **ret_logits, ll_token *greatest, ll_error *error);
/* Whether session_verify can be called: one token is not computed, and the context holds so many more. */
bool session_can_verify(const ll_session *session, size_t count);
/* Forgets the drafts that were not appended. drafted, kept: for the stats. */
void session_settle(ll_session *session, size_t drafted, size_t kept);
/* What a snapshot holds of a session; borrowed. */
struct session_state {
    struct block_pool *pool;
    struct block_table *table;
    struct token_list *tokens;
    float *logits; /* [vocabulary] */
    bool *logits_valid;
};
void session_state(ll_session *session, struct session_state *ret);
/* Forgets everything from position on. */
void session_forget(ll_session *session, size_t position);
/* `tokens` from an empty timeline, all their logits given to `row` in order; the timeline is empty again
 * afterwards. Refused tokens leave it as it was. */
ll_status session_score_rows(ll_session *session, const ll_token *tokens, size_t count, const ll_run *run,
                             void (*row)(void *user, size_t index, const float *logits), void *user,
                             ll_error *error);

#endif
