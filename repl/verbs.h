/* The table of verbs: which function does each.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REPL_VERBS_H
#define REPL_VERBS_H

#include "repl/program.h"

typedef int (*verb_fn)(struct program *program); /* gives the exit code; failures are said already */

verb_fn verbs_function(enum verb verb);

int verb_chat(struct program *program);
int verb_sum(struct program *program);
int verb_ask(struct program *program);
int verb_run(struct program *program);
int verb_text(struct program *program);
int verb_tokens(struct program *program);
int verb_info(struct program *program);
int verb_plan(struct program *program);
int verb_ppl(struct program *program);
int verb_bench(struct program *program);
int verb_models(struct program *program);
int verb_cache(struct program *program);
int verb_log(struct program *program);
int verb_top(struct program *program);
int verb_quantize(struct program *program);
int verb_convert(struct program *program);
int verb_check(struct program *program);
int verb_help(struct program *program);

#endif
