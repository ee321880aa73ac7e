/* What a conversation shows of itself: documents, parameters, context, cache, memory, prompt, alternatives.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REPL_TALK_SHOW_H
#define REPL_TALK_SHOW_H

#include "console/command.h"
#include "console/memory.h"
#include "repl/talk.h"

/* Each prints to the program's output and gives LEAVE_OK or an exit code, said. */
int show_help(struct output *output, const char *name, size_t length);
int show_documents(const struct talk *talk);
int show_parameters(const struct talk *talk);
int show_model(const struct talk *talk);
int show_context(struct talk *talk);
int show_cache(const struct talk *talk);
int show_memory(const struct talk *talk, enum memory_request request);
int show_report(const struct talk *talk);                  /* what `longleaf top` says of this program */
int show_runs(const struct talk *talk, const char *words); /* of the run log; words: see runs_read_wish */
/* What the model would be given with this as the next message; length 0: without one. */
int show_prompt(const struct talk *talk, const char *text, size_t length);
int show_why(const struct talk *talk, size_t count);
int show_marks(const struct talk *talk);

#endif
