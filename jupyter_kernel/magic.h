/* The magics: what %name and %%name in a cell do, by the vocabulary that the terminal has, too.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A magic gives a bundle to be shown, or none; whatever it streams goes out by itself. False: the turn's
 * output holds the failure. */
#ifndef JUPYTER_KERNEL_MAGIC_H
#define JUPYTER_KERNEL_MAGIC_H

#include "console/command.h"
#include "jupyter_kernel/question.h"
#include "jupyter_kernel/script.h"
#include "jupyter_kernel/talk.h"

struct call {
    enum command command;
    const char *name;     /* as the table spells it */
    const char *argument; /* NUL-terminated, without blanks at its ends */
    size_t argument_length;
    bool block; /* %%name: body is what follows */
    const char *body;
    size_t body_length;
    struct question *question; /* NULL: nobody can be asked */
    const struct message *request;
};

typedef bool (*magic_fn)(struct turn *turn, const struct call *call, json_t **ret);

enum magic_body { BODY_NONE, BODY_MAY, BODY_MUST }; /* is %%name known, and does %name not suffice */

struct magic_row {
    magic_fn run;
    enum magic_body body;
};

/* Of commands that a notebook has; run is NULL for others. */
const struct magic_row *magic_row(enum command command);
/* Runs a step that is a magic or parameters. *ret is the bundle or NULL; the caller's. */
bool magic_run(struct turn *turn, const struct step *step, struct question *question,
               const struct message *request, json_t **ret);

/* by file: magic_talk.c */
bool magic_reset(struct turn *turn, const struct call *call, json_t **ret);
bool magic_system(struct turn *turn, const struct call *call, json_t **ret);
bool magic_prompt(struct turn *turn, const struct call *call, json_t **ret);
bool magic_undo(struct turn *turn, const struct call *call, json_t **ret);
bool magic_retry(struct turn *turn, const struct call *call, json_t **ret);
bool magic_continue(struct turn *turn, const struct call *call, json_t **ret);
bool magic_mark(struct turn *turn, const struct call *call, json_t **ret);
bool magic_back(struct turn *turn, const struct call *call, json_t **ret);
bool magic_export(struct turn *turn, const struct call *call, json_t **ret);
bool magic_echo(struct turn *turn, const struct call *call, json_t **ret);
bool magic_file(struct turn *turn, const struct call *call, json_t **ret);
/* magic_session.c */
bool magic_save(struct turn *turn, const struct call *call, json_t **ret);
bool magic_open(struct turn *turn, const struct call *call, json_t **ret);
/* magic_model.c */
bool magic_model(struct turn *turn, const struct call *call, json_t **ret);
bool magic_context(struct turn *turn, const struct call *call, json_t **ret);
bool magic_kv(struct turn *turn, const struct call *call, json_t **ret);
bool magic_memory(struct turn *turn, const struct call *call, json_t **ret);
/* magic_log.c */
bool magic_log(struct turn *turn, const struct call *call, json_t **ret);
/* magic_params.c */
bool magic_params(struct turn *turn, const struct call *call, json_t **ret);
bool params_assign_lines(struct turn *turn, const char *lines, size_t length);
/* The value of a parameter of that name as text, and what it is for. False: there is no such parameter. */
bool params_describe(const struct talk *talk, const char *name, size_t length, struct text *ret_value,
                     const char **ret_help);
/* The values that a parameter may have, ended by NULL; NULL: it is free, or there is none of that name. */
const char *const *params_choices(const char *name, size_t length);
typedef void (*params_fn)(void *user, const char *name, const char *value, const char *help);
void params_each(const struct talk *talk, params_fn each, void *user);
/* magic_document.c */
bool magic_load(struct turn *turn, const struct call *call, json_t **ret);
bool magic_docs(struct turn *turn, const struct call *call, json_t **ret);
bool magic_sum(struct turn *turn, const struct call *call, json_t **ret);
bool magic_ask(struct turn *turn, const struct call *call, json_t **ret);
bool magic_plan(struct turn *turn, const struct call *call, json_t **ret);
bool magic_cite(struct turn *turn, const struct call *call, json_t **ret);
/* magic.c */
bool magic_help(struct turn *turn, const struct call *call, json_t **ret);
void magic_help_text(enum command command, struct text *plain, struct text *markdown);

#endif
