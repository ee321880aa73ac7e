/* Pasted text: kept aside whole, with a short note standing for it in the line being edited.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REPL_PASTE_H
#define REPL_PASTE_H

#include "console/text.h"
#include "repl/bytes.h"

struct paste {
    struct text text;
    char note[160]; /* "[312 lines, 4,120 tokens]" */
};

struct pastes {
    struct paste *pastes;
    size_t count;
    /* The tokens of a text, or SIZE_MAX when nobody can say; NULL: bytes are told instead. */
    size_t (*count_tokens)(void *user, const char *text, size_t length);
    void *user;
};

/* Reads after the opening mark up to the closing one. A short single line comes back as it is; more is
 * kept and its note comes back. False: interrupted, or no memory. */
bool paste_read(struct pastes *pastes, struct bytes *bytes, struct text *shown);
/* Keeps a text as if it had been pasted; takes over its memory. */
bool paste_keep(struct pastes *pastes, struct text *text, struct text *shown);
/* Puts the kept texts in place of their notes; gives how many stand in the line. */
size_t paste_expand(const struct pastes *pastes, const char *line, struct text *out);
/* Bytes of the note that ends the string; 0: none does. */
size_t paste_note_before(const struct pastes *pastes, const char *string, size_t length);
void pastes_clear(struct pastes *pastes);

#endif
