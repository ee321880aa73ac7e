/* The value of every option and where it comes from: built in, config file, environment, line.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Later origins win; within one origin the last value wins, except for lists, which grow. */
#ifndef CONSOLE_SETTINGS_H
#define CONSOLE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "console/option.h"
#include "console/text.h"

enum origin { ORIGIN_BUILT_IN, ORIGIN_FILE, ORIGIN_ENVIRONMENT, ORIGIN_LINE };

struct setting {
    enum origin origin;
    size_t line;    /* of the config file */
    bool given;     /* has a value, be it the built-in one */
    char *text;     /* as written; owned */
    uint64_t count; /* counts; flags: 0 or 1; choices: index */
    double number;
    char **items; /* lists; owned */
    size_t item_count;
};

struct settings {
    struct setting values[OPTION_COUNT];
};

bool settings_init(struct settings *settings); /* false: no memory */
void settings_fini(struct settings *settings);
/* Sets one value after checking it. On failure problem holds a sentence without its place. */
bool settings_set(struct settings *settings, enum option option, enum origin origin, size_t line,
                  const char *value, struct text *problem);
/* $XDG_CONFIG_HOME/longleaf/config, or ~/.config/longleaf/config. */
void settings_config_path(struct text *path);
/* Reads "key = value" lines; # starts a comment line. No such file is no failure. */
bool settings_read_config(struct settings *settings, const char *path, struct text *problem);
/* LONGLEAF_<NAME>, in capitals, - as _. */
bool settings_read_environment(struct settings *settings, struct text *problem);
/* Names that begin with LONGLEAF_ and mean nothing, separated by commas; nothing when there are none. */
void settings_unknown_variables(struct text *names);
void settings_variable(enum option option, struct text *name); /* "LONGLEAF_TOP_K" */

bool settings_given(const struct settings *settings, enum option option);
bool settings_flag(const struct settings *settings, enum option option);
const char *settings_text(const struct settings *settings, enum option option); /* NULL: none */
uint64_t settings_count(const struct settings *settings, enum option option, uint64_t fallback);
double settings_number(const struct settings *settings, enum option option);

#endif
