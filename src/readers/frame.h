/* Frames drawn around plain text with asterisks, hashes or bars.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef READERS_FRAME_H
#define READERS_FRAME_H

#include <stddef.h>

/* Turns the characters of frames into blanks, byte for byte, so that no place moves: of three lines or more
 * that stand under each other and all begin and end with the same mark. Rows of tables, with bars inside, are
 * none. */
void frame_remove(char *text, size_t length);

#endif
