/* The kernel's logos, built into the program: a file name and its bytes each.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef JUPYTER_KERNEL_LOGOS_H
#define JUPYTER_KERNEL_LOGOS_H

#include <stddef.h>

enum { LOGO_COUNT = 3 };

struct logo {
    const char *name;
    const unsigned char *bytes;
    size_t length;
};

extern const struct logo logos[LOGO_COUNT];

#endif
