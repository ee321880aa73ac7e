/* The passages of a document in the order in which they are likely to answer a question.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Passages of about a hundred and fifty words tile the text. SQLite's full-text index finds those that
 * share words with the question, or words like them; these are put in order by how much of the question
 * their best sentence meets. No model call is made. */
#ifndef ASKING_RANK_H
#define ASKING_RANK_H

#include "document/chunk.h"
#include "asking/question.h"

struct ranking; /* of one document; borrows it */

struct ranked {
    size_t passage;
    double score;    /* of its best sentence */
    size_t sentence; /* that one */
};

ll_status ranking_open(const struct ll_document *document, const ll_run *run, struct ranking **ret,
                       ll_error *error);
void ranking_close(struct ranking *ranking);
/* As windows, for window_text; each byte of the text is owned by one. */
const struct window *ranking_passages(const struct ranking *ranking, size_t *ret_count);
/* The best `most`, best first. all: every passage is scored, also those without a word in common. */
ll_status ranking_find(struct ranking *ranking, const struct question *question, bool all, size_t most,
                       struct ranked *out, size_t *ret_count, ll_error *error);
/* How much of the question a sentence meets, with what stands around it: the sentence before, the heading
 * path, the passage, in falling weight. */
void ranking_match(const struct ranking *ranking, const struct question *question, size_t passage,
                   size_t sentence, struct question_match *ret);

#endif
