/* A cell's text as steps: magics first, then a prompt; or one magic that takes the whole rest.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lines that begin with % are magics as long as they stand at the top. "%%name" at the very top takes all
 * that follows as its body. A prompt that begins with % or \ is written with a backslash before it. */
#ifndef JUPYTER_KERNEL_SCRIPT_H
#define JUPYTER_KERNEL_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>

enum step_kind {
    STEP_LINE,       /* %name argument */
    STEP_BLOCK,      /* %%name argument, body */
    STEP_PARAMETERS, /* lines of name = value under "# Parameters", as papermill writes them: the body */
    STEP_PROMPT      /* the body */
};

struct step {
    enum step_kind kind;
    const char *line; /* of a magic: from its last % on */
    size_t line_length;
    const char *body;
    size_t body_length;
};

struct script {
    const char *code;
    size_t length, at;
    bool begun;
};

void script_begin(struct script *script, const char *code, size_t length);
/* The next step; false: there is none. Parts of a step lie in the code. */
bool script_next(struct script *script, struct step *ret);
/* "x = 3" in a line, Python's way or ours: name and value without quotes. False: it is no assignment. */
bool script_assignment(const char *line, size_t length, const char **ret_name, size_t *ret_name_length,
                       const char **ret_value, size_t *ret_value_length);

#endif
