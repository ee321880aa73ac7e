/* Whether the sentences that a claim cites bear it out: every number and every name of it must stand there.
 * SPDX-License-Identifier: Apache-2.0
 *
 * That a number stands somewhere in the window proves nothing: "12 pots" and "40 workers" give "40 pots". */
#ifndef DOCUMENT_PROOF_H
#define DOCUMENT_PROOF_H

#include "document/document.h"

struct proof {
    size_t first, last;               /* the sentences cited, in bytes of the document */
    bool borne;                       /* all numbers and names stand there */
    size_t absent_first, absent_last; /* the first one that does not, in bytes of the claim */
};

/* Finds what a claim made of [first, last) of the document rests on and looks for its numbers and names
 * there. A number counts only in a sentence that also holds three in four of the words of its clause, and
 * stands there next to the same words. A name may stand up to two sentences before when the sentence cited
 * says "he" or "it". translated: the claim is in another language than the text; words around a number are
 * then not compared. */
void proof_find(const struct ll_document *document, size_t first, size_t last, const char *claim,
                size_t length, bool translated, struct proof *ret);
/* The same against a text that is cited as a whole. false: *ret_first and *ret_last are what is absent. */
bool proof_holds(const char *text, size_t text_length, const char *claim, size_t length, size_t *ret_first,
                 size_t *ret_last);

#endif
