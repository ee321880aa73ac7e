/* quantize and convert: a model file, or a folder of one, to a file of another type.
 * SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>

#include "console/human.h"
#include "repl/say.h"
#include "repl/verbs.h"

/* Of a file; 0 for what is none. */
static uint64_t size_of(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) ? (uint64_t)info.st_size : 0;
}

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static int rewrite_model(struct program *program, const char *words)
{
    const char *in = program->operands[0], *out = program->operands[1];
    const char *type = program->operand_count > 2 ? program->operands[2] : NULL;
    ll_run run = program_run(program);
    ll_error error;
    program->meter.words = words;
    ll_status status = ll_model_quantize(in, out, type, &run, &error);
    meter_clear(&program->meter);
    if (status == LL_ARGUMENT) {
        say_error("%s", error.text);
        return LEAVE_USAGE;
    }
    if (status != LL_OK)
        return program_fail(program,
                            status == LL_FORMAT || status == LL_UNSUPPORTED || status == LL_NOT_FOUND
                                ? CONCERN_MODEL
                                : CONCERN_WORK,
                            &error);
    return LEAVE_OK;
}

int verb_quantize(struct program *program)
{
    const char *in = program->operands[0], *out = program->operands[1], *type = program->operands[2];
    int code = rewrite_model(program, "quantizing");
    if (code)
        return code;
    uint64_t before = size_of(in), after = size_of(out);
    if (before == 0) {
        output_printf(&program->output, "%s: %s\n", out, human_bytes(after).text);
        return LEAVE_OK;
    }
    output_printf(&program->output, "%s: %s, was %s\n", out, human_bytes(after).text,
                  human_bytes(before).text);
    if (after > before)
        say_error("%s is larger than what it was made of: %s holds no more than the weights had", out, type);
    return LEAVE_OK;
}

int verb_convert(struct program *program)
{
    const char *in = program->operands[0], *out = program->operands[1];
    if (size_of(in) > 0) {
        say_error("%s is a file; convert takes the folder of a Hugging Face model, and quantize a GGUF file",
                  in);
        return LEAVE_USAGE;
    }
    if (is_folder(out)) {
        say_error("%s is a folder; name the file to write", out);
        return LEAVE_USAGE;
    }
    int code = rewrite_model(program, "converting");
    if (!code)
        output_printf(&program->output, "%s: %s\n", out, human_bytes(size_of(out)).text);
    return code;
}
