/* A converter run as a child process with limits, killed at once on cancel.
 * SPDX-License-Identifier: Apache-2.0 */
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
    if (pipe(ends) != 0)
        return false;
    for (int i = 0; i < 2; i++)
        (void)fcntl(ends[i], F_SETFD, FD_CLOEXEC);
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

/* Takes what is there. *fd becomes -1 at the end of the stream. */
static void drain(int *fd, struct strbuf *into, size_t most, bool *ret_more)
{
    char block[65536];
    for (int rounds = 0; rounds < 16; rounds++) {
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

static void read_streams(struct child *child, const ll_cancel *cancel, double deadline)
{
    struct child_result *result = child->result;
    while ((child->out >= 0 || child->err >= 0) && !result->too_much && !cancel_requested(cancel)) {
        struct pollfd fds[2] = {{.fd = child->out, .events = POLLIN}, {.fd = child->err, .events = POLLIN}};
        if (clock_seconds() > deadline) {
            result->too_long = true;
            return;
        }
        if (poll(fds, 2, SLICE_MS) <= 0)
            continue;
        if (child->out >= 0 && fds[0].revents)
            drain(&child->out, &result->out, child->limits->output_bytes, &result->too_much);
        if (child->err >= 0 && fds[1].revents)
            drain(&child->err, &result->complaint, COMPLAINT_BYTES, NULL);
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
    if (child->out >= 0)
        close(child->out);
    if (child->err >= 0)
        close(child->err);
    int state = await(child, cancel, stopped ? 0 : deadline, &late);
    result->too_long |= late && !result->too_much;
    result->exit_code = state >= 0 && WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

ll_status child_run(const char *const *argv, int input, const struct child_limits *limits,
                    const ll_cancel *cancel, struct child_result *ret, ll_error *error)
{
    struct strbuf program = {0};
    *ret = (struct child_result){0};
    if (!find_program(argv[0], &program)) {
        strbuf_fini(&program);
        return error_set(error, LL_NOT_FOUND, "child", "the program %s is not installed", argv[0]);
    }
    struct child child = {.limits = limits, .result = ret};
    ll_status status = start(&child, program.text, argv, input, error);
    strbuf_fini(&program);
    if (status != LL_OK)
        return status;
    double deadline = clock_seconds() + limits->seconds;
    read_streams(&child, cancel, deadline);
    finish(&child, cancel, deadline);
    if (cancel_requested(cancel))
        status = error_set(error, LL_CANCELLED, "child", "%s was cancelled", argv[0]);
    else if (ret->out.failed || ret->complaint.failed)
        status = error_nomem(error, "child", ret->out.length);
    if (status != LL_OK)
        child_result_fini(ret);
    return status;
}
