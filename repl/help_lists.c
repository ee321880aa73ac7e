/* Lists made from the tables for other readers: the man page's options and bash's completion.
 * SPDX-License-Identifier: Apache-2.0 */
#include "repl/help.h"

#include <ctype.h>
#include <string.h>

#include "console/option.h"

/* ---- mdoc ---- */

/* Text that stands at a line's start or inside one; a leading dot or quote would be a request. */
static void mdoc_text(struct output *output, const char *words)
{
    if (*words == '.' || *words == '\'')
        output_puts(output, "\\&");
    for (; *words; words++)
        if (*words == '\\')
            output_puts(output, "\\e");
        else if (*words == '-' && words[1] == '-')
            output_puts(output, "\\-");
        else
            output_write(output, words, 1);
}

static void mdoc_option(struct output *output, const struct option_row *row)
{
    output_puts(output, ".It ");
    if (row->letter)
        output_printf(output, "Fl %c , ", row->letter);
    output_printf(output, "Fl \\-%s", row->name);
    if (row->argument)
        output_printf(output, " Ar %s", row->argument);
    output_puts(output, "\n");
    char first = (char)toupper((unsigned char)row->help[0]);
    output_write(output, &first, 1);
    mdoc_text(output, row->help + 1);
    if (row->kind == OPTION_IS_CHOICE) {
        output_puts(output, ":\n");
        for (size_t i = 0; row->choices[i]; i++)
            output_printf(output, ".Cm %s%s\n", row->choices[i], row->choices[i + 1] ? " ," : " .");
    } else {
        output_puts(output, ".\n");
    }
    if (row->fallback)
        output_printf(output, "The default is\n.Cm %s .\n", row->fallback);
}

static void mdoc_verb(struct output *output, enum verb verb)
{
    output_printf(output, ".It Cm %s\n", verb_row(verb)->name);
    for (int i = 0; i < OPTION_COUNT; i++)
        if (option_applies((enum option)i, verb))
            output_printf(output, ".Fl \\-%s\n", option_row((enum option)i)->name);
}

void help_mdoc(struct output *output)
{
    output_puts(output, ".Bl -tag -width Ds\n");
    for (int i = 0; i < OPTION_COUNT; i++)
        mdoc_option(output, option_row((enum option)i));
    output_puts(output, ".El\n.Pp\nEach verb takes these:\n.Bl -tag -width models\n");
    for (int i = 0; i < VERB_COUNT; i++)
        mdoc_verb(output, (enum verb)i);
    output_puts(output, ".El\n");
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
        if (row->letter)
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
                        "        COMPREPLY=($(compgen -W \"$verbs options mdoc completion\" -- \"$word\"))\n"
                        "    elif [[ $before == models ]]; then\n"
                        "        COMPREPLY=($(compgen -W \"list fetch verify path\" -- \"$word\"))\n"
                        "    else\n"
                        "        COMPREPLY=($(compgen -f -- \"$word\"))\n"
                        "    fi\n"
                        "}\n"
                        "complete -o filenames -F _longleaf longleaf\n");
}
