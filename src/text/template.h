/* Renders chat templates: a bounded, sandboxed interpreter of the Jinja that published ones use.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Output is as jinja2 gives it with trim_blocks, lstrip_blocks and loop controls, which is how templates
 * are published to be used. What is not supported is an error that names the construct and its line.
 * Whatever messages hold, and whatever the template does with them, the bytes that came from them are
 * marked in the output. A template may take 5 million steps and, beside its input, 64 MiB. */
#ifndef TEXT_TEMPLATE_H
#define TEXT_TEMPLATE_H

#include "base/strbuf.h"
#include "longleaf.h"

struct template; /* immutable after template_open: any thread */

/* LL_FORMAT: no template; LL_UNSUPPORTED: a tag this interpreter does not know. Copies the source. */
ll_status template_open(const char *source, size_t length, struct template **ret, ll_error *error);
void template_close(struct template *template);

struct template_input {
    const ll_message *messages;
    size_t count;
    bool open_answer;      /* add_generation_prompt */
    bool typed_content;    /* content as a list of {"type": "text", "text": …} */
    const char *bos, *eos; /* bos_token and eos_token; NULL counts as "" */
    const char *more;      /* a JSON object with more variables (tools, enable_thinking …), or NULL */
    size_t more_length;
};

struct template_span {
    size_t start, end;
};

struct template_output { /* zero-initialised storage is empty */
    struct strbuf text;
    struct template_span *foreign; /* what messages and `more` wrote, ascending */
    size_t foreign_count;
};

/* LL_ARGUMENT: the template refuses these messages (raise_exception) or goes wrong on them;
 * LL_UNSUPPORTED: a filter, test, method or function that is not known. On failure ret is as it was. */
ll_status template_render(const struct template *template, const struct template_input *input,
                          struct template_output *ret, ll_error *error);
void template_output_fini(struct template_output *output);

#endif
