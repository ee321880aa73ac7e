/* Fuzz harness of document/encoding and document/kind: any bytes become valid text or a sentence.
 * SPDX-License-Identifier: Apache-2.0 */
#include "readers/encoding.h"

#include <string.h>

#include "base/utf8.h"
#include "readers/kind.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data, *name = NULL;
    struct strbuf text = {0};
    struct notes notes = {0};
    char encoding[40];
    ll_error error = {0};
    if (kind_of_bytes(bytes, size, &name) == KIND_OTHER)
        fuzz_require(name != NULL);
    ll_status status = encoding_decode(bytes, size, NULL, "input", NULL, &text, encoding, &notes, &error);
    fuzz_require(status == LL_OK || (status == LL_UNREADABLE && error.text[0]));
    if (status == LL_OK) {
        fuzz_require(encoding[0] && utf8_valid(strbuf_text(&text), text.length));
        fuzz_require(text.length == 0 || memchr(text.text, '\0', text.length) == NULL);
        (void)kind_is_markdown(strbuf_text(&text), text.length);
    }
    strbuf_fini(&text);
    notes_fini(&notes);
    return 0;
}
