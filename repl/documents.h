/* Opens documents by the settings, and says what a person must know of them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REPL_DOCUMENTS_H
#define REPL_DOCUMENTS_H

#include "repl/json.h"
#include "repl/program.h"

/* LEAVE_OK, or the exit code after the failure has been said. The document's notes are said, too. */
int documents_open(struct program *program, const char *const *paths, size_t count, ll_document **ret);
/* The same without a word about notes: for documents that were read before. */
int documents_read(struct program *program, const char *const *paths, size_t count, ll_document **ret);
json_t *documents_notes(const ll_document *document); /* an array of sentences */

/* LEAVE_UNCOVERED when pages or files of it could not be read, which its notes have said; else LEAVE_OK. */
int documents_covered(const ll_document *document);

#endif
