/* Lists made from the tables for other readers: the man page's options and bash's completion.
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

static void roff_option(struct output *output, const struct option_row *row)
{
    output_puts(output, ".TP\n");
    if (row->letter) {
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
        roff_option(output, option_row((enum option)i));
    output_puts(output, ".SH COMMANDS OF A CONVERSATION\n");
    for (int i = 0; i < COMMAND_COUNT; i++)
        roff_command(output, (enum command)i);
}

/* ---- bash ---- */

static void bash_verb(struct output *output, enum verb verb)
{
    output_printf(output, "    %s) options=\"", verb_row(verb)->name);
    const char *before = "";
    for (int i = 0; i < OPTION_COUNT; i++) {
        if (!option_applies((enum option)i, verb))
            continue;
        output_printf(output, "%s--%s", before, option_row((enum option)i)->name);
        before = " ";
    }
    output_puts(output, "\" ;;\n");
}

static void bash_values(struct output *output)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option_row *row = option_row((enum option)i);
        if (row->kind == OPTION_IS_FLAG)
            continue;
        output_printf(output, "    --%s", row->name);
        if (row->letter && option_find_letter(row->letter, VERB_COUNT) == (enum option)i)
            output_printf(output, " | -%c", row->letter);
        if (row->choices) {
            output_puts(output, ") COMPREPLY=($(compgen -W \"");
            for (size_t c = 0; row->choices[c]; c++)
                output_printf(output, "%s%s", c ? " " : "", row->choices[c]);
            output_puts(output, "\" -- \"$word\")); return ;;\n");
        } else if (row->kind == OPTION_IS_PATH) {
            output_puts(output, ") COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n");
        } else {
            output_puts(output, ") return ;;\n");
        }
    }
}

void help_completion(struct output *output)
{
    output_puts(output, "# Completes longleaf's verbs, options and file names in bash; `longleaf help "
                        "completion` prints it.\n"
                        "# SPDX-License-Identifier: Apache-2.0\n"
                        "_longleaf()\n{\n"
                        "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} "
                        "verb=chat options= one\n"
                        "    COMPREPLY=()\n"
                        "    case $before in\n");
    bash_values(output);
    output_puts(output, "    esac\n    local verbs=\"");
    for (int i = 0; i < VERB_COUNT; i++)
        output_printf(output, "%s%s", i ? " " : "", verb_row((enum verb)i)->name);
    output_puts(output, "\"\n"
                        "    for one in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
                        "        [[ \" $verbs \" == *\" $one \"* ]] && verb=$one && break\n"
                        "    done\n"
                        "    case $verb in\n");
    for (int i = 0; i < VERB_COUNT; i++)
        bash_verb(output, (enum verb)i);
    output_puts(output, "    esac\n"
                        "    if [[ $word == -* ]]; then\n"
                        "        COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
                        "    elif ((COMP_CWORD == 1)); then\n"
                        "        COMPREPLY=($(compgen -W \"$verbs\" -- \"$word\"))\n"
                        "    elif [[ $before == help ]]; then\n"
                        "        COMPREPLY=($(compgen -W \"$verbs options roff completion\" -- \"$word\"))\n"
                        "    elif [[ $before == models ]]; then\n"
                        "        COMPREPLY=($(compgen -W \"list fetch verify path\" -- \"$word\"))\n"
                        "    elif [[ $before == cache ]]; then\n"
                        "        COMPREPLY=($(compgen -W \"show prune clear\" -- \"$word\"))\n"
                        "    else\n"
                        "        COMPREPLY=($(compgen -f -- \"$word\"))\n"
                        "    fi\n"
                        "}\n"
                        "complete -o filenames -F _longleaf longleaf\n");
}
