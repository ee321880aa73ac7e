/* Which sentences make the summary: of each file its part, of all parts together the short text.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef DOCUMENT_CHOOSE_H
#define DOCUMENT_CHOOSE_H

#include "document/summary.h"

/* Fills the summary's answer from the nodes of its windows. Of several files each gets a node of its own
 * above its windows, and the answer is chosen from those. */
ll_status choose_answer(struct summary_job *job);

#endif
