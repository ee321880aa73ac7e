/* Numbers read and written with a decimal point, whatever the locale of the program is.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* strtod_l */
#include "base/number.h"

#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* The C library keeps this locale at hand: nothing is allocated, and it is the calling thread's alone. */
static locale_t plain_locale(void)
{
    return newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

double number_parse(const char *text, char **end)
{
    locale_t plain = plain_locale();
    if (!plain)
        return strtod(text, end);
    double number = strtod_l(text, end, plain);
    freelocale(plain);
    return number;
}

int number_print(char *out, size_t cap, const char *format, ...)
{
    locale_t plain = plain_locale(), before = plain ? uselocale(plain) : (locale_t)0;
    va_list args;
    va_start(args, format);
    int length = vsnprintf(out, cap, format, args);
    va_end(args);
    if (plain) {
        uselocale(before);
        freelocale(plain);
    }
    return length;
}
