/* %params and papermill's parameters: the settings of the notebook, shown and changed.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console/parameter.h"
#include "console/suggest.h"
#include "jupyter_kernel/magic.h"

enum { MOST_NAME = 40 };

/* What a notebook has beyond the parameters that both front ends share. */
enum own { OWN_GAUGE, OWN_RENDER, OWN_IGNORE_EOS, OWN_COUNT };
static const struct {
    const char *name, *help, *off, *on;
} owns[OWN_COUNT] = {
    [OWN_GAUGE] = {"gauge", "show memory, context and speed above each answer: on or off", "off", "on"},
    [OWN_RENDER] = {"render", "show answers as text that streams, or as markdown", "text", "markdown"},
    [OWN_IGNORE_EOS] = {"ignore_eos", "go on past the end of the answer, to max_tokens: on or off", "off",
                        "on"},
};

/* A notebook has no command line, so what that would say is a parameter, too. */
static const enum option of_line[] = {OPTION_CONTEXT, OPTION_KV,      OPTION_METHOD,     OPTION_WINDOW,
                                      OPTION_OVERLAP, OPTION_WINDOWS, OPTION_EXHAUSTIVE, OPTION_LANGUAGE};

static bool is_option(enum option option)
{
    bool is = option != OPTION_COUNT && parameter_is(option);
    for (size_t i = 0; i < sizeof of_line / sizeof *of_line; i++)
        is = is || of_line[i] == option;
    return is;
}

static bool *own_flag(struct talk *talk, enum own own)
{
    return own == OWN_GAUGE ? &talk->gauge : own == OWN_RENDER ? &talk->markdown : &talk->ignore_end;
}

static const char *own_value(const struct talk *talk, enum own own)
{
    bool on = own == OWN_GAUGE ? talk->gauge : own == OWN_RENDER ? talk->markdown : talk->ignore_end;
    return on ? owns[own].on : owns[own].off;
}

/* Names are written with _ in notebooks, as papermill needs them; - is taken, too. */
static void spell(const char *name, size_t length, char out[MOST_NAME])
{
    size_t i = 0;
    for (; i < length && i + 1 < MOST_NAME; i++)
        out[i] = name[i] == '-' ? '_' : name[i];
    out[i] = '\0';
}

static enum own own_find(const char *name, size_t length)
{
    char word[MOST_NAME];
    spell(name, length, word);
    for (int i = 0; i < OWN_COUNT; i++)
        if (strcmp(owns[i].name, word) == 0)
            return (enum own)i;
    return OWN_COUNT;
}

void params_each(const struct talk *talk, params_fn each, void *user)
{
    char word[MOST_NAME];
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option_row *row = option_row((enum option)i);
        if (!is_option((enum option)i))
            continue;
        spell(row->name, strlen(row->name), word);
        const struct setting *setting = &talk->settings.values[i];
        const char *flag = setting->count ? "on" : "off";
        each(user, word,
             row->kind == OPTION_IS_FLAG ? flag
             : setting->given            ? setting->text
                                         : NULL,
             row->help);
    }
    for (int i = 0; i < OWN_COUNT; i++)
        each(user, owns[i].name, own_value(talk, (enum own)i), owns[i].help);
}

/* ---- changing ---- */

static bool read_switch(struct turn *turn, const char *name, const char *value, uint64_t *ret)
{
    static const char *const yes[] = {"on", "yes", "true", "True", "1", NULL};
    static const char *const no[] = {"off", "no", "false", "False", "0", NULL};
    for (size_t i = 0; yes[i]; i++)
        if (strcmp(value, yes[i]) == 0 || strcmp(value, no[i]) == 0) {
            *ret = strcmp(value, yes[i]) == 0;
            return true;
        }
    output_fail(turn->output, FAIL_USAGE, "%s: “%s” is neither on nor off", name, value);
    return false;
}

static bool own_set(struct turn *turn, enum own own, const char *value)
{
    bool *flag = own_flag(turn->talk, own);
    uint64_t on = *flag;
    if (own != OWN_RENDER && !read_switch(turn, owns[own].name, value, &on))
        return false;
    *flag = own == OWN_RENDER ? strcmp(value, owns[own].on) == 0 : on != 0;
    if (own != OWN_RENDER || *flag || strcmp(value, owns[own].off) == 0)
        return true;
    output_fail(turn->output, FAIL_USAGE, "%s: “%s” is neither %s nor %s", owns[own].name, value,
                owns[own].on, owns[own].off);
    return false;
}

