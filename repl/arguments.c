/* The command line: which verb, its options into the settings, its operands.
 * SPDX-License-Identifier: Apache-2.0 */
#include "repl/arguments.h"

#include <stdlib.h>
#include <string.h>

#include "console/escape.h"
#include "console/suggest.h"

/* Walks argv; each step yields one option or one operand. */
struct walk {
    char **argv;
    int argc, at;        /* the next word */
    const char *cluster; /* the rest of "-vq" after its first letter, or NULL */
    enum verb verb;      /* VERB_COUNT: not known yet */
    bool only_operands;  /* after "--" */
    enum option option;  /* OPTION_COUNT: an operand */
    const char *value;   /* the option's value, or the operand */
    bool dashes;         /* the option was written by its long name */
};

static void unknown_option(const char *name, struct text *problem)
{
    struct suggestion near;
    suggest_begin(&near, name);
    for (int i = 0; i < OPTION_COUNT; i++)
        suggest_offer(&near, option_row((enum option)i)->name);
    text_puts(problem, "there is no option --");
    escape_append_line(problem, name);
    if (near.best)
        text_printf(problem, "; did you mean --%s?", near.best);
}

static bool take_value(struct walk *walk, const char *attached, struct text *problem)
{
    const struct option_row *row = option_row(walk->option);
    if (row->kind == OPTION_IS_FLAG) {
        if (attached && walk->dashes) {
            text_printf(problem, "--%s takes no value", row->name);
            return false;
        }
        walk->value = "yes";
        return true;
    }
    if (attached)
        walk->value = attached;
    else if (walk->at < walk->argc)
        walk->value = walk->argv[walk->at++];
    else {
        text_printf(problem, "--%s needs a value: %s", row->name, row->argument);
        return false;
    }
    return true;
}

static bool step_long(struct walk *walk, const char *word, struct text *problem)
{
    char name[64];
    const char *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : strlen(word);
    if (length >= sizeof name) {
        text_puts(problem, "there is no option of that length");
        return false;
    }
    memcpy(name, word, length);
    name[length] = '\0';
    walk->option = option_find(name);
    walk->dashes = true;
    if (walk->option == OPTION_COUNT) {
        unknown_option(name, problem);
        return false;
    }
    return take_value(walk, equals ? equals + 1 : NULL, problem);
}

static bool step_letter(struct walk *walk, const char *letters, struct text *problem)
{
    walk->option = option_find_letter(letters[0], walk->verb);
    walk->dashes = false;
    if (walk->option == OPTION_COUNT) {
        text_puts(problem, "there is no option “-");
        escape_append_line(problem, letters);
        text_puts(problem, "”");
        return false;
    }
    bool flag = option_row(walk->option)->kind == OPTION_IS_FLAG;
    walk->cluster = flag && letters[1] ? letters + 1 : NULL;
    return take_value(walk, !flag && letters[1] ? letters + 1 : NULL, problem);
}

/* 1: something came, 0: the end, -1: a problem. */
static int walk_step(struct walk *walk, struct text *problem)
{
    if (walk->cluster)
        return step_letter(walk, walk->cluster, problem) ? 1 : -1;
    if (walk->at >= walk->argc)
        return 0;
    const char *word = walk->argv[walk->at++];
    if (!walk->only_operands && strcmp(word, "--") == 0) {
        walk->only_operands = true;
        return walk_step(walk, problem);
    }
    if (!walk->only_operands && word[0] == '-' && word[1] == '-')
        return step_long(walk, word + 2, problem) ? 1 : -1;
    if (!walk->only_operands && word[0] == '-' && word[1])
        return step_letter(walk, word + 1, problem) ? 1 : -1;
    walk->option = OPTION_COUNT;
    walk->value = word;
    return 1;
}

bool arguments_find_verb(struct arguments *arguments, int argc, char **argv, struct text *problem)
{
    struct walk walk = {.argv = argv, .argc = argc, .at = 1, .verb = VERB_COUNT};
    *arguments = (struct arguments){.verb = VERB_CHAT};
    int step;
    while ((step = walk_step(&walk, problem)) > 0) {
        arguments->help |= walk.option == OPTION_HELP;
        arguments->version |= walk.option == OPTION_VERSION;
        if (walk.option != OPTION_COUNT || walk.only_operands || arguments->verb_at)
            continue;
        arguments->verb = verb_find(walk.value);
        arguments->verb_at = walk.at - 1;
        walk.verb = arguments->verb;
    }
    return step == 0;
}

static bool wrong_verb(const struct walk *walk, enum verb verb, struct text *problem)
{
    const struct option_row *row = option_row(walk->option);
    const char *before = " of ";
    text_printf(problem, "--%s is not an option of %s, but", row->name, verb_row(verb)->name);
    for (int i = 0; i < VERB_COUNT; i++)
        if (option_applies(walk->option, (enum verb)i)) {
            text_printf(problem, "%s%s", before, verb_row((enum verb)i)->name);
            before = ", ";
        }
    return false;
}

bool arguments_read(struct arguments *arguments, int argc, char **argv, struct settings *settings,
                    struct text *problem)
{
    struct walk walk = {.argv = argv, .argc = argc, .at = 1, .verb = arguments->verb};
    arguments->operands = calloc((size_t)argc + 1, sizeof *arguments->operands);
    int step = arguments->operands ? 1 : -1;
    while (step > 0 && (step = walk_step(&walk, problem)) > 0) {
        if (walk.option == OPTION_COUNT) {
            if (walk.at - 1 != arguments->verb_at)
                arguments->operands[arguments->operand_count++] = argv[walk.at - 1];
        } else if (!option_applies(walk.option, arguments->verb)) {
            return wrong_verb(&walk, arguments->verb, problem);
        } else if (!settings_set(settings, walk.option, ORIGIN_LINE, 0, walk.value, problem)) {
            return false;
        }
    }
    if (!arguments->operands)
        text_puts(problem, "out of memory");
    return step == 0;
}

void arguments_fini(struct arguments *arguments)
{
    free(arguments->operands);
    arguments->operands = NULL;
}
