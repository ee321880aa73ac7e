/* The thread pool: many small tasks of one kind, taken from a shared counter.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* sched_getaffinity */
#include "base/workers.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/error.h"
#include "base/mem.h"

enum { MAX_THREADS = 256, SPIN_ROUNDS = 20000 };

/* One job at a time. A ticket packs (generation, next task) into one word: a worker that wakes late
 * for an old job sees another generation and takes nothing from the new one by mistake. */
struct workers {
    int count;
    pthread_t threads[MAX_THREADS];
    atomic_bool stopping;
    atomic_int sleepers;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    /* Each of these is written by one side while the other spins on its neighbour: a cache line each, or
     * every claim would stall on the pollers' copies. */
    _Alignas(64) atomic_uint_fast32_t generation; /* idle workers spin on it */
    _Alignas(64) atomic_uint_fast64_t ticket;     /* generation << 32 | next task */
    _Alignas(64) atomic_uint_fast64_t done;       /* the caller spins on it */
    _Alignas(64) atomic_int busy;                 /* workers between claiming a ticket and finishing it */
    _Alignas(64) atomic_uint_fast64_t tasks;      /* of the running job; read-mostly, with the two below */
    worker_fn fn;
    void *context;
};

struct worker_start {
    struct workers *workers;
    int thread;
};

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#else
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

/* Claims tasks of the given generation until none is left. */
static void work(struct workers *w, uint32_t generation, int thread)
{
    atomic_fetch_add(&w->busy, 1);
    for (;;) {
        uint64_t ticket = atomic_load(&w->ticket);
        uint64_t task = ticket & 0xFFFFFFFFu;
        if ((uint32_t)(ticket >> 32) != generation || task >= atomic_load(&w->tasks))
            break;
        if (!atomic_compare_exchange_weak(&w->ticket, &ticket, ticket + 1))
            continue;
        w->fn(w->context, task, thread);
        atomic_fetch_add(&w->done, 1);
    }
    atomic_fetch_sub(&w->busy, 1);
}

static void wait_for_job(struct workers *w, uint32_t seen)
{
    for (int i = 0; i < SPIN_ROUNDS; i++) {
        if (atomic_load(&w->generation) != seen || atomic_load(&w->stopping))
            return;
        relax();
    }
    pthread_mutex_lock(&w->mutex);
    atomic_fetch_add(&w->sleepers, 1);
    while (atomic_load(&w->generation) == seen && !atomic_load(&w->stopping))
        pthread_cond_wait(&w->wake, &w->mutex);
    atomic_fetch_sub(&w->sleepers, 1);
    pthread_mutex_unlock(&w->mutex);
}

static void *worker_main(void *argument)
{
    struct worker_start start = *(struct worker_start *)argument;
    struct workers *w = start.workers;
    mem_free(argument);
    prctl(PR_SET_NAME, "ll-compute"); /* what top and debuggers show */
    uint32_t seen = 0;
    while (!atomic_load(&w->stopping)) {
        wait_for_job(w, seen);
        uint32_t now = (uint32_t)atomic_load(&w->generation);
        if (now == seen)
            continue;
        seen = now;
        work(w, seen, start.thread);
    }
    return NULL;
}

int workers_default_count(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    int count = CPU_COUNT(&set);
    return count < 1 ? 1 : count;
}

/* Workers take no signals: they belong to the program's own threads. */
static bool start_thread(struct workers *w, int thread)
{
    struct worker_start *start = mem_new(1, sizeof *start);
    if (!start)
        return false;
    *start = (struct worker_start){w, thread};
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGBUS); /* a fault is the thread's own: blocked, it would end the process unheard */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&w->threads[thread], NULL, worker_main, start);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed)
        mem_free(start);
    return !failed;
}

ll_status workers_open(int threads, struct workers **ret, ll_error *error)
{
    if (threads < 0 || threads > MAX_THREADS)
        return error_set(error, LL_ARGUMENT, "workers", "threads must be 0 … %d, not %d", MAX_THREADS,
                         threads);
    struct workers *w = mem_aligned(sizeof *w, _Alignof(struct workers));
    if (!w)
        return error_nomem(error, "workers", sizeof *w);
    pthread_mutex_init(&w->mutex, NULL);
    pthread_cond_init(&w->wake, NULL);
    int wanted = threads ? threads : workers_default_count();
    if (wanted > MAX_THREADS)
        wanted = MAX_THREADS;
    w->count = 1;
    while (w->count < wanted && start_thread(w, w->count)) /* fewer threads than asked is no failure */
        w->count++;
    *ret = w;
    return LL_OK;
}

void workers_close(struct workers *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->mutex);
    atomic_store(&w->stopping, true);
    pthread_cond_broadcast(&w->wake);
    pthread_mutex_unlock(&w->mutex);
    for (int i = 1; i < w->count; i++)
        pthread_join(w->threads[i], NULL);
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->mutex);
    mem_free(w);
}

int workers_count(const struct workers *w)
{
    return w->count;
}

static void publish(struct workers *w, uint32_t generation)
{
    atomic_store(&w->ticket, (uint64_t)generation << 32);
    atomic_store(&w->generation, generation);
    if (atomic_load(&w->sleepers) > 0) {
        pthread_mutex_lock(&w->mutex);
        pthread_cond_broadcast(&w->wake);
        pthread_mutex_unlock(&w->mutex);
    }
}

void workers_run(struct workers *w, size_t tasks, worker_fn fn, void *context)
{
    if (w->count == 1 || tasks <= 1) {
        for (size_t i = 0; i < tasks; i++)
            fn(context, i, 0);
        return;
    }
    uint32_t generation = (uint32_t)atomic_load(&w->generation) + 1;
    /* Close the old job first: a late worker must not claim from it under the new task count. */
    atomic_store(&w->ticket, (uint64_t)generation << 32 | UINT32_MAX);
    while (atomic_load(&w->busy) > 0)
        relax();
    w->fn = fn;
    w->context = context;
    atomic_store(&w->done, 0);
    atomic_store(&w->tasks, tasks);
    publish(w, generation);
    work(w, generation, 0);
    for (long spin = 0; atomic_load(&w->done) < tasks; spin++) {
        if (spin < 4000)
            relax();
        else
            sched_yield();
    }
}
