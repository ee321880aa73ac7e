/* An answer for a person and for programs: the text, the sentences it rests on, the windows asked.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REPL_ASKING_H
#define REPL_ASKING_H

#include "repl/json.h"
#include "repl/program.h"

struct asking {
    const ll_document *document; /* borrowed */
    const char *question;        /* borrowed */
    const char *model_name;      /* borrowed; NULL without a model */
    ll_document_info document_info;
    ll_answer *answer;
    ll_answer_info info;
    ll_summary_stats stats;
};

/* Asks the document its question by the settings; model NULL: no model reads. The answer is to be freed.
 * LEAVE_OK or an exit code, said. */
int asking_make(struct asking *asking, struct program *program, ll_model *model);
void asking_print(const struct asking *asking, struct output *output);
void asking_trace(const struct asking *asking); /* each window and its reply, on standard error */
json_t *asking_json(const struct asking *asking);

#endif
