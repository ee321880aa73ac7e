/* Signals: the first Ctrl-C raises the cancel flag, the second ends the program.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The handlers do nothing that is not allowed in them: they set flags, raise the cancel flag and
 * write one byte into a pipe, so that a poll on signals_descriptor cannot miss one. */
#ifndef REPL_SIGNALS_H
#define REPL_SIGNALS_H

#include <stdbool.h>

#include "longleaf.h"

bool signals_start(ll_cancel *cancel);
/* A conversation is worth more than one answer: there, a second signal within a second of the first
 * is taken for the same key press. */
void signals_set_patient(bool patient);
/* Called from a handler just before the program dies of a signal or is suspended: must be safe there.
 * NULL: none. */
void signals_set_restore(void (*restore)(void));
int signals_descriptor(void); /* readable after any signal */
void signals_drain(void);     /* empties it */
int signals_seen(void);       /* SIGINT, SIGTERM, SIGHUP, or 0 */
void signals_forget(void);    /* takes the flag down for the next piece of work */
bool signals_take_resize(void);
bool signals_take_continue(void);

#endif
