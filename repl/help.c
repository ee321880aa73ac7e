/* Help made from the tables: usage, options of a verb, options of all.
 * SPDX-License-Identifier: Apache-2.0 */
#include "repl/help.h"

#include <stdio.h>
#include <string.h>

#include "console/option.h"

void help_overview(struct output *output)
{
    output_puts(output, "longleaf reads documents longer than a model's window, on this machine.\n\n"
                        "usage: longleaf [VERB] [OPTION...] [FILE...]\n\n");
    for (int i = 0; i < VERB_COUNT; i++)
        output_printf(output, "  %-8s %s%s\n", verb_row((enum verb)i)->name, verb_row((enum verb)i)->help,
                      i == VERB_CHAT ? " (without a verb, too)" : "");
    output_puts(output, "\n`longleaf VERB --help` or `longleaf help VERB` lists a verb's options, and `man "
                        "longleaf-VERB` tells\nmore of it. `longleaf help TOPIC`, where TOPIC is one of");
    for (size_t i = 0; help_topic_name(i); i++)
        output_printf(output, "%s %s", i ? "," : "", help_topic_name(i));
    output_puts(output, ".\n`man longleaf` is the manual.\n");
}

void help_wrap(struct output *output, const char *words, size_t indent, size_t columns)
{
    size_t at = indent;
    while (*words) {
        size_t length = strcspn(words, " ");
        if (at > indent && at + 1 + length >= columns) {
            output_printf(output, "\n%*s", (int)indent, "");
            at = indent;
        } else if (at > indent) {
            output_puts(output, " ");
            at++;
        }
        output_write(output, words, length);
        at += length;
        words += length + (words[length] == ' ');
    }
    output_puts(output, "\n");
}

static void describe(struct text *out, const struct option_row *row)
{
    text_puts(out, row->help);
    if (row->kind == OPTION_IS_CHOICE) {
        text_puts(out, ":");
        for (size_t i = 0; row->choices[i]; i++)
            text_printf(out, "%s %s", i ? "," : "", row->choices[i]);
    }
    if (row->fallback)
        text_printf(out, " (default: %s)", row->fallback);
}

static void print_option(struct output *output, const struct option_row *row, char letter, size_t columns)
{
    char head[64];
    struct text words = {0};
    int length =
        snprintf(head, sizeof head, "  %c%c%c --%s%s%s", letter ? '-' : ' ', letter ? letter : ' ',
                 letter ? ',' : ' ', row->name, row->argument ? " " : "", row->argument ? row->argument : "");
    size_t indent = 30;
    output_puts(output, head);
    if (length >= (int)indent)
        output_printf(output, "\n%*s", (int)indent, "");
    else
        output_printf(output, "%*s", (int)indent - length, "");
    describe(&words, row);
    help_wrap(output, text_string(&words), indent, columns < 60 ? 60 : columns > 100 ? 100 : columns);
    text_fini(&words);
}

void help_verb(struct output *output, enum verb verb, size_t columns)
{
    const struct verb_row *row = verb_row(verb);
    output_printf(output, "usage: longleaf %s [OPTION...]%s%s\n\n%s\n\n", row->name,
                  *row->arguments ? " " : "", row->arguments, row->help);
    for (int i = 0; i < OPTION_COUNT; i++)
        if (option_applies((enum option)i, verb)) {
            const struct option_row *option = option_row((enum option)i);
            bool own = option_find_letter(option->letter, verb) == (enum option)i;
            print_option(output, option, own ? option->letter : '\0', columns);
        }
}

void help_options(struct output *output, size_t columns)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option_row *row = option_row((enum option)i);
        bool own = row->letter && option_find_letter(row->letter, VERB_COUNT) == (enum option)i;
        print_option(output, row, own ? row->letter : '\0', columns);
    }
}
