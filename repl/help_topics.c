/* Topics of help that are no verb: commands, keys, configuration, environment, exit codes.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "console/command.h"
#include "console/option.h"
#include "console/settings.h"
#include "repl/help.h"

struct row {
    const char *name, *words;
};

static const struct row keys[] = {
    {"Enter", "sends the message; after a backslash it begins a new line, and Alt-Enter does so always"},
    {"\"\"\"", "alone on a line begins a message of several lines, and ends it"},
    {"Tab", "completes commands, files, parameters, models and marks"},
    {"Up, Down", "walk through what was typed before, in earlier conversations, too"},
    {"Ctrl-R", "searches that; with the keys of vi, / and ? do so, too"},
    {"Ctrl-X Ctrl-E", "opens the message in $VISUAL or $EDITOR"},
    {"Ctrl-C",
     "stops an answer and keeps its text; at the prompt it clears the line, and twice at an empty one "
     "it leaves with 130"},
    {"Ctrl-Z", "suspends the program; fg comes back to the line as it was"},
    {"Ctrl-D", "leaves, at an empty prompt"},
    {"paste", "is one message, however long; of more than a line it is shown folded"},
};

static const struct row codes[] = {
    {"0", "all is well"},
    {"1", "some other failure; standard output or a file could not be written"},
    {"2", "the command line, the configuration or a variable is wrong"},
    {"3", "the input was not fully covered"},
    {"4", "there is not enough memory"},
    {"5", "the model file is missing, damaged or of an unknown kind"},
    {"6", "a document is missing or cannot be read as text"},
    {"7", "the documents do not answer the question"},
    {"129", "hung up: the terminal went away"},
    {"130", "interrupted by Ctrl-C"},
    {"143", "ended by SIGTERM"},
};

static const struct row variables[] = {
    {"LONGLEAF_NAME", "the value of the option NAME, in capitals and with _ for -, such as LONGLEAF_TOP_K"},
    {"LONGLEAF_MODELS", "the models folder"},
    {"LONGLEAF_PASSWORD", "opens a locked PDF when there is no --password-file"},
    {"LONGLEAF_PLUGINS", "the folder of the plug-ins"},
    {"VISUAL, EDITOR", "the editor of Ctrl-X Ctrl-E and /edit"},
    {"NO_COLOR", "when set, no colours are used"},
    {"TERM", "with dumb, nothing is drawn over"},
    {"XDG_CONFIG_HOME", "where longleaf/config is; ~/.config"},
    {"XDG_DATA_HOME", "where longleaf/models is; ~/.local/share"},
    {"XDG_STATE_HOME", "where the history, the run log and conversations cut off are; ~/.local/state"},
    {"XDG_CACHE_HOME", "where the model's answers about documents are kept; ~/.cache"},
    {"XDG_RUNTIME_DIR",
     "where running programs meet for `longleaf top`; else longleaf-UID in $TMPDIR or /tmp"},
    {"TMPDIR", "where a message for the editor is written; /tmp"},
};

static size_t width_of(size_t columns)
{
    return columns < 60 ? 60 : columns > 100 ? 100 : columns;
}

static void print_row(struct output *output, const char *name, const char *words, size_t columns)
{
    enum { INDENT = 20 };
    int length = (int)strlen(name) + 2;
    output_printf(output, "  %s", name);
    if (length >= INDENT)
        output_printf(output, "\n%*s", INDENT, "");
    else
        output_printf(output, "%*s", INDENT - length, "");
    help_wrap(output, words, INDENT, width_of(columns));
}

static void print_rows(struct output *output, const struct row *rows, size_t count, size_t columns)
{
    for (size_t i = 0; i < count; i++)
        print_row(output, rows[i].name, rows[i].words, columns);
}

static void topic_commands(struct output *output, size_t columns)
{
    for (int i = 0; i < COMMAND_COUNT; i++) {
        const struct command_row *row = command_row((enum command)i);
        struct text name = {0};
        if (!command_is_in((enum command)i, IN_REPL))
            continue;
        text_printf(&name, "/%s%s%s", row->name, row->argument ? " " : "",
                    row->argument ? row->argument : "");
        print_row(output, text_string(&name), row->help, columns);
        text_fini(&name);
    }
}

static void topic_keys(struct output *output, size_t columns)
{
    print_rows(output, keys, sizeof keys / sizeof *keys, columns);
    output_puts(
        output,
        "\nThey are those of emacs, or with --keys vi those of vi; ~/.editrc binds others (editrc(5)).\n");
}

static void topic_config(struct output *output, size_t columns)
{
    struct text path = {0};
    settings_config_path(&path);
    output_printf(output,
                  "The configuration file is %s, with lines of “name = value”; # begins a comment.\n"
                  "A flag's value is yes or no. `longleaf info --config` shows what holds and why.\n\n",
                  path.length ? text_string(&path) : "in no folder: HOME is not set");
    for (int i = 0; i < OPTION_COUNT; i++)
        if (!option_row((enum option)i)->line_only)
            print_row(output, option_row((enum option)i)->name, option_row((enum option)i)->help, columns);
    text_fini(&path);
}

static void topic_environment(struct output *output, size_t columns)
{
    print_rows(output, variables, sizeof variables / sizeof *variables, columns);
}

static void topic_exit(struct output *output, size_t columns)
{
    print_rows(output, codes, sizeof codes / sizeof *codes, columns);
}

static const struct {
    const char *name;
    void (*print)(struct output *output, size_t columns);
} topics[] = {{"options", help_options}, {"commands", topic_commands},       {"keys", topic_keys},
              {"config", topic_config},  {"environment", topic_environment}, {"exit", topic_exit}};

const char *help_topic_name(size_t index)
{
    return index < sizeof topics / sizeof *topics ? topics[index].name : NULL;
}

bool help_topic(struct output *output, const char *topic, size_t columns)
{
    for (size_t i = 0; i < sizeof topics / sizeof *topics; i++)
        if (strcmp(topics[i].name, topic) == 0) {
            topics[i].print(output, columns);
            return true;
        }
    return false;
}
