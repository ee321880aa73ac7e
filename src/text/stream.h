/* Tokens to whole UTF-8 pieces, with stop strings held back and never shown.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TEXT_STREAM_H
#define TEXT_STREAM_H

#include "base/strbuf.h"

struct text_stream {
    struct strbuf held; /* bytes not yet given out: part of a character, or of a stop string */
    struct strbuf out;  /* what the last push or finish gave out */
    const char *const *stop;
    size_t stop_count;
    bool stopped; /* a stop string was completed; it and all after it are dropped */
};

void text_stream_init(struct text_stream *stream, const char *const *stop,
                      size_t stop_count); /* borrows stop */
void text_stream_fini(struct text_stream *stream);
/* Adds bytes; the text that is certain to be shown is in stream->out (valid until the next call).
 * Broken bytes become U+FFFD once no later byte can mend them. */
void text_stream_push(struct text_stream *stream, const char *bytes, size_t length);
/* Gives out what is still held. */
void text_stream_finish(struct text_stream *stream);

#endif
