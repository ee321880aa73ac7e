/* Bytes of any encoding to clean UTF-8, with a note whenever something was guessed or repaired.
 * SPDX-License-Identifier: Apache-2.0 */
#include "readers/encoding.h"

#include <errno.h>
#include <iconv.h>
#include <stdio.h>
#include <string.h>
#include <uchardet.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"

enum { NAME_SIZE = 40, STEP = 1 << 20 };

struct decoding {
    const char *bytes, *name;
    size_t length;
    const ll_cancel *cancel;
    struct strbuf *out;
    struct notes *notes;
    ll_error *error;
    size_t replaced, dropped; /* broken sequences shown as U+FFFD; NUL bytes left out */
};

static ll_status check(const struct decoding *d)
{
    if (cancel_requested(d->cancel))
        return error_set(d->error, LL_CANCELLED, "encoding", "reading %s was cancelled", d->name);
    if (d->out->failed)
        return error_nomem(d->error, "encoding", d->length);
    return LL_OK;
}

/* ---- surrogates ------------------------------------------------------------------------------ */

static int32_t surrogate(const char *text, size_t length, unsigned char lead_bits)
{
    const unsigned char *s = (const unsigned char *)text;
    if (length < 3 || s[0] != 0xED || (s[1] & 0xF0) != lead_bits || (s[2] & 0xC0) != 0x80)
        return -1;
    return 0xD000 | (s[1] & 0x3F) << 6 | (s[2] & 0x3F);
}

/* CESU-8 writes a character above U+FFFF as two surrogates of three bytes each. */
static int32_t cesu_pair(const char *text, size_t length)
{
    int32_t high = surrogate(text, length, 0xA0);
    int32_t low = high < 0 || length < 6 ? -1 : surrogate(text + 3, length - 3, 0xB0);
    return low < 0 ? UTF8_BAD : 0x10000 + ((high & 0x3FF) << 10) + (low & 0x3FF);
}

/* ---- what the bytes look like ---------------------------------------------------------------- */

struct census {
    size_t controls, nul_even, nul_odd;
    size_t good, bad; /* multi-byte sequences well-formed, bytes that are not */
};

/* The bytes of a character that the end of the text cuts off; 0: it ends whole, or broken. */
static size_t cut_tail(const char *bytes, size_t length)
{
    for (size_t tail = 1; tail <= 3 && tail <= length; tail++) {
        unsigned char lead = (unsigned char)bytes[length - tail];
        if ((lead & 0xC0) == 0x80)
            continue;
        size_t want = lead >= 0xF5 ? 0 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0;
        return want > tail ? tail : 0;
    }
    return 0;
}

static ll_status take_census(const struct decoding *d, struct census *ret)
{
    size_t step, next_check = 0;
    *ret = (struct census){0};
    for (size_t i = 0; i < d->length; i += step) {
        if (i >= next_check) {
            LL_TRY(check(d));
            next_check = i + STEP;
        }
        int32_t code = utf8_decode(d->bytes + i, d->length - i, &step);
        if (code == UTF8_BAD && surrogate(d->bytes + i, d->length - i, 0xA0) >= 0) {
            code = cesu_pair(d->bytes + i, d->length - i); /* even a lone half speaks for UTF-8 */
            step = code == UTF8_BAD ? 3 : 6;
            code = 0x10000;
        }
        ret->nul_even += code == 0 && i % 2 == 0;
        ret->nul_odd += code == 0 && i % 2 == 1;
        ret->controls +=
            code >= 0 && (code < 0x20 || code == 0x7F) && (code < 0x07 || code > 0x0D) && code != 0x1B;
        ret->good += code >= 0x80;
        ret->bad += code == UTF8_BAD;
    }
    if (ret->good > 0) /* a text cut off inside its last character */
        ret->bad -= cut_tail(d->bytes, d->length);
    return LL_OK;
}

/* Half of the bytes of UTF-16 Latin text are NUL, nearly all at one parity. */
static const char *utf16_by_parity(const struct census *census, const char *bytes, size_t length)
{
    size_t pairs = length / 2;
    if (pairs < 2 || length % 2 != 0)
        return NULL;
    bool little = census->nul_odd * 10 >= pairs * 3 && census->nul_even * 10 <= census->nul_odd;
    bool big = census->nul_even * 10 >= pairs * 3 && census->nul_odd * 10 <= census->nul_even;
    size_t controls = 0;
    for (size_t i = 0; (little || big) && i + 1 < length; i += 2) {
        unsigned char high = (unsigned char)bytes[i + little], low = (unsigned char)bytes[i + !little];
        controls += high == 0 && low < 0x20 && (low < 0x07 || low > 0x0D) && low != 0x1B;
    }
    if (controls * 20 > pairs) /* columns of small numbers */
        return NULL;
    return little ? "UTF-16LE" : big ? "UTF-16BE" : NULL;
}

