/* The thread pool: many small tasks of one kind, taken from a shared counter.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tasks are claimed one by one, so a thread that the system keeps waiting delays only the task it
 * holds: the caller and the others do the rest. Workers spin for some tens of microseconds after a
 * job, then sleep on a condition variable, so an idle program uses no processor. */
#ifndef BASE_WORKERS_H
#define BASE_WORKERS_H

#include "longleaf.h"

struct workers;

/* task: 0 … tasks-1, each run exactly once. thread: 0 … count-1, 0 being the caller, stable within
 * one job, for per-thread scratch. */
typedef void (*worker_fn)(void *context, size_t task, int thread);

int workers_default_count(void); /* one per core this process may run on */
/* threads includes the caller; 0: one per core this process may run on. */
ll_status workers_open(int threads, struct workers **ret, ll_error *error);
void workers_close(struct workers *workers); /* accepts NULL */
int workers_count(const struct workers *workers);
/* Runs all tasks and returns when all are done. One caller at a time. */
void workers_run(struct workers *workers, size_t tasks, worker_fn fn, void *context);

#endif
