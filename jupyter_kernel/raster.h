/* SVG pictures as PNG, by rsvg-convert where it is installed, for readers that draw no SVG.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef JUPYTER_KERNEL_RASTER_H
#define JUPYTER_KERNEL_RASTER_H

#include <stdbool.h>

#include "console/text.h"

/* The PNG in base64, as notebooks keep it. False: the program is not there, or failed, or took too long; then
 * there is no PNG. The child is gone when this returns. Any thread. */
bool raster_png(const struct text *svg, struct text *ret);

#endif
