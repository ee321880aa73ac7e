/* A temporary file without a name, for programs that must read at random.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef READERS_TEMPORARY_H
#define READERS_TEMPORARY_H

#include <stddef.h>

#include "longleaf.h"

/* *ret: a descriptor of a file in $TMPDIR (/tmp) that holds the bytes and goes away when it is closed. */
ll_status temporary_make(const char *bytes, size_t length, int *ret, ll_error *error);

#endif
