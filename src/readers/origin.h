/* From bytes of decoded text back to bytes of the file, line by line.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef READERS_ORIGIN_H
#define READERS_ORIGIN_H

#include "readers/reading.h"

/* Fills the reading's origins for a text whose lines are those of the source. Where the lines do not match
 * one to one it leaves them empty. encoding: as encoding_decode named it. false: no memory. */
bool origins_by_line(const char *source, size_t length, const char *encoding, const struct strbuf *text,
                     struct reading *reading);

#endif
