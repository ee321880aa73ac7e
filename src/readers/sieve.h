/* What of a folder or an archive is left out: by rule, counted; by mischance, named.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef READERS_SIEVE_H
#define READERS_SIEVE_H

#include "readers/notes.h"
#include "longleaf.h"

struct sieve { /* zero-initialised storage is ready */
    size_t binaries, archives, locks, minified, ignored, links, others;
    size_t skipped;
    char reason[sizeof(((ll_error *)0)->text)]; /* of the file skipped last */
};

/* Files that nobody wrote by hand, told by their names or the shape of their text. */
bool sieve_is_lock(const char *name);
bool sieve_is_minified(const char *name, const char *text, size_t length);
/* A file that could not be read; the first ones are named in the notes. */
void sieve_skip(struct sieve *sieve, const char *name, const char *reason, struct notes *notes);
/* One sentence on what was left out of the folder or archive, if anything was. */
void sieve_report(const struct sieve *sieve, const char *collection, struct notes *notes);
/* Why nothing of the folder or archive was read: ": " and the reason or what was left out; may be empty. */
void sieve_explain(const struct sieve *sieve, char *out, size_t cap);

#endif
