/* Mail headers and transfer encodings: unfolded, decoded, split.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef READERS_MIME_H
#define READERS_MIME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

struct mime_part {
    const char *head, *body; /* borrowed from the message */
    size_t head_length, body_length;
};

/* Divides at the first empty line. */
void mime_split(const char *text, size_t length, struct mime_part *ret);
/* Appends the raw value of a header, lines joined; false when it is not there. */
bool mime_header(const struct mime_part *part, const char *name, struct strbuf *out);
/* Appends a header's text with encoded words (=?utf-8?Q?...?=) decoded to UTF-8. */
void mime_decode_words(const char *text, size_t length, struct strbuf *out);
/* A parameter of a value: "boundary" of 'multipart/mixed; boundary="x"'. Also RFC 2231's name*=. */
bool mime_parameter(const char *value, const char *name, char *ret, size_t cap);
/* Undoes "base64" or "quoted-printable"; anything else is appended as it is. */
void mime_decode_body(const char *encoding, const char *text, size_t length, struct strbuf *out);
/* The next part between the boundary lines, from *at on; false after the last. */
bool mime_next(const struct mime_part *whole, const char *boundary, size_t *at, const char **ret,
               size_t *ret_length);

#endif
