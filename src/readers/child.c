/* A converter run as a child process with limits, killed at once on cancel.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* pipe2: a program started meanwhile by another thread must not inherit our ends */
#include "readers/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"

enum {
    INPUT_FD = 3,
    SECRET_FD = 4,
    SECRET_BYTES = 4000,
    COMPLAINT_BYTES = 4096,
    SLICE_MS = 50,
    INHERITED_FDS = 1024
};

extern char **environ;

struct child {
    pid_t pid;
    int out, err; /* our ends, -1 when closed */
    const struct child_limits *limits;
    struct child_result *result;
};

void child_result_fini(struct child_result *result)
{
    strbuf_fini(&result->out);
    strbuf_fini(&result->complaint);
    *result = (struct child_result){0};
}

/* ---- start ----------------------------------------------------------------------------------- */

static bool find_program(const char *name, struct strbuf *ret)
{
    const char *path = getenv("PATH");
    for (const char *at = path && *path ? path : "/usr/local/bin:/usr/bin:/bin"; *at;) {
        size_t length = strcspn(at, ":");
        strbuf_clear(ret);
        strbuf_append(ret, length ? at : ".", length ? length : 1);
        strbuf_putc(ret, '/');
        strbuf_puts(ret, name);
        struct stat info;
        if (!ret->failed && stat(ret->text, &info) == 0 && S_ISREG(info.st_mode) &&
            access(ret->text, X_OK) == 0)
            return true;
        at += length + (at[length] == ':');
    }
    return false;
}

static void limit(int resource, rlim_t value)
{
    struct rlimit both = {value, value}, now;
    if (getrlimit(resource, &now) == 0 && now.rlim_max != RLIM_INFINITY && now.rlim_max < value)
        both.rlim_cur = both.rlim_max = now.rlim_max;
    (void)setrlimit(resource, &both);
}

/* Killed with the program that wants the answer, also when that is killed without a chance to say so. */
static void follow(pid_t parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(127);
}

/* Between fork and exec: async-signal-safe calls only, since the host may have threads. */
static _Noreturn void become(const char *program, char *const *argv, int input, int secret, int out, int err,
                             const struct child_limits *limits)
{
    (void)setpgid(0, 0);
    int high = fcntl(input, F_DUPFD, 16), high_out = fcntl(out, F_DUPFD, 16),
        high_err = fcntl(err, F_DUPFD, 16);
    int null = open("/dev/null", O_RDONLY), high_secret = fcntl(secret < 0 ? null : secret, F_DUPFD, 16);
    if (high < 0 || high_out < 0 || high_err < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0 ||
        dup2(high_out, STDOUT_FILENO) < 0 || dup2(high_err, STDERR_FILENO) < 0 || dup2(high, INPUT_FD) < 0 ||
        dup2(high_secret, SECRET_FD) < 0)
        _exit(127);
    for (int fd = SECRET_FD + 1; fd < INHERITED_FDS; fd++)
        close(fd);
    limit(RLIMIT_AS, limits->memory_bytes);
    limit(RLIMIT_CPU, (rlim_t)limits->seconds + 1);
    limit(RLIMIT_FSIZE, 0);
    limit(RLIMIT_CORE, 0);
    execve(program, argv, environ);
    _exit(127);
}

static bool make_pipe(int ends[2])
{
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
    return true;
}

