/* Pasted text: kept aside whole, with a short mark standing for it in the line being edited.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REPL_PASTE_H
#define REPL_PASTE_H

#include "console/text.h"
#include "repl/bytes.h"

struct pastes {
    struct text *texts;
    size_t count;
};

/* Reads after the opening mark up to the closing one. A short single line comes back as it is; more is
 * kept and stands as "[paste 1: 120 lines, 4,096 bytes]". False: interrupted, or no memory. */
bool paste_read(struct pastes *pastes, struct bytes *bytes, struct text *shown);
/* Puts the kept texts in place of their marks. */
void paste_expand(const struct pastes *pastes, const char *line, struct text *out);
void pastes_clear(struct pastes *pastes);

#endif
