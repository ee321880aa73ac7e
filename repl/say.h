/* Sentences for a person on standard error; hostile characters shown, not obeyed.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REPL_SAY_H
#define REPL_SAY_H

#include <stdbool.h>
#include <stddef.h>

void say_error(const char *format, ...) __attribute__((format(printf, 1, 2))); /* always */
void say_note(const char *format, ...)
    __attribute__((format(printf, 1, 2))); /* always: it changes what an answer means */
/* Only on a terminal, and not when quiet. */
void say_aside(const char *format, ...) __attribute__((format(printf, 1, 2)));
void say_set_quiet(bool quiet);
bool say_asides(void);
/* Sentences go to the sink, with their newline and as they are, instead of standard error. NULL: no sink. */
void say_set_sink(void (*sink)(void *user, const char *bytes, size_t length), void *user);

#endif
