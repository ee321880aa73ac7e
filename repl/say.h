/* Sentences for a person on standard error; hostile characters shown, not obeyed.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REPL_SAY_H
#define REPL_SAY_H

#include <stdbool.h>

void say_error(const char *format, ...) __attribute__((format(printf, 1, 2))); /* always */
void say_note(const char *format, ...)
    __attribute__((format(printf, 1, 2))); /* always: it changes what an answer means */
/* Only on a terminal, and not when quiet. */
void say_aside(const char *format, ...) __attribute__((format(printf, 1, 2)));
void say_set_quiet(bool quiet);
bool say_asides(void);

#endif
