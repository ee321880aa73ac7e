/* Where sentences end.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef DOCUMENT_SENTENCE_H
#define DOCUMENT_SENTENCE_H

#include <stdbool.h>
#include <stddef.h>

enum { SENTENCE_MAX = 1200 /* bytes */ };

/* Bytes of the first sentence of text: after its terminator and closing quotes, blanks left out; all
 * of it when no sentence ends earlier. List items begin sentences of their own. Never inside a
 * character; longer than SENTENCE_MAX is cut at a clause, a word or a whole character. */
size_t sentence_length(const char *text, size_t length);
/* The last place ≤ limit where text may be cut: a word border if there is one in the last half, else
 * a border between whole characters as people see them. At least one character. */
size_t sentence_cut(const char *text, size_t length, size_t limit);
/* Bytes of blanks, bullets and numbers ("- ", "3.2. ", "(a) ") before the words of a sentence. */
size_t sentence_marker(const char *text, size_t length);
bool sentence_is_closed(const char *text, size_t length); /* ends with a terminator and its quotes */

#endif
