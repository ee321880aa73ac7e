/* Bytes of any encoding to clean UTF-8, with a note whenever something was guessed or repaired.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Order: the caller's word, byte order mark, UTF-16 by the parity of NUL bytes, strict UTF-8, damaged
 * UTF-8 (well-formed share ≥ 0.9: broken bytes become U+FFFD), a detector, windows-1252 last. */
#ifndef READERS_ENCODING_H
#define READERS_ENCODING_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "readers/notes.h"
#include "longleaf.h"

/* Appends UTF-8 to out: no BOM, no NUL, line ends "\n", form feeds kept. forced: an iconv name or
 * NULL. name: the file as shown to a person. encoding: [40], what was used. LL_UNREADABLE for bytes
 * that are no text, LL_ARGUMENT for an unknown encoding, LL_CANCELLED. */
ll_status encoding_decode(const char *bytes, size_t length, const char *forced, const char *name,
                          const ll_cancel *cancel, struct strbuf *out, char *encoding, struct notes *notes,
                          ll_error *error);

/* Whether the bytes are those of no text in any encoding; a part of a file will do. */
bool encoding_looks_binary(const char *bytes, size_t length);
bool encoding_is_known(const char *name); /* to iconv */

#endif
