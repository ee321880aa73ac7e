/* Unicode composition (NFC) of valid text, for models whose tokenizer composes first.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TEXT_COMPOSE_H
#define TEXT_COMPOSE_H

#include <stdbool.h>
#include <stddef.h>

/* text is valid UTF-8. *ret is NULL when the text is composed already, else mem_free it and take
 * *ret_length. Runs of more than 512 marks are composed piece by piece, to stay linear. false: no memory. */
bool compose_text(const char *text, size_t length, char **ret, size_t *ret_length);

#endif
