/* quantize: a model file to a smaller one.
 * SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>

#include "console/human.h"
#include "console/modelpath.h"
#include "repl/say.h"
#include "repl/verbs.h"

static uint64_t size_of(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 ? (uint64_t)info.st_size : 0;
}

int verb_quantize(struct program *program)
{
    const char *in = program->operands[0], *out = program->operands[1], *type = program->operands[2];
    ll_run run = program_run(program);
    ll_error error;
    program->meter.words = "quantizing";
    ll_status status = ll_model_quantize(in, out, type, &run, &error);
    meter_clear(&program->meter);
    if (status == LL_ARGUMENT) {
        say_error("%s", error.text);
        return LEAVE_USAGE;
    }
    if (status != LL_OK)
        return program_fail(
            program, status == LL_FORMAT || status == LL_UNSUPPORTED ? CONCERN_MODEL : CONCERN_WORK, &error);
    output_printf(&program->output, "%s: %s, was %s\n", out, human_bytes(size_of(out)).text,
                  human_bytes(size_of(in)).text);
    return LEAVE_OK;
}
