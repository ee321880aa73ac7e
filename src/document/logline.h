/* Lines of logs: how much each one tells, which of them say the same, and what the whole log holds.
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a reader of a log wants first are the lines that speak of trouble, however few they are, then what
 * happened once, then what happened all the time. */
#ifndef DOCUMENT_LOGLINE_H
#define DOCUMENT_LOGLINE_H

#include "document/document.h"

enum severity { SEVERITY_NONE, SEVERITY_WARNING, SEVERITY_ERROR, SEVERITY_FATAL };

struct logline {
    size_t number,
        count;   /* as the reader wrote them before a folded line: "[line 3, first of 40 like it]"; or 0 */
    size_t text; /* where the line itself begins */
    enum severity severity;
    uint64_t shape; /* equal for lines that differ in numbers and identifiers only; never 0 */
};

void logline_read(const char *line, size_t length, struct logline *ret);
/* Higher is more telling. */
double logline_score(const struct logline *line);
/* "10,000 lines: 1 fatal, 1 error, 498 warnings; 5 kinds of lines, the commonest 5,019 times." false: no
 * memory. */
bool logline_describe(const struct ll_document *document, const struct doc_file *file, struct strbuf *out);

#endif