struct nearest { /* the names offered do not outlive the offer */
    struct suggestion suggestion;
    char best[MOST_NAME];
};

static void suggest(void *user, const char *name, const char *value, const char *help)
{
    struct nearest *nearest = user;
    (void)value;
    (void)help;
    suggest_offer(&nearest->suggestion, name);
    if (nearest->suggestion.best == name) {
        snprintf(nearest->best, sizeof nearest->best, "%s", name);
        nearest->suggestion.best = nearest->best;
    }
}

static bool unknown(struct turn *turn, const char *name, size_t length)
{
    char word[MOST_NAME];
    struct nearest near = {.best = ""};
    spell(name, length, word);
    suggest_begin(&near.suggestion, word);
    params_each(turn->talk, suggest, &near);
    output_fail(turn->output, FAIL_USAGE, "there is no parameter “%s”%s%s%s; %%params lists them", word,
                near.best[0] ? "; did you mean " : "", near.best, near.best[0] ? "?" : "");
    return false;
}

static enum option find(const char *name, size_t length)
{
    char word[MOST_NAME];
    if (length >= MOST_NAME)
        return OPTION_COUNT;
    for (size_t i = 0; i < length; i++)
        word[i] = name[i] == '_' ? '-' : name[i];
    word[length] = '\0';
    enum option option = option_find(word);
    return is_option(option) ? option : OPTION_COUNT;
}

/* "None", as papermill writes nothing, brings the built-in value back. */
static bool set_option(struct turn *turn, enum option option, const char *value)
{
    struct setting *setting = &turn->talk->settings.values[option];
    const struct option_row *row = option_row(option);
    struct text problem = {0};
    bool ok = true;
    if (row->kind == OPTION_IS_FLAG) {
        setting->given = true;
        return read_switch(turn, row->name, value, &setting->count);
    }
    if (!*value) {
        text_printf(&problem, "the parameter %s needs a value", row->name);
        ok = false;
    } else if (strcmp(value, "None") != 0)
        ok = settings_set(&turn->talk->settings, option, ORIGIN_LINE, 0, value, &problem);
    else if (row->fallback)
        ok = settings_set(&turn->talk->settings, option, ORIGIN_LINE, 0, row->fallback, &problem);
    else
        setting->given = false;
    const char *words = text_string(&problem);
    if (!ok) /* a notebook has no command line to write --name on */
        output_fail(turn->output, FAIL_USAGE, "%s", words + (strncmp(words, "--", 2) == 0 ? 2 : 0));
    text_fini(&problem);
    return ok;
}

static bool assign(struct turn *turn, const char *name, size_t name_length, const char *value,
                   size_t value_length)
{
    enum own own = own_find(name, name_length);
    enum option option = find(name, name_length);
    struct text copy = {0};
    text_append(&copy, value, value_length);
    bool ok = own != OWN_COUNT         ? own_set(turn, own, text_string(&copy))
              : option == OPTION_COUNT ? unknown(turn, name, name_length)
                                       : set_option(turn, option, text_string(&copy));
    text_fini(&copy);
    return ok;
}

/* The end of the first "name=value" of a line; a value in quotes may hold blanks. */
static size_t pair_end(const char *line, size_t length)
{
    size_t at = 0;
    char quote = '\0';
    for (; at < length; at++) {
        char c = line[at];
        if (quote ? c == quote : c == '"' || c == '\'')
            quote = quote ? '\0' : c;
        else if (!quote && (c == ' ' || c == '\t'))
            break;
    }
    return at;
}

