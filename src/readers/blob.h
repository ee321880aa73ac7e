/* Long runs of base64 in a text become a few words that say what stood there.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef READERS_BLOB_H
#define READERS_BLOB_H

#include "base/strbuf.h"

enum { BLOB_LEAST = 512 /* characters */ };

/* Appends text to out with each data: URI and each run of base64 of BLOB_LEAST characters or more (on one
 * line or on many of equal length) replaced by "[image/png, 1234 bytes]". Returns how many there were. */
size_t blob_fold(const char *text, size_t length, struct strbuf *out);
/* A quick look whether blob_fold would find anything. */
bool blob_any(const char *text, size_t length);

#endif
