/* What a file is, told by its first bytes and never by its name.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef READERS_KIND_H
#define READERS_KIND_H

#include <stdbool.h>
#include <stddef.h>

enum kind { KIND_TEXT, KIND_MARKDOWN, KIND_PDF, KIND_OTHER };

/* KIND_PDF, KIND_OTHER (a format that is no text, named in *ret_name) or KIND_TEXT: no objection. */
enum kind kind_of_bytes(const char *bytes, size_t length, const char **ret_name);
/* Whether decoded text is written in Markdown: its own marks decide. */
bool kind_is_markdown(const char *text, size_t length);
const char *kind_name(enum kind kind); /* "text", "markdown", "pdf", "other" */
/* false when the name is none of "text", "markdown", "pdf". */
bool kind_from_name(const char *name, enum kind *ret);

#endif
