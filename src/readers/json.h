/* JSON laid out as lines of "name: value" for reading; numbers stay as they are written.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef READERS_JSON_H
#define READERS_JSON_H

#include "readers/reading.h"

/* Appends one value from text[*at] on and moves *at behind it. false: it is no JSON, or nested deeper than
 * `depth`; out then holds a part.
 * origins: the reading whose text out is, to learn where each line comes from; NULL: nobody asks. */
bool json_lay_out(const char *text, size_t length, size_t depth, size_t *at, struct strbuf *out,
                  struct reading *origins);
/* Whether the text begins like an object or an array of JSON; lines: one in each line. */
bool json_is_plausible(const char *text, size_t length, bool lines);

#endif
