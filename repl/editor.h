/* The user's own text editor, for a message that wants more than a line.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REPL_EDITOR_H
#define REPL_EDITOR_H

#include "console/text.h"

/* Runs $VISUAL, $EDITOR or vi on a private file that holds the text, and takes what was saved, without the
 * newlines at its end. The terminal must be in its usual mode. False: problem holds the sentence, and the
 * text is as it was. */
bool editor_run(struct text *text, struct text *problem);

#endif
