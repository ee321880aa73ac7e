/* Scripts that complete verbs, options and their values: for bash, zsh and fish.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "console/option.h"
#include "repl/help.h"

#define HELP_TOPICS "options commands keys config environment exit roff completion"

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

static void complete_bash(struct output *output)
{
    output_puts(output, "# Completes longleaf's verbs, options and file names in bash; `longleaf help "
                        "completion bash` prints it.\n"
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
                        "        COMPREPLY=($(compgen -W \"$verbs " HELP_TOPICS "\" -- \"$word\"))\n"
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

/* ---- zsh ---- */

/* In single quotes, inside of brackets and between colons. */
static void zsh_words(struct output *output, const char *words)
{
    for (; *words; words++)
        if (*words == '\'')
            output_puts(output, "'\\''");
        else if (strchr("[]:\\", *words))
            output_printf(output, "\\%c", *words);
        else
            output_write(output, words, 1);
}

static void zsh_option(struct output *output, enum option option, enum verb verb)
{
    const struct option_row *row = option_row(option);
    bool lettered = row->letter && option_find_letter(row->letter, verb) == option;
    const char *times = row->kind == OPTION_IS_LIST ? "*" : "";
    output_puts(output, "            '");
    if (lettered && !*times)
        output_printf(output, "(-%c --%s)'{-%c%s,--%s%s}'", row->letter, row->name, row->letter,
                      row->argument ? "+" : "", row->name, row->argument ? "=" : "");
    else if (lettered)
        output_printf(output, "*'{-%c+,--%s=}'", row->letter, row->name);
    else
        output_printf(output, "%s--%s%s", times, row->name, row->argument ? "=" : "");
    output_puts(output, "[");
    zsh_words(output, row->help);
    output_puts(output, "]");
    if (row->argument) {
        output_puts(output, ":");
        zsh_words(output, row->argument);
        output_puts(output, row->kind == OPTION_IS_PATH ? ":_files" : ":");
    }
    if (row->choices) {
        output_puts(output, "(");
        for (size_t i = 0; row->choices[i]; i++)
            output_printf(output, "%s%s", i ? " " : "", row->choices[i]);
        output_puts(output, ")");
    }
    output_puts(output, "'\n");
}

/* What stands after a verb when it is no option: words of its own, or files. */
static const char *operands_of(enum verb verb)
{
    return verb == VERB_HELP     ? HELP_TOPICS
           : verb == VERB_MODELS ? "list fetch verify path"
           : verb == VERB_CACHE  ? "show prune clear"
                                 : NULL;
}

static void complete_zsh(struct output *output)
{
    output_puts(output, "#compdef longleaf\n"
                        "# Completes longleaf's verbs, options and file names in zsh; `longleaf help "
                        "completion zsh` prints it.\n"
                        "# SPDX-License-Identifier: Apache-2.0\n"
                        "_longleaf()\n{\n"
                        "    local verb=chat one\n"
                        "    local -a verbs options\n"
                        "    verbs=(\n");
    for (int i = 0; i < VERB_COUNT; i++) {
        output_printf(output, "        '%s:", verb_row((enum verb)i)->name);
        zsh_words(output, verb_row((enum verb)i)->help);
        output_puts(output, "'\n");
    }
    output_puts(output, "    )\n"
                        "    for one in ${words[2,CURRENT-1]}; do\n"
                        "        [[ -n ${(M)verbs:#${(q)one}:*} ]] && verb=$one && break\n"
                        "    done\n"
                        "    case $verb in\n");
    for (int i = 0; i < VERB_COUNT; i++) {
        const char *operands = operands_of((enum verb)i);
        output_printf(output, "    %s)\n        options=(\n", verb_row((enum verb)i)->name);
        for (int o = 0; o < OPTION_COUNT; o++)
            if (option_applies((enum option)o, (enum verb)i))
                zsh_option(output, (enum option)o, (enum verb)i);
        if (operands)
            output_printf(output, "            '*: :(%s)'\n", operands);
        else
            output_puts(output, "            '*:file:_files'\n");
        output_puts(output, "        ) ;;\n");
    }
    output_puts(output, "    esac\n"
                        "    if ((CURRENT == 2)) && [[ $words[2] != -* ]]; then\n"
                        "        _describe -t verbs verb verbs\n"
                        "        return\n"
                        "    fi\n"
                        "    _arguments -s -S : $options\n"
                        "}\n"
                        "if [[ ${funcstack[1]} == _longleaf ]]; then\n"
                        "    _longleaf \"$@\"\n"
                        "else\n" /* sourced, not found in a folder of completions */
                        "    compdef _longleaf longleaf\n"
                        "fi\n");
}

