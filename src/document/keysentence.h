/* The sentences that say most about a document, without any model.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Weight of telling words over length, raised at the start of a section and where the reader's focus is
 * met, lowered for what cannot stand alone ("However, it …"). Deterministic. */
#ifndef DOCUMENT_KEYSENTENCE_H
#define DOCUMENT_KEYSENTENCE_H

#include "document/chunk.h"
#include "document/claim.h"
#include "document/terms.h"

/* How well any sentence stands for the document; the document need not hold it. */
double keysentence_score(const struct terms *terms, const char *text, size_t length);
/* Frames, addresses and copyright lines are no statements. */
bool keysentence_is_boilerplate(const char *text, size_t length);
/* Adds up to `most` quoted sentences of one window in document order, best first in choosing. Adds none
 * only when the window holds no sentence at all. false: no memory. */
bool keysentence_pick(const struct ll_document *document, const struct terms *terms,
                      const struct window *window, size_t window_index, size_t most, struct claim_list *out);

#endif