/* "a=1 b=2", or "NAME VALUE" where VALUE is the rest of the line. */
static bool assign_line(struct turn *turn, const char *line, size_t length)
{
    const char *name, *value;
    size_t name_length, value_length;
    size_t first = pair_end(line, length);
    if (first == length || memchr(line, '=', first)) {
        while (length) {
            size_t end = pair_end(line, length);
            if (!script_assignment(line, end, &name, &name_length, &value, &value_length)) {
                output_fail(turn->output, FAIL_USAGE,
                            "“%.*s” is no NAME=VALUE; %%params alone lists the parameters",
                            (int)(end > 80 ? 80 : end), line);
                return false;
            }
            if (!assign(turn, name, name_length, value, value_length))
                return false;
            line += end;
            length -= end;
            size_t blank = 0;
            while (blank < length && (line[blank] == ' ' || line[blank] == '\t'))
                blank++;
            line += blank;
            length -= blank;
        }
        return true;
    }
    if (script_assignment(line, length, &name, &name_length, &value, &value_length))
        return assign(turn, name, name_length, value, value_length);
    while (first < length && line[first] == ' ')
        first++;
    return assign(turn, line, pair_end(line, length), line + first, length - first);
}

bool params_assign_lines(struct turn *turn, const char *lines, size_t length)
{
    while (length) {
        const char *end = memchr(lines, '\n', length);
        size_t line = end ? (size_t)(end - lines) : length, used = line;
        const char *name, *value;
        size_t name_length, value_length;
        while (used && (lines[used - 1] == ' ' || lines[used - 1] == '\r'))
            used--;
        if (used && lines[0] != '#') {
            bool whole = script_assignment(lines, used, &name, &name_length, &value, &value_length);
            if (whole ? !assign(turn, name, name_length, value, value_length)
                      : !assign_line(turn, lines, used))
                return false;
        }
        lines += line + (end != NULL);
        length -= line + (end != NULL);
    }
    return true;
}

/* ---- showing ---- */

struct listing {
    struct text plain, markdown;
    json_t *object;
};

static void list_one(void *user, const char *name, const char *value, const char *help)
{
    struct listing *listing = user;
    text_printf(&listing->plain, "%-18s %s\n", name, value ? value : "-");
    text_printf(&listing->markdown, "| `%s` | ", name);
    if (value)
        markdown_append(&listing->markdown, value, strlen(value));
    text_printf(&listing->markdown, " | %s |\n", help);
    char *end = NULL;
    double number = value ? strtod(value, &end) : 0;
    if (value && *value && !*end)
        json_put(listing->object, name,
                 strchr(value, '.') ? json_real(number) : json_integer((json_int_t)number));
    else
        json_put_string(listing->object, name, value);
}

bool magic_params(struct turn *turn, const struct call *call, json_t **ret)
{
    struct listing listing = {.object = json_object()};
    if (!assign_line(turn, call->argument, call->argument_length) ||
        (call->block && !params_assign_lines(turn, call->body, call->body_length))) {
        json_decref(listing.object);
        return false;
    }
    text_puts(&listing.markdown, "| parameter | value | |\n|---|---|---|\n");
    params_each(turn->talk, list_one, &listing);
    *ret = bundle_new(text_string(&listing.plain), listing.plain.length);
    bundle_add(*ret, "text/markdown", &listing.markdown);
    json_put(*ret, "application/json", listing.object);
    text_fini(&listing.plain);
    text_fini(&listing.markdown);
    return true;
}

struct lookup {
    char word[MOST_NAME];
    const char *help;
    struct text *value;
};

static void look(void *user, const char *name, const char *value, const char *help)
{
    struct lookup *lookup = user;
    if (strcmp(lookup->word, name) != 0)
        return;
    lookup->help = help;
    text_puts(lookup->value, value ? value : "-");
}

const char *const *params_choices(const char *name, size_t length)
{
    static const char *const switches[] = {"on", "off", NULL}, *const renders[] = {"text", "markdown", NULL};
    enum own own = own_find(name, length);
    enum option option = find(name, length);
    if (own != OWN_COUNT)
        return own == OWN_RENDER ? renders : switches;
    if (option == OPTION_COUNT)
        return NULL;
    return option_row(option)->kind == OPTION_IS_FLAG ? switches : option_row(option)->choices;
}

bool params_describe(const struct talk *talk, const char *name, size_t length, struct text *ret_value,
                     const char **ret_help)
{
    struct lookup lookup = {.value = ret_value};
    spell(name, length, lookup.word);
    params_each(talk, look, &lookup);
    *ret_help = lookup.help;
    return lookup.help != NULL;
}
