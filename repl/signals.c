/* Signals: the first Ctrl-C raises the cancel flag, the second ends the program.
 * SPDX-License-Identifier: Apache-2.0 */
#include "repl/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "console/fault.h"
#include "repl/program.h"

static struct {
    ll_cancel *cancel;
    void (*volatile restore)(void);
    volatile sig_atomic_t seen, resized, continued, patient;
    struct timespec when; /* of the first; written and read in handlers only */
    int pipe[2];
} signals = {.pipe = {-1, -1}};

static void wake(void)
{
    int saved = errno;
    ssize_t ignored = write(signals.pipe[1], "", 1);
    (void)ignored;
    errno = saved;
}

static void die_of(int number)
{
    if (signals.restore)
        signals.restore();
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
    raise(number); /* blocked here, so it strikes when the handler returns */
}

static void on_stop(int number)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (signals.seen) {
        double passed =
            (double)(now.tv_sec - signals.when.tv_sec) + (double)(now.tv_nsec - signals.when.tv_nsec) * 1e-9;
        if (!signals.patient || passed > 1)
            die_of(number);
        return;
    }
    signals.when = now;
    signals.seen = number;
    ll_cancel_request(signals.cancel);
    wake();
}

/* The terminal is given back as it was found; the shell says the rest. */
static void on_suspend(int number)
{
    (void)number;
    int saved = errno;
    if (signals.restore)
        signals.restore();
    raise(SIGSTOP);
    errno = saved;
}

static void on_resize(int number)
{
    (void)number;
    signals.resized = 1;
    wake();
}

static void on_continue(int number)
{
    (void)number;
    signals.continued = 1;
    wake();
}

/* A handler rather than SIG_IGN, which child processes would inherit: writes fail with EPIPE
 * or EFBIG. */
static void on_failed_write(int number)
{
    (void)number;
}

static bool handle(int number, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGINT);
    sigaddset(&action.sa_mask, SIGTERM);
    sigaddset(&action.sa_mask, SIGHUP);
    return sigaction(number, &action, NULL) == 0;
}

static void (*found_restore(void))(void)
{
    return signals.restore;
}

bool signals_start(ll_cancel *cancel)
{
    signals.cancel = cancel;
    if (pipe(signals.pipe) != 0)
        return false;
    for (int i = 0; i < 2; i++) {
        fcntl(signals.pipe[i], F_SETFL, O_NONBLOCK);
        fcntl(signals.pipe[i], F_SETFD, FD_CLOEXEC);
    }
    struct sigaction found;
    bool outlives = sigaction(SIGHUP, NULL, &found) == 0 && found.sa_handler == SIG_IGN; /* nohup */
    return fault_watch(found_restore, LEAVE_MODEL) && handle(SIGINT, on_stop, 0) &&
           handle(SIGTERM, on_stop, 0) && (outlives || handle(SIGHUP, on_stop, 0)) &&
           handle(SIGPIPE, on_failed_write, SA_RESTART) && handle(SIGXFSZ, on_failed_write, SA_RESTART) &&
           handle(SIGWINCH, on_resize, SA_RESTART) && handle(SIGCONT, on_continue, SA_RESTART);
}

void signals_set_patient(bool patient)
{
    signals.patient = patient;
}

void signals_set_restore(void (*restore)(void))
{
    signals.restore = restore;
    if (restore)
        handle(SIGTSTP, on_suspend, SA_RESTART);
    else
        signal(SIGTSTP, SIG_DFL);
}

int signals_descriptor(void)
{
    return signals.pipe[0];
}

void signals_drain(void)
{
    char bytes[64];
    while (read(signals.pipe[0], bytes, sizeof bytes) > 0) {
    }
}

int signals_seen(void)
{
    return signals.seen;
}

void signals_forget(void)
{
    ll_cancel_reset(signals.cancel);
    signals.seen = 0;
}

bool signals_take_resize(void)
{
    bool taken = signals.resized;
    signals.resized = 0;
    return taken;
}

bool signals_take_continue(void)
{
    bool taken = signals.continued;
    signals.continued = 0;
    return taken;
}
