/* Whether and where the model's answers are kept, by the settings.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REPL_KEEPING_H
#define REPL_KEEPING_H

#include "repl/program.h"

/* The file's path in `path`; NULL with --no-cache or without a home. */
const char *keeping_path(const struct program *program, struct text *path);
uint64_t keeping_limit(const struct program *program); /* bytes */

#endif
