/* What may follow what is typed: commands, files, parameters and their values, models, marks.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CONSOLE_COMPLETE_H
#define CONSOLE_COMPLETE_H

#include "console/command.h"

struct completion {
    size_t from;  /* byte of the line that the candidates begin at; they reach to the cursor */
    char **items; /* owned, sorted, each once; a folder ends with a slash */
    size_t count;
    bool final; /* a single candidate is a whole word: a space may follow, unless it ends with a slash */
};

/* line: length bytes up to the cursor, beginning with the sign '/' or '%'. marks: names that back takes,
 * NULL-terminated, or NULL. Prose has no candidates. No memory: fewer candidates. */
void complete_line(struct completion *completion, enum command_place place, const char *line, size_t length,
                   const char *const *marks);
/* Files whose path begins so; ~/ is the home folder. Hidden ones only when the dot is typed. */
void complete_files(struct completion *completion, const char *begin, size_t length);
void completion_fini(struct completion *completion);
/* Bytes that all candidates have in common. */
size_t completion_common(const struct completion *completion);

#endif
