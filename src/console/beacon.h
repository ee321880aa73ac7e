/* Shows the same user's other programs what this one does: a socket that answers each caller with a report.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A thread waits for callers; while nobody looks it costs nothing. The report is one JSON object on one line:
 * figures, names of the model and the phase, never text of prompts or documents. Callers of other users are
 * not answered. All functions take NULL, and may be called from any thread. */
#ifndef CONSOLE_BEACON_H
#define CONSOLE_BEACON_H

#include "console/text.h"
#include "longleaf.h"

struct beacon;

/* NULL: no memory. Where no socket can be made the report is for this program alone. */
struct beacon *beacon_open(const char *program, const char *verb);
void beacon_close(struct beacon *beacon);
/* What is reported from now on; session may be NULL. It must not be closed before beacon_leave. */
void beacon_watch(struct beacon *beacon, const char *model, const ll_engine *engine,
                  const ll_session *session);
/* The engine is about to be closed; nothing when another one is watched. */
void beacon_leave(struct beacon *beacon, const ll_engine *engine);
void beacon_progress(struct beacon *beacon, const ll_progress *progress); /* NULL: nothing goes on */
void beacon_token(struct beacon *beacon);                                 /* one more was written */
void beacon_report(struct beacon *beacon, struct text *out);

#endif
