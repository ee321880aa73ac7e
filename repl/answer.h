/* One answer as it comes: streamed text, tokens, log-probabilities, how it ended, timings.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REPL_ANSWER_H
#define REPL_ANSWER_H

#include "repl/json.h"
#include "repl/work.h"

enum { WHY_CHOICES = 5, WHY_TOKENS = 64 };

struct why_choice {
    char text[24]; /* shortened, made visible */
    float logprob;
};

/* One token, and what might have stood in its place. */
struct why_token {
    struct why_choice taken, best[WHY_CHOICES];
    size_t count;
};

struct why { /* the last tokens of the last answer, a ring */
    struct why_token tokens[WHY_TOKENS];
    size_t count; /* of all tokens; the newest is at (count - 1) % WHY_TOKENS */
};

struct answer {
    struct program *program;
    const ll_model *model;
    bool shows; /* text goes to the output as it comes */
    bool wants_logprobs;
    struct text text;
    json_t *tokens, *logprobs; /* arrays; NULL unless keeps_tokens was asked for */
    size_t prompt_count, reused, generated;
    double prefill_seconds, decode_seconds, first_token_seconds; /* the last from the call's start */
    double began;
    ll_finish finish;
    struct circle *circle; /* owned; ends an answer that goes in a circle. NULL: none is ended */
    bool circled;          /* it was */
    struct why *why;       /* borrowed; NULL: alternatives are not kept */
    uint64_t seed_shift;   /* added to the seed, so that another try differs */
};

/* Ends the answer when it goes in a circle; without memory it goes on. */
void answer_guard(struct answer *answer);
/* record: keep tokens and, when --logprobs was given, their log-probabilities. */
void answer_init(struct answer *answer, struct program *program, const struct work *work, bool shows,
                 bool record);
void answer_fini(struct answer *answer);
/* Makes the session equal the prompt and generates. LEAVE_OK, also when interrupted (see finish),
 * or the exit code of a failure, said. A prompt that does not fit is refused with both numbers. */
int answer_make(struct answer *answer, struct work *work, const ll_token *prompt, size_t count, size_t limit);
const char *
answer_finish_name(ll_finish finish); /* "end", "length", "stop", "caller", "cancelled", "context" */
/* {text, tokens, finish, timings, logprobs}; a new reference. */
json_t *answer_json(const struct answer *answer, double load_seconds);

#endif
