/* Tokens to whole UTF-8 pieces, with stop strings held back and never shown.
 * SPDX-License-Identifier: Apache-2.0 */
#include "text/stream.h"

#include <string.h>

#include "base/utf8.h"

void text_stream_init(struct text_stream *stream, const char *const *stop, size_t stop_count)
{
    *stream = (struct text_stream){.stop = stop, .stop_count = stop_count};
}

void text_stream_fini(struct text_stream *stream)
{
    strbuf_fini(&stream->held);
    strbuf_fini(&stream->out);
}

/* ---- characters ----------------------------------------------------------------------------- */

/* Bytes of the longest proper beginning of a character at text, which is no whole character; at least 1.
 * *ret_open: it reaches the end, so that later bytes may still complete it. */
static size_t broken_length(const char *text, size_t length, bool *ret_open)
{
    static const char *const fills[] = {"\x80", "\x80\x80", "\x80\x80\x80",
                                        "\xBF", "\xBF\xBF", "\xBF\xBF\xBF"};
    size_t longest = 1;
    *ret_open = false;
    for (size_t kept = length < 3 ? length : 3; kept >= 1; kept--) {
        bool begins = false;
        for (size_t i = 0; i < sizeof fills / sizeof *fills && !begins; i++) {
            char whole[8];
            size_t fill = strlen(fills[i]), used;
            memcpy(whole, text, kept);
            memcpy(whole + kept, fills[i], fill);
            begins = utf8_decode(whole, kept + fill, &used) != UTF8_BAD && used == kept + fill;
        }
        if (begins) {
            longest = kept;
            *ret_open = kept == length;
            break;
        }
    }
    return longest;
}

/* Gives out the held bytes before `limit` and drops them. A character that crosses the limit stays, and
 * so does an open one at the end unless `final`. */
static void give_out(struct text_stream *stream, size_t limit, bool final)
{
    struct strbuf *held = &stream->held;
    size_t at = 0, step;
    while (at < limit) {
        size_t known = final ? limit - at : held->length - at;
        bool open = false;
        bool good = utf8_decode(held->text + at, known, &step) != UTF8_BAD;
        if (!good)
            step = broken_length(held->text + at, known, &open);
        if (!final && (open || at + step > limit))
            break;
        strbuf_append(&stream->out, good ? held->text + at : "\xEF\xBF\xBD", good ? step : 3);
        at += step;
    }
    if (at) {
        memmove(held->text, held->text + at, held->length - at);
        strbuf_truncate(held, held->length - at);
    }
}

/* ---- stop strings --------------------------------------------------------------------------- */

/* Looks for the first place after `from` where a stop string is complete; of several complete there the
 * longest counts. false: none. *ret_start: where it begins. */
static bool stop_find(const struct text_stream *stream, size_t from, size_t *ret_start)
{
    const struct strbuf *held = &stream->held;
    for (size_t end = from + 1; end <= held->length; end++) {
        size_t longest = 0;
        for (size_t i = 0; i < stream->stop_count; i++) {
            size_t length = strlen(stream->stop[i]);
            if (length > longest && length <= end &&
                memcmp(held->text + end - length, stream->stop[i], length) == 0)
                longest = length;
        }
        if (longest) {
            *ret_start = end - longest;
            return true;
        }
    }
    return false;
}

/* Bytes at the end that may turn out to begin a stop string. */
static size_t stop_prefix(const struct text_stream *stream)
{
    const struct strbuf *held = &stream->held;
    size_t longest = 0;
    for (size_t i = 0; i < stream->stop_count; i++) {
        size_t length = strlen(stream->stop[i]);
        size_t most = length && length - 1 < held->length ? length - 1 : held->length;
        for (size_t tail = length ? most : 0; tail > longest; tail--)
            if (memcmp(held->text + held->length - tail, stream->stop[i], tail) == 0)
                longest = tail;
    }
    return longest;
}

/* ---- face ----------------------------------------------------------------------------------- */

void text_stream_push(struct text_stream *stream, const char *bytes, size_t length)
{
    size_t old = stream->held.length, start;
    strbuf_clear(&stream->out);
    if (stream->stopped || length == 0)
        return;
    strbuf_append(&stream->held, bytes, length);
    if (stream->held.failed)
        return;
    if (stop_find(stream, old, &start)) {
        stream->stopped = true;
        give_out(stream, start, true);
        strbuf_clear(&stream->held);
        return;
    }
    give_out(stream, stream->held.length - stop_prefix(stream), false);
}

void text_stream_finish(struct text_stream *stream)
{
    strbuf_clear(&stream->out);
    if (!stream->stopped)
        give_out(stream, stream->held.length, true);
    strbuf_clear(&stream->held);
}
