/* Tests of base/workers and base/cancel: each task once, at any thread count; flags from signals.
 * SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "base/cancel.h"
#include "base/workers.h"

enum { MOST_TASKS = 4096 };

struct job {
    int threads;
    unsigned char runs[MOST_TASKS]; /* plain bytes on purpose: a task run twice is a race that TSan sees */
    unsigned value[MOST_TASKS];     /* written by tasks, read by the caller when the job is over */
    atomic_int wrong_thread;
};

static void note_run(void *context, size_t task, int thread)
{
    struct job *job = context;
    job->runs[task]++;
    job->value[task] = (unsigned)task * 2654435761u;
    if (thread < 0 || thread >= job->threads)
        atomic_fetch_add(&job->wrong_thread, 1);
}

static void check_job(struct job *job, size_t tasks)
{
    for (size_t i = 0; i < tasks; i++) {
        assert_int_equal(job->runs[i], 1);
        assert_int_equal(job->value[i], (unsigned)i * 2654435761u);
    }
    for (size_t i = tasks; i < MOST_TASKS; i++)
        assert_int_equal(job->runs[i], 0);
    assert_int_equal(job->wrong_thread, 0);
}

static void every_task_runs_exactly_once_at_any_thread_count(void **state)
{
    static const int counts[] = {1, 2, 3, 4, 7, 16};
    static struct job job;
    (void)state;
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        struct workers *workers = NULL;
        assert_int_equal(workers_open(counts[c], &workers, NULL), LL_OK);
        assert_int_equal(workers_count(workers), counts[c]);
        for (size_t round = 0; round < unit_rounds(150); round++) {
            size_t tasks = unit_below(5) ? unit_below(40) : unit_below(MOST_TASKS + 1);
            memset(&job, 0, sizeof job);
            job.threads = counts[c];
            workers_run(workers, tasks, note_run, &job);
            check_job(&job, tasks);
        }
        workers_close(workers);
    }
}

/* Short jobs back to back, with pauses long enough for the workers to fall asleep between some. */
static void a_worker_that_wakes_late_takes_nothing_from_the_next_job(void **state)
{
    static struct job jobs[2];
    struct workers *workers = NULL;
    (void)state;
    assert_int_equal(workers_open(4, &workers, NULL), LL_OK);
    for (size_t round = 0; round < unit_rounds(3000); round++) {
        size_t tasks = unit_below(6);
        struct job *job = &jobs[round & 1];
        memset(job, 0, sizeof *job);
        job->threads = 4;
        workers_run(workers, tasks, note_run, job);
        for (size_t i = 0; i < 8; i++)
            assert_int_equal(job->runs[i], i < tasks);
        if (unit_below(100) == 0) {
            const struct timespec pause = {0, 3000000};
            nanosleep(&pause, NULL);
        }
    }
    workers_close(workers);
}

static void own_scratch(void *context, size_t task, int thread)
{
    unsigned *scratch = context; /* a plain counter a thread: two threads with one number would race */
    (void)task;
    scratch[thread * 64]++;
}

static void a_thread_number_belongs_to_one_thread_during_a_job(void **state)
{
    unsigned scratch[8 * 64] = {0}, sum = 0;
    struct workers *workers = NULL;
    (void)state;
    assert_int_equal(workers_open(8, &workers, NULL), LL_OK);
    for (int round = 0; round < 50; round++)
        workers_run(workers, 500, own_scratch, scratch);
    for (int i = 0; i < 8; i++)
        sum += scratch[i * 64];
    assert_int_equal(sum, 50 * 500);
    workers_close(workers);
}

static void odd_thread_counts_are_refused_and_no_pool_is_closed_quietly(void **state)
{
    struct workers *workers = NULL;
    ll_error error = {0};
    (void)state;
    assert_int_equal(workers_open(-1, &workers, &error), LL_ARGUMENT);
    assert_int_equal(workers_open(100000, &workers, &error), LL_ARGUMENT);
    assert_null(workers);
    workers_close(NULL);
    assert_int_equal(workers_open(0, &workers, NULL), LL_OK);
    assert_true(workers_count(workers) >= 1);
    workers_close(workers);
}

static ll_cancel *flag;

static void raise_flag(int signal_number)
{
    (void)signal_number;
    ll_cancel_request(flag);
}

static void a_cancel_flag_is_raised_from_a_signal_handler_and_lowered_again(void **state)
{
    struct sigaction action = {.sa_handler = raise_flag}, before;
    (void)state;
    flag = ll_cancel_new();
    assert_non_null(flag);
    assert_false(ll_cancel_requested(flag));
    assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
    raise(SIGUSR1);
    assert_true(ll_cancel_requested(flag));
    ll_cancel_reset(flag);
    assert_false(ll_cancel_requested(flag));
    sigaction(SIGUSR1, &before, NULL);
    ll_cancel_free(flag);
}

static void no_flag_is_never_raised(void **state)
{
    (void)state;
    ll_cancel_request(NULL);
    ll_cancel_reset(NULL);
    ll_cancel_free(NULL);
    assert_false(ll_cancel_requested(NULL));
}

static void *watch_flag(void *argument)
{
    while (!ll_cancel_requested(argument))
        sched_yield();
    return argument;
}

static void a_flag_raised_by_one_thread_is_seen_by_another(void **state)
{
    pthread_t watcher;
    void *seen = NULL;
    ll_cancel *cancel = ll_cancel_new();
    (void)state;
    assert_int_equal(pthread_create(&watcher, NULL, watch_flag, cancel), 0);
    ll_cancel_request(cancel);
    pthread_join(watcher, &seen);
    assert_ptr_equal(seen, cancel);
    ll_cancel_free(cancel);
}

int main(void)
{
    unit_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_runs_exactly_once_at_any_thread_count),
        cmocka_unit_test(a_worker_that_wakes_late_takes_nothing_from_the_next_job),
        cmocka_unit_test(a_thread_number_belongs_to_one_thread_during_a_job),
        cmocka_unit_test(odd_thread_counts_are_refused_and_no_pool_is_closed_quietly),
        cmocka_unit_test(a_cancel_flag_is_raised_from_a_signal_handler_and_lowered_again),
        cmocka_unit_test(no_flag_is_never_raised),
        cmocka_unit_test(a_flag_raised_by_one_thread_is_seen_by_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
