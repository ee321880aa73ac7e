/* Opens what a verb needs of the library: engine, model, session, by the settings.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REPL_WORK_H
#define REPL_WORK_H

#include "repl/program.h"

enum work_depth { WORK_METADATA, WORK_MODEL, WORK_SESSION };

struct work {
    ll_engine *engine;
    ll_model *model;
    ll_session *session;
    ll_model_info info;
    struct text path;  /* of the model file */
    struct text label; /* its name without folder and .gguf, for people */
    double load_seconds;
    struct recorder *recorder; /* NULL: nothing is logged */
    struct beacon *beacon;     /* the program's, told of what is opened and closed */
};

/* LEAVE_OK, or the exit code after the failure has been said. name NULL: --model or the default. */
int work_open(struct work *work, struct program *program, const char *name, enum work_depth depth);
/* code: how the work ended, for the run log. */
void work_close(struct work *work, int code);
/* Opens a session of the settings on an open model, context tokens (0: the settings' or the model's). */
int work_open_session(struct work *work, struct program *program, size_t context);
size_t work_capacity(const struct work *work); /* tokens the session holds */

#endif
