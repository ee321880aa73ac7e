/* The engine's thread: one job at a time, while the screen's thread stays awake.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REPL_WORKER_H
#define REPL_WORKER_H

#include <stdbool.h>

#include "repl/feed.h"

typedef int (*worker_fn)(void *user);

struct worker;

struct worker *worker_open(struct feed *feed); /* NULL: no memory. The feed is woken at each job's end */
void worker_close(struct worker *worker);      /* waits for the job */
/* Only while no job is there. False: no thread could be made; errno says why. */
bool worker_start(struct worker *worker, worker_fn job, void *user);
bool worker_busy(const struct worker *worker); /* a job is there, running or ended */
/* True once after each job's end, with what the job gave. */
bool worker_finished(struct worker *worker, int *ret_code);

#endif
