/* A mapped model file that is cut while it is read: a sentence and an exit code in place of a crash.
 * SPDX-License-Identifier: Apache-2.0 */
#include "console/fault.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void (*(*find_restore)(void))(void);
static int leave_with;

static void on_fault(int number, siginfo_t *info, void *context)
{
    static const char sentence[] =
        "longleaf: a file was cut while it was being read, the model file most likely: a part of it that is "
        "needed is not there any more; put the whole file back and start again\n";
    (void)context;
    if (info->si_code != BUS_ADRERR && info->si_code != BUS_OBJERR) { /* somebody's kill */
        signal(number, SIG_DFL);
        raise(number);
        return;
    }
    void (*restore)(void) = find_restore ? find_restore() : NULL;
    if (restore)
        restore();
    ssize_t ignored = write(STDERR_FILENO, sentence, sizeof sentence - 1);
    (void)ignored;
    _exit(leave_with);
}

bool fault_watch(void (*(*restore)(void))(void), int code)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    find_restore = restore;
    leave_with = code;
    sigfillset(&action.sa_mask);
    return sigaction(SIGBUS, &action, NULL) == 0;
}
