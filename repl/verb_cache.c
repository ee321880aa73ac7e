/* cache: what is kept of the model's answers; prune and clear.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <time.h>

#include "console/cachepath.h"
#include "console/human.h"
#include "repl/json.h"
#include "repl/keeping.h"
#include "repl/say.h"
#include "repl/verbs.h"

static void print_day(struct output *output, const char *words, uint64_t seconds)
{
    time_t when = (time_t)seconds;
    struct tm day;
    char text[32];
    if (seconds && localtime_r(&when, &day) && strftime(text, sizeof text, "%Y-%m-%d %H:%M", &day))
        output_printf(output, "%s%s\n", words, text);
}

static void print_info(struct program *program, const char *path, const ll_journal_info *info)
{
    struct output *output = &program->output;
    if (settings_flag(&program->settings, OPTION_JSON)) {
        json_t *object = json_object();
        json_put_string(object, "path", path);
        json_put_count(object, "answers", info->answers);
        json_put_count(object, "windows", info->windows);
        json_put_count(object, "bytes", info->bytes);
        json_put_number(object, "seconds", info->seconds);
        json_put_count(object, "oldest", info->oldest);
        json_put_count(object, "newest", info->newest);
        json_print(output, object, JSON_INDENT(2));
        return;
    }
    output_printf(output, "file      %s\n", path);
    output_printf(output, "answers   %s, %s\n", human_count(info->answers).text,
                  human_bytes(info->bytes).text);
    if (info->windows)
        output_printf(output, "windows   %s read, for the next question\n", human_count(info->windows).text);
    output_printf(output, "spares    %s of computing\n", human_seconds(info->seconds).text);
    print_day(output, "oldest    last used ", info->oldest);
    print_day(output, "newest    last used ", info->newest);
}

static int show(struct program *program, const char *path)
{
    ll_journal_info info = {0};
    ll_error error = {0};
    ll_status status = ll_journal_get_info(path, &info, &error);
    if (status != LL_OK && status != LL_NOT_FOUND)
        return program_fail(program, CONCERN_WORK, &error);
    print_info(program, path, &info);
    return LEAVE_OK;
}

static int prune(struct program *program, const char *path, uint64_t bytes)
{
    ll_error error = {0};
    ll_status status = ll_journal_prune(path, bytes, &error);
    if (status != LL_OK && status != LL_NOT_FOUND)
        return program_fail(program, CONCERN_WORK, &error);
    return show(program, path);
}

int verb_cache(struct program *program)
{
    const char *what = program->operand_count ? program->operands[0] : "show";
    struct text path = {0};
    int code = LEAVE_USAGE;
    cachepath_find(&path);
    if (!path.length) {
        say_error("there is no cache: neither XDG_CACHE_HOME nor HOME is set");
        code = LEAVE_OTHER;
    } else if (strcmp(what, "show") == 0) {
        code = show(program, text_string(&path));
    } else if (strcmp(what, "prune") == 0) {
        code = prune(program, text_string(&path), keeping_limit(program));
    } else if (strcmp(what, "clear") == 0) {
        code = prune(program, text_string(&path), 0);
    } else {
        say_error("cache knows show, prune and clear, not “%s”", what);
    }
    text_fini(&path);
    return code;
}