static const char *by_mark(const char *bytes, size_t length, size_t *ret_mark)
{
    static const struct {
        const char *mark;
        size_t length;
        const char *name;
    } marks[] = {
        {"\xEF\xBB\xBF", 3, "UTF-8"}, {"\xFF\xFE\0\0", 4, "UTF-32LE"}, {"\0\0\xFE\xFF", 4, "UTF-32BE"},
        {"\xFF\xFE", 2, "UTF-16LE"},  {"\xFE\xFF", 2, "UTF-16BE"},     {"\x84\x31\x95\x33", 4, "GB18030"},
    };
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        if (length >= marks[i].length && memcmp(bytes, marks[i].mark, marks[i].length) == 0) {
            *ret_mark = marks[i].length;
            return marks[i].name;
        }
    *ret_mark = 0;
    return NULL;
}

/* ---- one character into the document --------------------------------------------------------- */

/* NUL never; CR LF and CR become LF; vertical tab and NEL are line ends too. previous: the code
 * before this one. */
static void put_code(struct decoding *d, int32_t code, int32_t previous)
{
    char utf8[4];
    if (code == 0) {
        d->dropped++;
        return;
    }
    if (code == '\n' && previous == '\r')
        return;
    if (code == '\r' || code == '\v' || code == 0x85 || code == 0x2028)
        code = '\n';
    if (code < 0x80)
        strbuf_putc(d->out, (char)code);
    else
        strbuf_append(d->out, utf8, utf8_encode(code, utf8));
}

/* A broken character is replaced once, not once for each of its bytes. */
static size_t broken_length(const char *text, size_t length)
{
    size_t used = 1;
    unsigned char lead = (unsigned char)text[0];
    size_t want = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 1;
    while (used < want && used < length && ((unsigned char)text[used] & 0xC0) == 0x80)
        used++;
    return used;
}

static ll_status put_utf8(struct decoding *d, size_t start)
{
    int32_t previous = 0;
    size_t step, next_check = start;
    for (size_t i = start; i < d->length; i += step) {
        if (i >= next_check) {
            LL_TRY(check(d));
            next_check = i + STEP;
        }
        int32_t code = utf8_decode(d->bytes + i, d->length - i, &step);
        if (code == UTF8_BAD) {
            code = cesu_pair(d->bytes + i, d->length - i);
            step = code == UTF8_BAD ? broken_length(d->bytes + i, d->length - i) : 6;
            d->replaced += code == UTF8_BAD;
        }
        put_code(d, code == UTF8_BAD ? 0xFFFD : code, previous);
        previous = code;
    }
    return check(d);
}

/* ---- other encodings through iconv ----------------------------------------------------------- */

/* Bytes that are wrong in the encoding become U+FFFD, one for each unit skipped. */
static ll_status convert(const struct decoding *d, iconv_t handle, size_t start, size_t unit,
                         struct strbuf *text, size_t *ret_broken)
{
    char block[8192];
    char *in = (char *)(uintptr_t)(d->bytes + start);
    size_t left = d->length - start;
    *ret_broken = 0;
    while (left > 0) {
        char *out = block;
        size_t room = sizeof block, slice = left < STEP ? left : STEP, before = slice;
        size_t result = iconv(handle, &in, &slice, &out, &room);
        int reason = errno;
        left -= before - slice;
        strbuf_append(text, block, sizeof block - room);
        LL_TRY(check(d));
        if (text->failed)
            return error_nomem(d->error, "encoding", d->length);
        bool cut = reason == EINVAL && left > slice; /* the slice ended inside a character */
        if (result != (size_t)-1 || reason == E2BIG || cut)
            continue;
        size_t skip = left < unit ? left : unit;
        in += skip;
        left -= skip;
        strbuf_puts(text, "\xEF\xBF\xBD");
        (*ret_broken)++;
    }
    return LL_OK;
}

static ll_status put_converted(struct decoding *d, const char *encoding, size_t start, bool strict,
                               bool *ret_done)
{
    iconv_t handle = iconv_open("UTF-8", encoding);
    *ret_done = false;
    if (handle == (iconv_t)-1)
        return LL_OK;
    struct strbuf text = {0};
    size_t broken = 0;
    size_t unit = strncmp(encoding, "UTF-32", 6) == 0 ? 4 : strncmp(encoding, "UTF-16", 6) == 0 ? 2 : 1;
    ll_status status = convert(d, handle, start, unit, &text, &broken);
    iconv_close(handle);
    if (status == LL_OK && !(strict && broken * 100 > d->length)) {
        struct decoding again = *d;
        again.bytes = strbuf_text(&text);
        again.length = text.length;
        status = put_utf8(&again, 0);
        d->replaced = broken;
        d->dropped = again.dropped;
        *ret_done = status == LL_OK;
    }
    strbuf_fini(&text);
    return status;
}

static bool detect(const struct decoding *d, char *encoding)
{
    size_t start = 0;
    while (start < d->length && (unsigned char)d->bytes[start] < 0x80)
        start++;
    start = start > 4096 ? start - 4096 : 0;
    size_t length = d->length - start < STEP ? d->length - start : STEP;
    uchardet_t detector = uchardet_new();
    if (!detector)
        return false;
    bool found = uchardet_handle_data(detector, d->bytes + start, length) == 0;
    if (found) {
        uchardet_data_end(detector);
        snprintf(encoding, NAME_SIZE, "%s", uchardet_get_charset(detector));
    }
    uchardet_delete(detector);
    return found && encoding[0] && strcmp(encoding, "UTF-8") != 0 && strcmp(encoding, "ASCII") != 0;
}