/* ---- fish ---- */

static void fish_words(struct output *output, const char *words)
{
    for (; *words; words++)
        if (*words == '\'' || *words == '\\')
            output_printf(output, "\\%c", *words);
        else
            output_write(output, words, 1);
}

static void fish_option(struct output *output, enum option option, enum verb verb)
{
    const struct option_row *row = option_row(option);
    output_printf(output, "complete -c longleaf -n '__longleaf_verb %s' -l %s", verb_row(verb)->name,
                  row->name);
    if (row->letter && option_find_letter(row->letter, verb) == option)
        output_printf(output, " -s %c", row->letter);
    if (row->argument)
        output_puts(output, row->kind == OPTION_IS_PATH ? " -r -F" : " -x");
    if (row->choices) {
        output_puts(output, " -a '");
        for (size_t i = 0; row->choices[i]; i++)
            output_printf(output, "%s%s", i ? " " : "", row->choices[i]);
        output_puts(output, "'");
    }
    output_puts(output, " -d '");
    fish_words(output, row->help);
    output_puts(output, "'\n");
}

static void complete_fish(struct output *output)
{
    output_puts(output, "# Completes longleaf's verbs, options and file names in fish; `longleaf help "
                        "completion fish` prints it.\n"
                        "# SPDX-License-Identifier: Apache-2.0\n"
                        "function __longleaf_verb\n"
                        "    set -l verbs");
    for (int i = 0; i < VERB_COUNT; i++)
        output_printf(output, " %s", verb_row((enum verb)i)->name);
    output_puts(output, "\n"
                        "    for word in (commandline -opc)[2..-1]\n"
                        "        if contains -- $word $verbs\n"
                        "            test $word = $argv[1]\n"
                        "            return\n"
                        "        end\n"
                        "    end\n"
                        "    test chat = $argv[1]\n"
                        "end\n"
                        "function __longleaf_first\n"
                        "    test (count (commandline -opc)) -eq 1\n"
                        "end\n");
    for (int i = 0; i < VERB_COUNT; i++) {
        output_printf(output, "complete -c longleaf -n __longleaf_first -a %s -d '",
                      verb_row((enum verb)i)->name);
        fish_words(output, verb_row((enum verb)i)->help);
        output_puts(output, "'\n");
    }
    for (int i = 0; i < VERB_COUNT; i++) {
        if (operands_of((enum verb)i))
            output_printf(output, "complete -c longleaf -n '__longleaf_verb %s' -x -a '%s'\n",
                          verb_row((enum verb)i)->name, operands_of((enum verb)i));
        for (int o = 0; o < OPTION_COUNT; o++)
            if (option_applies((enum option)o, (enum verb)i))
                fish_option(output, (enum option)o, (enum verb)i);
    }
}

bool help_completion(struct output *output, const char *shell)
{
    if (strcmp(shell, "bash") == 0)
        complete_bash(output);
    else if (strcmp(shell, "zsh") == 0)
        complete_zsh(output);
    else if (strcmp(shell, "fish") == 0)
        complete_fish(output);
    else
        return false;
    return true;
}
