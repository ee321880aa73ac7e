/* What may stop a cell: interrupts and the end, from any thread and from signal handlers.
 * SPDX-License-Identifier: Apache-2.0 */
#include "jupyter_kernel/interrupt.h"

#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

bool interrupt_init(struct interrupt *interrupt)
{
    *interrupt = (struct interrupt){.wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
    interrupt->cancel = ll_cancel_new();
    if (interrupt->wake >= 0 && interrupt->cancel && pthread_mutex_init(&interrupt->lock, NULL) == 0)
        return true;
    ll_cancel_free(interrupt->cancel);
    if (interrupt->wake >= 0)
        close(interrupt->wake);
    return false;
}

void interrupt_fini(struct interrupt *interrupt)
{
    ll_cancel_free(interrupt->cancel);
    close(interrupt->wake);
    pthread_mutex_destroy(&interrupt->lock);
}

static void set_wake(struct interrupt *interrupt, bool on)
{
    uint64_t value = 1;
    ssize_t ignored =
        on ? write(interrupt->wake, &value, sizeof value) : read(interrupt->wake, &value, sizeof value);
    (void)ignored;
}

bool interrupt_begin_work(struct interrupt *interrupt)
{
    pthread_mutex_lock(&interrupt->lock);
    bool may = !interrupt->leaving;
    if (may) {
        ll_cancel_reset(interrupt->cancel);
        set_wake(interrupt, false);
        interrupt->working = true;
    }
    pthread_mutex_unlock(&interrupt->lock);
    return may;
}

void interrupt_end_work(struct interrupt *interrupt)
{
    pthread_mutex_lock(&interrupt->lock);
    interrupt->working = false;
    if (!interrupt->leaving)
        set_wake(interrupt, false);
    pthread_mutex_unlock(&interrupt->lock);
}

void interrupt_raise(struct interrupt *interrupt)
{
    pthread_mutex_lock(&interrupt->lock);
    if (interrupt->working) {
        ll_cancel_request(interrupt->cancel);
        set_wake(interrupt, true);
    }
    pthread_mutex_unlock(&interrupt->lock);
}

void interrupt_leave(struct interrupt *interrupt)
{
    pthread_mutex_lock(&interrupt->lock);
    interrupt->leaving = true;
    ll_cancel_request(interrupt->cancel);
    set_wake(interrupt, true);
    pthread_mutex_unlock(&interrupt->lock);
}

bool interrupt_leaves(struct interrupt *interrupt)
{
    pthread_mutex_lock(&interrupt->lock);
    bool leaves = interrupt->leaving;
    pthread_mutex_unlock(&interrupt->lock);
    return leaves;
}