bool encoding_is_known(const char *name)
{
    iconv_t handle = iconv_open("UTF-8", name);
    if (handle == (iconv_t)-1)
        return false;
    iconv_close(handle);
    return true;
}

/* ---- the ladder ------------------------------------------------------------------------------ */

/* A tenth of compressed or random bytes are controls; no encoding of text that is neither UTF-8 nor
 * known by its zero bytes has a fiftieth. */
static bool is_binary(const struct census *census, size_t length)
{
    return census->controls * 10 > length * 3 ||
           (census->bad > census->good && census->controls * 50 > length);
}

bool encoding_looks_binary(const char *bytes, size_t length)
{
    struct strbuf none = {0};
    const struct decoding d = {.bytes = bytes, .length = length, .out = &none};
    struct census census;
    size_t mark;
    return !by_mark(bytes, length, &mark) && take_census(&d, &census) == LL_OK &&
           !utf16_by_parity(&census, bytes, length & ~(size_t)1) && is_binary(&census, length);
}

static ll_status refuse_binary(const struct decoding *d)
{
    return error_set(d->error, LL_UNREADABLE, "encoding",
                     "%s is not text: its bytes are those of a binary file of no kind that can be read",
                     d->name);
}

static ll_status decode_guessed(struct decoding *d, const struct census *census, char *encoding)
{
    bool done = false;
    /* In other encodings hardly one of ten such bytes falls into a well-formed sequence by chance. */
    if (census->bad == 0 || census->good >= census->bad * 2) {
        snprintf(encoding, NAME_SIZE, "%s", census->good ? "UTF-8" : "ASCII");
        return put_utf8(d, 0);
    }
    if (detect(d, encoding)) {
        LL_TRY(put_converted(d, encoding, 0, true, &done));
        if (done) {
            notes_add(d->notes,
                      "%s is not UTF-8: read as %s, which was guessed; name another encoding if words "
                      "look wrong",
                      d->name, encoding);
            return LL_OK;
        }
    }
    snprintf(encoding, NAME_SIZE, "windows-1252");
    notes_add(d->notes,
              "%s is not UTF-8 and its encoding is unclear: read as windows-1252; name another encoding "
              "if words look wrong",
              d->name);
    LL_TRY(put_converted(d, "CP1252", 0, false, &done));
    return done ? LL_OK : put_utf8(d, 0);
}

static ll_status decode_forced(struct decoding *d, const char *forced, char *encoding)
{
    bool done = false;
    size_t mark;
    const char *marked = by_mark(d->bytes, d->length, &mark);
    snprintf(encoding, NAME_SIZE, "%s", forced);
    LL_TRY(put_converted(d, forced, marked && strcmp(marked, forced) == 0 ? mark : 0, false, &done));
    return done ? LL_OK
                : error_set(d->error, LL_ARGUMENT, "encoding",
                            "the encoding \"%.60s\" is not known; iconv -l lists them", forced);
}

static ll_status decode_any(struct decoding *d, const char *forced, char *encoding)
{
    struct census census;
    size_t mark;
    bool done = false;
    if (forced)
        return decode_forced(d, forced, encoding);
    const char *found = by_mark(d->bytes, d->length, &mark);
    if (found && strcmp(found, "UTF-8") == 0) {
        snprintf(encoding, NAME_SIZE, "UTF-8");
        return put_utf8(d, mark);
    }
    LL_TRY(take_census(d, &census));
    if (!found)
        found = utf16_by_parity(&census, d->bytes, d->length);
    if (found) {
        snprintf(encoding, NAME_SIZE, "%s", found);
        LL_TRY(put_converted(d, found, mark, false, &done));
        if (done) {
            notes_add(d->notes, "%s was read as %s", d->name, found);
            return LL_OK;
        }
    }
    if (is_binary(&census, d->length))
        return refuse_binary(d);
    return decode_guessed(d, &census, encoding);
}

ll_status encoding_decode(const char *bytes, size_t length, const char *forced, const char *name,
                          const ll_cancel *cancel, struct strbuf *out, char *encoding, struct notes *notes,
                          ll_error *error)
{
    struct decoding d = {.bytes = bytes,
                         .name = name,
                         .length = length,
                         .cancel = cancel,
                         .out = out,
                         .notes = notes,
                         .error = error};
    encoding[0] = '\0';
    LL_TRY(decode_any(&d, forced, encoding));
    if (d.replaced)
        notes_add(notes, "%s: %zu broken character%s of %s shown as U+FFFD", name, d.replaced,
                  d.replaced == 1 ? "" : "s", encoding);
    if (d.dropped)
        notes_add(notes, "%s: %zu NUL byte%s left out", name, d.dropped, d.dropped == 1 ? "" : "s");
    return LL_OK;
}
