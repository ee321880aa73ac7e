/* Monotonic time in seconds.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

double clock_seconds(void);

#endif
