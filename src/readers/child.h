/* A converter run as a child process with limits, killed at once on cancel.
 * SPDX-License-Identifier: Apache-2.0
 *
 * No shell; the input file is handed over as an open descriptor, so its name never reaches the
 * child's command line. */
#ifndef READERS_CHILD_H
#define READERS_CHILD_H

#include "base/strbuf.h"
#include "longleaf.h"

#define CHILD_INPUT "/dev/fd/3"  /* how arguments name the input */
#define CHILD_SECRET "/dev/fd/4" /* and the secret, which no other process of the machine can see */

struct child_limits {
    size_t memory_bytes; /* address space */
    size_t output_bytes; /* standard output; more kills the child */
    double seconds;      /* of wall clock; the processor limit follows from it */
    const char *secret;  /* at most 4000 bytes for the child to read; NULL: none */
};

struct child_result {
    struct strbuf out, complaint; /* complaint: the first lines of standard error */
    int exit_code;                /* -1: killed by a signal */
    bool too_long, too_much;      /* a limit was met */
};

struct child_job {
    const char *const *argv;
    struct child_result result;
};

enum { CHILD_JOBS = 4 }; /* side by side, at most */

/* argv[0] is looked up in PATH: LL_NOT_FOUND when it is not there. LL_OK says that the child ran and ended in
 * whatever way; LL_CANCELLED that it was killed within 0.1 s. After a failure ret holds nothing. */
ll_status child_run(const char *const *argv, int input, const struct child_limits *limits,
                    const ll_cancel *cancel, struct child_result *ret, ll_error *error);
/* Several at once over one input, each within the limits. LL_NOT_FOUND: the first program that is missing is
 * named in *ret_missing. All have ended when it returns; after a failure no job holds a result. */
ll_status child_run_all(struct child_job *jobs, size_t count, int input, const struct child_limits *limits,
                        const ll_cancel *cancel, const char **ret_missing, ll_error *error);
void child_result_fini(struct child_result *result);

#endif
