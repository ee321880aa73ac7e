/* Writes a run into the run log as it goes: begun, filled in, ended. A failing log never fails the run.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CONSOLE_RECORDER_H
#define CONSOLE_RECORDER_H

#include "console/text.h"
#include "longleaf.h"

struct recorder;

/* $XDG_STATE_HOME/longleaf/runs.db, or ~/.local/state/longleaf/runs.db; empty without a home. */
void recorder_path(struct text *path);
/* What a failing log has to say, at most once for each recorder. */
typedef void (*recorder_warn_fn)(const char *sentence);

/* Begins a run. path: of the model file, kept for the prediction alone; label: its name for people, which
 * goes into the log. NULL: no memory, or no home; all functions below take it. */
struct recorder *recorder_open(const char *verb, const char *path, const char *label, ll_dtype kv,
                               int threads, const ll_engine *engine, recorder_warn_fn warn);
/* The model is open now. */
void recorder_model(struct recorder *recorder, const ll_engine *engine, const ll_model *model);
/* The session is open now: its context, and what the plan says it will need with so many rows of logits. */
void recorder_session(struct recorder *recorder, const ll_session *session, size_t logit_rows);
/* A document will be read so; width 0: not known. */
void recorder_plan(struct recorder *recorder, const ll_plan_info *plan, size_t width);
/* Tokens computed outside of the session, and tokens generated. */
void recorder_tokens(struct recorder *recorder, uint64_t in, uint64_t out);
void recorder_first_token(struct recorder *recorder, double seconds); /* the first time counts */
void recorder_coverage(struct recorder *recorder, double share);      /* the least share counts */
/* Writes down what is known by now of a run that goes on. */
void recorder_update(struct recorder *recorder, const ll_engine *engine, const ll_session *session);
/* Ends the run: `end` is how, "done" when all was well. Engine and session are still open; may be NULL. */
void recorder_close(struct recorder *recorder, const ll_engine *engine, const ll_session *session,
                    const char *end);

#endif
