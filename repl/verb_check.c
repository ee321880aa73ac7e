/* check: whether model files are sound, without loading them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "console/human.h"
#include "repl/json.h"
#include "repl/say.h"
#include "repl/verbs.h"

static json_t *verdict_json(const char *path, const ll_error *error, const ll_model_info *info)
{
    json_t *row = json_object();
    json_put_string(row, "path", path);
    json_object_set_new(row, "sound", json_boolean(!error));
    if (error) {
        json_put_string(row, "where", error->where);
        json_put_string(row, "reason", error->text);
        return row;
    }
    json_put_string(row, "architecture", info->architecture);
    json_put_string(row, "quantization", info->quantization);
    json_put_count(row, "parameters", info->parameters);
    json_put_count(row, "file_bytes", info->file_bytes);
    return row;
}

static void print_sound(struct output *output, const char *path, const ll_model_info *info)
{
    output_printf(output, "%s: sound: %s, %s parameters in %s, %s\n", path, info->architecture,
                  human_count(info->parameters).text, info->quantization, human_bytes(info->file_bytes).text);
}

int verb_check(struct program *program)
{
    bool as_json = settings_flag(&program->settings, OPTION_JSON);
    json_t *rows = as_json ? json_array() : NULL;
    int code = LEAVE_OK;
    for (int i = 0; i < program->operand_count; i++) {
        const char *path = program->operands[i];
        ll_model_info info = {0};
        ll_error error = {0};
        bool sound = ll_model_check(path, &info, &error) == LL_OK;
        if (!sound)
            code = LEAVE_MODEL;
        if (as_json)
            json_array_append_new(rows, verdict_json(path, sound ? NULL : &error, &info));
        else if (sound)
            print_sound(&program->output, path, &info);
        else
            say_error("%s", error.text);
    }
    if (as_json) {
        json_t *answer = json_object();
        json_object_set_new(answer, "files", rows);
        json_print(&program->output, answer, JSON_INDENT(2));
    }
    return code;
}
