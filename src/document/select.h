/* A short text out of many sentences: spread over the document, nothing said twice, order kept.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef DOCUMENT_SELECT_H
#define DOCUMENT_SELECT_H

#include "document/claim.h"
#include "document/terms.h"
#include "longleaf.h"

struct select_wish {
    size_t first, last; /* bytes of the document that the sentences are to stand for */
    size_t words;       /* at most, together */
    bool by_worth;      /* the best ones, wherever they stand; of a group only one */
};

/* Marks chosen[i] for claims (in document order) of the range; one at least where it has any. What the reader
 * cares about (the terms' focus) gets most of the room; three tenths of the rest go to the best sentences of
 * the range, and what is left is divided into as many stretches of it as sentences fit: each gives its best.
 * How a text begins says more of it than any later part. */
ll_status select_claims(const struct claim_list *claims, const struct select_wish *wish,
                        const struct terms *terms, bool *chosen, ll_error *error);

#endif
