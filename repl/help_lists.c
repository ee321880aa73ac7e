/* Lists made from the tables for man pages: of all verbs, of one, of the configuration file.
 * SPDX-License-Identifier: Apache-2.0 */
#include "repl/help.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "console/command.h"
#include "console/option.h"

/* ---- the man page ---- */

/* A leading dot or quote would be a request, a bare dash a hyphen. */
static void roff_text(struct output *output, const char *words)
{
    if (*words == '.' || *words == '\'')
        output_puts(output, "\\&");
    for (; *words; words++)
        if (*words == '\\')
            output_puts(output, "\\e");
        else if (*words == '-')
            output_puts(output, "\\-");
        else
            output_write(output, words, 1);
}

static void roff_name(struct output *output, const char *dashes, const char *name)
{
    output_puts(output, "\\fB");
    roff_text(output, dashes);
    roff_text(output, name);
    output_puts(output, "\\fR");
}

/* A sentence of words, its first letter a capital, in lines of less than 80 bytes. */
static void roff_sentence(struct output *output, const char *words, const char *end)
{
    size_t column = 0;
    bool first = true;
    while (*words) {
        char word[64];
        size_t length = strcspn(words, " ");
        snprintf(word, sizeof word, "%.*s", (int)length, words);
        if (first)
            word[0] = (char)toupper((unsigned char)word[0]);
        if (!first)
            output_puts(output, column + length > 70 ? "\n" : " ");
        column = first || column + length > 70 ? length : column + 1 + length;
        roff_text(output, word);
        words += length + (words[length] == ' ');
        first = false;
    }
    output_puts(output, end);
}

/* verb VERB_COUNT: among the options of all. One letter may be two options, each of its own verbs. */
static void roff_option(struct output *output, enum option option, enum verb verb)
{
    const struct option_row *row = option_row(option);
    bool lettered = row->letter && option_find_letter(row->letter, verb) == option;
    output_puts(output, ".TP\n");
    if (lettered) {
        roff_name(output, "-", (char[]){row->letter, '\0'});
        output_puts(output, ", ");
    }
    roff_name(output, "--", row->name);
    if (row->argument)
        output_printf(output, " \\fI%s\\fR", row->argument);
    output_puts(output, "\n");
    roff_sentence(output, row->help, row->kind == OPTION_IS_CHOICE ? ":\n" : ".\n");
    for (size_t i = 0; row->kind == OPTION_IS_CHOICE && row->choices[i]; i++) {
        roff_name(output, "", row->choices[i]);
        output_puts(output, row->choices[i + 1] ? ",\n" : ".\n");
    }
    if (row->fallback)
        output_printf(output, "The default is \\fB%s\\fR.\n", row->fallback);
    for (int i = 0; verb == VERB_COUNT && row->letter && !lettered && i < VERB_COUNT; i++)
        if (option_find_letter(row->letter, (enum verb)i) == option)
            output_printf(output, "In \\fB%s\\fR its letter is \\fB\\-%c\\fR.\n",
                          verb_row((enum verb)i)->name, row->letter);
}

static void roff_verb(struct output *output, enum verb verb)
{
    const struct verb_row *row = verb_row(verb);
    output_printf(output, ".TP\n\\fB%s\\fR%s%s\n", row->name, *row->arguments ? " " : "", row->arguments);
    roff_sentence(output, row->help, ".\nOptions:\n");
    const char *before = "";
    for (int i = 0; i < OPTION_COUNT; i++)
        if (option_applies((enum option)i, verb)) {
            output_puts(output, before);
            roff_name(output, "--", option_row((enum option)i)->name);
            before = ",\n";
        }
    output_puts(output, ".\n");
}

static void roff_command(struct output *output, enum command command)
{
    const struct command_row *row = command_row(command);
    if (!command_is_in(command, IN_REPL))
        return;
    output_printf(output, ".TP\n\\fB/%s\\fR%s%s\n", row->name, row->argument ? " " : "",
                  row->argument ? row->argument : "");
    roff_sentence(output, row->help, ".\n");
}

void help_roff(struct output *output)
{
    output_puts(output, ".SH VERBS\n");
    for (int i = 0; i < VERB_COUNT; i++)
        roff_verb(output, (enum verb)i);
    output_puts(output, ".SH OPTIONS\n");
    for (int i = 0; i < OPTION_COUNT; i++)
        roff_option(output, (enum option)i, VERB_COUNT);
    output_puts(output, ".SH COMMANDS OF A CONVERSATION\n");
    for (int i = 0; i < COMMAND_COUNT; i++)
        roff_command(output, (enum command)i);
}

/* ---- pages of their own ---- */

/* What the tables know of a verb's page; update-docs.sh adds what longleaf.1 says in sentences. */
void help_roff_verb(struct output *output, enum verb verb)
{
    const struct verb_row *row = verb_row(verb);
    output_printf(output, ".SH NAME\nlongleaf\\-%s \\- ", row->name);
    roff_text(output, row->help);
    output_printf(output, "\n.SH SYNOPSIS\n\\fBlongleaf %s\\fR [\\fIOPTION...\\fR]%s%s\n.SH DESCRIPTION\n",
                  row->name, *row->arguments ? " " : "", row->arguments);
    output_puts(output, ".SH OPTIONS\n");
    for (int i = 0; i < OPTION_COUNT; i++)
        if (option_applies((enum option)i, verb))
            roff_option(output, (enum option)i, verb);
}

/* Names as they stand in the file, of all that may stand there. */
void help_roff_config(struct output *output)
{
    output_puts(output, ".SH SETTINGS\n");
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option_row *row = option_row((enum option)i);
        if (row->line_only)
            continue;
        output_puts(output, ".TP\n");
        roff_name(output, "", row->name);
        output_printf(output, " = \\fI%s\\fR\n", row->argument ? row->argument : "yes|no");
        roff_sentence(output, row->help, row->kind == OPTION_IS_CHOICE ? ":\n" : ".\n");
        for (size_t c = 0; row->kind == OPTION_IS_CHOICE && row->choices[c]; c++) {
            roff_name(output, "", row->choices[c]);
            output_puts(output, row->choices[c + 1] ? ",\n" : ".\n");
        }
        if (row->fallback)
            output_printf(output, "The default is \\fB%s\\fR.\n", row->fallback);
    }
}
