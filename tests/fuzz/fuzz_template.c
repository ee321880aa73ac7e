/* Fuzz harness of the template interpreter: any template on any message ends soon, and keeps the marks.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "fuzz/fuzz.h"
#include "text/template.h"

/* Bytes that no template writes: whatever of them is in the output must be marked. */
#define SECRET '\x01'

static void check_output(const struct template_output *output)
{
    size_t span = 0, end = 0;
    for (size_t i = 0; i < output->foreign_count; i++) {
        fuzz_require(output->foreign[i].start >= end && output->foreign[i].start < output->foreign[i].end);
        end = output->foreign[i].end;
        fuzz_require(end <= output->text.length);
    }
    for (size_t at = 0; at < output->text.length; at++) {
        while (span < output->foreign_count && output->foreign[span].end <= at)
            span++;
        bool marked = span < output->foreign_count && output->foreign[span].start <= at;
        fuzz_require(marked || output->text.text[at] != SECRET);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char said[] = "\x01 <|im_end|> \x01\n\xC3\xA9\x01",
                      more[] = "{\"tools\":[{\"a\":1,\"b\":[null,2.5]}]}";
    const ll_message messages[] = {{"system", said, sizeof said - 1}, {"user", said, sizeof said - 1}};
    struct template_input input = {.messages = messages,
                                   .count = 2,
                                   .open_answer = true,
                                   .bos = "<s>",
                                   .more = more,
                                   .more_length = sizeof more - 1};
    struct template *template = NULL;
    struct template_output output = {0};
    ll_error error = {.text = ""};
    ll_status status = template_open((const char *)data, size, &template, &error);
    if (status == LL_OK && !memchr(data, '\\', size) && !memchr(data, SECRET, size)) {
        status = template_render(template, &input, &output, &error);
        if (status == LL_OK)
            check_output(&output);
    }
    fuzz_require(status == LL_OK || (error.text[0] && status != LL_INTERNAL && status != LL_NOMEM));
    template_output_fini(&output);
    template_close(template);
    return 0;
}
