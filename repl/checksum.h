/* SHA-256 of model files, and what it should be.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REPL_CHECKSUM_H
#define REPL_CHECKSUM_H

#include <stdbool.h>

#include "console/text.h"

#define CHECKSUM_LENGTH 64

/* Lower-case hexadecimal. False: problem holds a sentence, or the reading was interrupted. */
bool checksum_file(const char *path, char hash[CHECKSUM_LENGTH + 1], struct text *problem);
/* The default model's is known by name; another's is read from FILE.sha256 beside it. False: unknown. */
bool checksum_wanted(const char *path, char hash[CHECKSUM_LENGTH + 1]);

#endif