static void close_all(const int *fds, size_t count)
{
    int kept = errno;
    for (size_t i = 0; i < count; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    errno = kept;
}

/* A pipe that holds the secret and ends after it; -1 when there is none. false: errno says why. */
static bool offer_secret(const char *secret, int *ret)
{
    int ends[2];
    *ret = -1;
    if (!secret)
        return true;
    size_t length = strlen(secret);
    errno = E2BIG;
    if (length > SECRET_BYTES || !make_pipe(ends))
        return false;
    (void)fcntl(ends[0], F_SETFL, 0);
    bool written = write(ends[1], secret, length) == (ssize_t)length;
    close(ends[1]);
    if (!written)
        close(ends[0]);
    *ret = written ? ends[0] : -1;
    return written;
}

static ll_status start(struct child *child, const char *program, const char *const *argv, int input,
                       ll_error *error)
{
    int out[2], err[2], secret;
    if (!offer_secret(child->limits->secret, &secret))
        return error_errno(error, "child", argv[0], errno);
    if (!make_pipe(out)) {
        close_all(&secret, 1);
        return error_errno(error, "child", argv[0], errno);
    }
    if (!make_pipe(err)) {
        close_all(out, 2);
        close_all(&secret, 1);
        return error_errno(error, "child", argv[0], errno);
    }
    pid_t parent = getpid();
    child->pid = fork();
    if (child->pid == 0) {
        follow(parent);
        become(program, (char *const *)(uintptr_t)argv, input, secret, out[1], err[1], child->limits);
    }
    int reason = errno;
    close_all(&secret, 1);
    close(out[1]);
    close(err[1]);
    child->out = out[0];
    child->err = err[0];
    if (child->pid > 0)
        return LL_OK;
    close(out[0]);
    close(err[0]);
    return error_errno(error, "child", argv[0], reason);
}

/* ---- reading --------------------------------------------------------------------------------- */

static void close_streams(struct child *child)
{
    if (child->out >= 0)
        close(child->out);
    if (child->err >= 0)
        close(child->err);
    child->out = child->err = -1;
}

/* Takes what is there. *fd becomes -1 at the end of the stream. */
static void drain(int *fd, struct strbuf *into, size_t most, bool *ret_more)
{
    char block[8192];
    for (int rounds = 0; rounds < 32; rounds++) {
        ssize_t got = read(*fd, block, sizeof block);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            return;
        if (got <= 0) {
            close(*fd);
            *fd = -1;
            return;
        }
        size_t room = into->length < most ? most - into->length : 0;
        if ((size_t)got > room && ret_more)
            *ret_more = true;
        strbuf_append(into, block, (size_t)got < room ? (size_t)got : room);
    }
}

static void drain_child(struct child *child, const struct pollfd *fds)
{
    struct child_result *result = child->result;
    if (child->out >= 0 && fds[0].revents)
        drain(&child->out, &result->out, child->limits->output_bytes, &result->too_much);
    if (child->err >= 0 && fds[1].revents)
        drain(&child->err, &result->complaint, COMPLAINT_BYTES, NULL);
    if (result->too_much) {
        (void)kill(-child->pid, SIGKILL);
        close_streams(child);
    }
}

static void read_streams(struct child *children, size_t count, const ll_cancel *cancel, double deadline)
{
    struct pollfd fds[2 * CHILD_JOBS];
    for (;;) {
        bool open = false, late = clock_seconds() > deadline;
        for (size_t i = 0; i < count; i++) {
            bool here = children[i].out >= 0 || children[i].err >= 0;
            children[i].result->too_long |= here && late;
            open |= here;
            fds[2 * i] = (struct pollfd){.fd = children[i].out, .events = POLLIN};
            fds[2 * i + 1] = (struct pollfd){.fd = children[i].err, .events = POLLIN};
        }
        if (!open || late || cancel_requested(cancel))
            return;
        if (poll(fds, 2 * count, SLICE_MS) <= 0)
            continue;
        for (size_t i = 0; i < count; i++)
            drain_child(&children[i], fds + 2 * i);
    }
}

/* The streams have ended, but the child may live on: it gets the rest of its time. */
static int await(const struct child *child, const ll_cancel *cancel, double deadline, bool *ret_too_long)
{
    int state = 0;
    for (;;) {
        pid_t got = waitpid(child->pid, &state, WNOHANG);
        if (got == child->pid)
            return state;
        if (got < 0 && errno != EINTR)
            return -1;
        if (cancel_requested(cancel) || clock_seconds() > deadline) {
            *ret_too_long = !cancel_requested(cancel);
            break;
        }
        (void)poll(NULL, 0, 2);
    }
    (void)kill(-child->pid, SIGKILL);
    (void)kill(child->pid, SIGKILL);
    while (waitpid(child->pid, &state, 0) < 0 && errno == EINTR)
        ;
    return state;
}

static void finish(struct child *child, const ll_cancel *cancel, double deadline)
{
    struct child_result *result = child->result;
    bool stopped = result->too_long || result->too_much || cancel_requested(cancel), late = false;
    close_streams(child);
    int state = await(child, cancel, stopped ? 0 : deadline, &late);
    result->too_long |= late && !result->too_much;
    result->exit_code = state >= 0 && WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

/* ---- running --------------------------------------------------------------------------------- */

static ll_status start_all(struct child *children, const struct child_job *jobs, size_t count, int input,
                           size_t *ret_started, const char **ret_missing, ll_error *error)
{
    struct strbuf program = {0};
    ll_status status = LL_OK;
    for (size_t i = 0; i < count && status == LL_OK; i++) {
        const char *const *argv = jobs[i].argv;
        if (!find_program(argv[0], &program)) {
            *ret_missing = argv[0];
            status = error_set(error, LL_NOT_FOUND, "child", "the program %s is not installed", argv[0]);
        } else {
            status = start(&children[i], program.text, argv, input, error);
        }
        *ret_started += status == LL_OK;
    }
    strbuf_fini(&program);
    return status;
}

static ll_status judge(const struct child_job *jobs, size_t count, const ll_cancel *cancel, ll_error *error)
{
    if (cancel_requested(cancel))
        return error_set(error, LL_CANCELLED, "child", "%s was cancelled", jobs[0].argv[0]);
    for (size_t i = 0; i < count; i++)
        if (jobs[i].result.out.failed || jobs[i].result.complaint.failed)
            return error_nomem(error, "child", jobs[i].result.out.length);
    return LL_OK;
}

ll_status child_run_all(struct child_job *jobs, size_t count, int input, const struct child_limits *limits,
                        const ll_cancel *cancel, const char **ret_missing, ll_error *error)
{
    struct child children[CHILD_JOBS];
    size_t started = 0;
    for (size_t i = 0; i < count; i++) {
        jobs[i].result = (struct child_result){0};
        children[i] = (struct child){.out = -1, .err = -1, .limits = limits, .result = &jobs[i].result};
    }
    double deadline = clock_seconds() + limits->seconds;
    ll_status status = start_all(children, jobs, count, input, &started, ret_missing, error);
    if (status == LL_OK)
        read_streams(children, count, cancel, deadline);
    for (size_t i = 0; i < started; i++)
        finish(&children[i], cancel, status == LL_OK ? deadline : 0);
    if (status == LL_OK)
        status = judge(jobs, count, cancel, error);
    for (size_t i = 0; i < count && status != LL_OK; i++)
        child_result_fini(&jobs[i].result);
    return status;
}

ll_status child_run(const char *const *argv, int input, const struct child_limits *limits,
                    const ll_cancel *cancel, struct child_result *ret, ll_error *error)
{
    struct child_job job = {.argv = argv};
    const char *missing;
    ll_status status = child_run_all(&job, 1, input, limits, cancel, &missing, error);
    *ret = job.result;
    return status;
}
