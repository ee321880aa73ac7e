/* Fuzz harness of grammars: any text is read or refused, any schema too, and any bytes can be followed.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/fuzz.h"
#include "text/recogniser.h"

static void follow(struct grammar *grammar, const uint8_t *data, size_t size)
{
    struct recogniser *recogniser;
    ll_error error = {0};
    bool good = true;
    for (size_t i = 0; i < grammar->start_count; i++)
        fuzz_require(grammar->starts[i] < grammar->item_count);
    if (recogniser_open(grammar, NULL, 0, true, &recogniser, &error) != LL_OK) {
        fuzz_require(error.text[0]);
        return;
    }
    for (size_t i = 0; i < size && i < 64 && good; i++)
        if (recogniser_follow(recogniser, (const char *)data + i, 1, &good, &error) != LL_OK)
            break;
    recogniser_close(recogniser);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct grammar grammar = {0};
    struct strbuf text = {0};
    ll_error error = {0};
    ll_status status = grammar_parse((const char *)data, size, &grammar, &error);
    fuzz_require(status == LL_OK || error.text[0]);
    if (status == LL_OK)
        follow(&grammar, data, size);
    grammar_fini(&grammar);
    status = grammar_of_schema((const char *)data, size, &text, &error);
    fuzz_require(status == LL_OK || error.text[0]);
    if (status == LL_OK && grammar_parse(strbuf_text(&text), text.length, &grammar, &error) == LL_OK)
        follow(&grammar, data, size);
    grammar_fini(&grammar);
    strbuf_fini(&text);
    return 0;
}
