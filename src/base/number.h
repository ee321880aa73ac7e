/* Numbers read and written with a decimal point, whatever the locale of the program is.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <stddef.h>

/* As strtod in the C locale. */
double number_parse(const char *text, char **end);
/* As snprintf in the C locale; for what a machine reads again, not for sentences. */
int number_print(char *out, size_t cap, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
