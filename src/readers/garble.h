/* Whether a text reads like no language: letters that fonts have named wrongly.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef READERS_GARBLE_H
#define READERS_GARBLE_H

#include <stdbool.h>
#include <stddef.h>

/* Of texts in Latin letters: too few words hold a vowel. Others, and short ones, are never judged; private
 * characters count as garbled in any script. text: UTF-8. */
bool garble_is_likely(const char *text, size_t length);

#endif
