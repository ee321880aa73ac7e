/* A short text out of many sentences: spread over the document, nothing said twice, order kept.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef DOCUMENT_SELECT_H
#define DOCUMENT_SELECT_H

#include "document/claim.h"
#include "longleaf.h"

/* Marks chosen[i] for claims (in document order) of at most `words` words together, one at least. The
 * document, `length` bytes, is divided into as many stretches as sentences fit, and each gives its best. */
ll_status select_claims(const struct claim_list *claims, size_t length, size_t words, bool *chosen,
                        ll_error *error);

#endif
