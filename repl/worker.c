/* The engine's thread: one job at a time, while the screen's thread stays awake.
 * SPDX-License-Identifier: Apache-2.0 */
#include "repl/worker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>

struct worker {
    struct feed *feed;
    pthread_t thread;
    bool busy;
    worker_fn job;
    void *user;
    int code;
    atomic_bool ended;
};

struct worker *worker_open(struct feed *feed)
{
    struct worker *worker = calloc(1, sizeof *worker);
    if (worker)
        worker->feed = feed;
    return worker;
}

void worker_close(struct worker *worker)
{
    if (!worker)
        return;
    if (worker->busy)
        pthread_join(worker->thread, NULL);
    free(worker);
}

static void *run(void *user)
{
    struct worker *worker = user;
    prctl(PR_SET_NAME, "ll-work"); /* what top and debuggers show */
    worker->code = worker->job(worker->user);
    atomic_store(&worker->ended, true);
    feed_wake(worker->feed);
    return NULL;
}

/* Signals are for the screen's thread. */
bool worker_start(struct worker *worker, worker_fn job, void *user)
{
    sigset_t all, before;
    worker->job = job;
    worker->user = user;
    atomic_store(&worker->ended, false);
    sigfillset(&all);
    sigdelset(&all, SIGBUS); /* a fault is the thread's own */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failure = pthread_create(&worker->thread, NULL, run, worker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    worker->busy = failure == 0;
    errno = failure;
    return worker->busy;
}

bool worker_busy(const struct worker *worker)
{
    return worker->busy;
}

bool worker_finished(struct worker *worker, int *ret_code)
{
    if (!worker->busy || !atomic_load(&worker->ended))
        return false;
    pthread_join(worker->thread, NULL);
    worker->busy = false;
    *ret_code = worker->code;
    return true;
}
