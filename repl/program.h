/* What every verb is given: settings, operands, the answer's way out, the cancel flag, the meter.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REPL_PROGRAM_H
#define REPL_PROGRAM_H

#include "console/beacon.h"
#include "console/meter.h"
#include "console/settings.h"
#include "console/recorder.h"
#include "longleaf.h"
#include "repl/output.h"

enum leave { /* exit codes; longleaf.1 lists them */
             LEAVE_OK = 0,
             LEAVE_OTHER = 1,
             LEAVE_USAGE = 2,
             LEAVE_UNCOVERED = 3, /* input not fully covered */
             LEAVE_MEMORY = 4,
             LEAVE_MODEL = 5,
             LEAVE_DOCUMENT = 6,
             LEAVE_ABSENT = 7, /* the documents do not answer the question */
             LEAVE_HUNG_UP = 129,
             LEAVE_INTERRUPTED = 130,
             LEAVE_TERMINATED = 143
};

/* What a failure of the library was about; it decides the exit code. */
enum concern { CONCERN_WORK, CONCERN_MODEL, CONCERN_DOCUMENT };

struct program {
    enum verb verb;
    struct settings settings;
    char **operands; /* borrowed from argv */
    int operand_count;
    ll_cancel *cancel;
    struct meter meter;
    struct beacon *beacon; /* what `longleaf top` sees; NULL: no model was opened */
    struct output output;
    bool streams_json;    /* --ndjson: progress goes to the output as lines */
    double streamed;      /* when the last progress line went out */
    ll_token_fn on_token; /* who hears of tokens now, with hearer for its state */
    void *hearer;
    void (*on_progress)(void *user, const ll_progress *progress); /* in place of the meter, or NULL */
    void *progress_user;
    struct recorder *recorder; /* of the work that was opened last; NULL: none. Lives as long as that */
    ll_phase last_phase; /* of the progress heard last, and how far it was */
    uint64_t last_done, last_total;
};

/* A run whose user is the program: cancellable, progress on the meter, tokens to on_token. */
ll_run program_run(struct program *program);
/* Says what failed and gives the exit code. An interrupted call is not reported, only coded. */
int program_fail(struct program *program, enum concern concern, const ll_error *error);
/* 129, 130 or 143, by the signal that came. */
int program_interrupted(void);

#endif
