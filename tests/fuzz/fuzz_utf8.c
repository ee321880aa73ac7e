/* Fuzz harness of base/utf8: stepping, cutting and showing any bytes.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "fuzz/fuzz.h"

static void step_through(const char *text, size_t length)
{
    size_t step = 0;
    for (size_t i = 0; i < length; i += step) {
        int32_t code = utf8_decode(text + i, length - i, &step);
        fuzz_require(step >= 1 && step <= 4 && step <= length - i);
        char again[4];
        if (code != UTF8_BAD)
            fuzz_require(utf8_encode(code, again) == step && memcmp(again, text + i, step) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    step_through(text, size);
    size_t whole = utf8_whole(text, size);
    fuzz_require(whole <= size && size - whole <= 3);
    if (utf8_valid(text, size))
        fuzz_require(whole == size);
    char shown[256];
    for (size_t cap = 0; cap <= sizeof shown; cap += 17) {
        size_t used = utf8_printable(text, size, shown, cap);
        fuzz_require(cap == 0 ? used == 0 : used < cap && shown[used] == '\0' && utf8_valid(shown, used));
    }
    return 0;
}
