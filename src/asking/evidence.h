/* Which sentence of the windows answers a question, or that none does.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A sentence counts by how much of the question it meets, by how much of what the model replied stands
 * in it, and by whether it holds the kind of thing that was asked for. Nothing is taken on the model's
 * word: its reply is shown only when every number and name in it, and nearly every word, stands there. */
#ifndef ASKING_EVIDENCE_H
#define ASKING_EVIDENCE_H

#include "asking/answer.h"
#include "asking/rank.h"

struct evidence_job {
    const struct ll_document *document;
    const struct terms *terms;
    const struct question *question;
    const struct ranking *ranking;
    const struct ranked *ranked; /* [count]: the windows looked at, best first */
    size_t count;
    struct ll_answer *answer; /* its windows hold the replies; text, quotes and reason are set */
};

bool evidence_decide(struct evidence_job *job); /* false: no memory */

#endif
