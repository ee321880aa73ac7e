/* The settings that a conversation may change while it goes on: sampling, length, focus.
 * SPDX-License-Identifier: Apache-2.0 */
#include "console/parameter.h"

#include <string.h>

#include "console/escape.h"
#include "console/suggest.h"

enum { MOST_NAME = 40 };

bool parameter_is(enum option option)
{
    return (option >= OPTION_MAX_TOKENS && option <= OPTION_STOP && option_applies(option, VERB_CHAT)) ||
           option == OPTION_LENGTH || option == OPTION_FOCUS;
}

static bool take_name(char *out, const char *name, size_t length)
{
    if (length >= MOST_NAME)
        return false;
    for (size_t i = 0; i < length; i++)
        out[i] = name[i] == '_' ? '-' : name[i];
    out[length] = '\0';
    return true;
}

enum option parameter_find(const char *name, size_t length)
{
    char word[MOST_NAME];
    enum option option = take_name(word, name, length) ? option_find(word) : OPTION_COUNT;
    return option != OPTION_COUNT && parameter_is(option) ? option : OPTION_COUNT;
}

const char *parameter_near(const char *name, size_t length)
{
    char word[MOST_NAME];
    struct suggestion near;
    if (!take_name(word, name, length))
        return NULL;
    suggest_begin(&near, word);
    for (int i = 0; i < OPTION_COUNT; i++)
        if (parameter_is((enum option)i))
            suggest_offer(&near, option_row((enum option)i)->name);
    return near.best;
}

static void unknown_name(const char *name, size_t length, struct text *problem)
{
    struct text word = {0};
    const char *near = parameter_near(name, length);
    text_append(&word, name, length);
    text_puts(problem, "there is no parameter “");
    escape_append_line(problem, text_string(&word));
    text_puts(problem, "”");
    if (near)
        text_printf(problem, " (did you mean %s?)", near);
    text_fini(&word);
}

bool parameter_set(struct settings *settings, const char *argument, size_t length, struct text *problem)
{
    size_t end = 0;
    while (end < length && !strchr(" \t=", argument[end]))
        end++;
    size_t start = end;
    while (start < length && strchr(" \t=", argument[start]))
        start++;
    enum option option = parameter_find(argument, end);
    if (option == OPTION_COUNT) {
        unknown_name(argument, end, problem);
        return false;
    }
    if (start == length) {
        text_printf(problem, "the parameter %s needs a value", option_row(option)->name);
        return false;
    }
    struct text value = {0};
    text_append(&value, argument + start, length - start);
    bool ok = settings_set(settings, option, ORIGIN_LINE, 0, text_string(&value), problem);
    text_fini(&value);
    return ok;
}
