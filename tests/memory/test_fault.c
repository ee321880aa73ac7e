/* Tests of a mapped file that is cut while it is read: a sentence and an exit code, no crash.
 * SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/workers.h"
#include "console/fault.h"
#include "unit.h"

enum { BYTES = 1 << 16, CODE = 5 };

static char scratch[64];

static void give_back(void)
{
    ssize_t ignored = write(STDERR_FILENO, "terminal given back. ", 21);
    (void)ignored;
}

static void (*find(void))(void)
{
    return give_back;
}

static volatile unsigned char sum;

static void read_all(void *bytes, size_t task, int thread)
{
    (void)thread;
    for (size_t i = task * 4096; i < BYTES; i += 4096)
        sum = (unsigned char)(sum + ((volatile unsigned char *)bytes)[i]);
}

/* What such a process writes and how it ends. */
static int run_child(bool on_workers, char *said, size_t cap)
{
    int ends[2], status;
    ssize_t got = 0, more;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        struct workers *workers = NULL;
        dup2(ends[1], STDERR_FILENO);
        int fd = open("mapped", O_RDWR | O_CREAT | O_TRUNC, 0600);
        if (fd < 0 || ftruncate(fd, BYTES) != 0 || !fault_watch(find, CODE))
            _exit(1);
        void *bytes = mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes == MAP_FAILED || ftruncate(fd, 0) != 0)
            _exit(2);
        if (on_workers && workers_open(4, &workers, NULL) == LL_OK)
            workers_run(workers, BYTES / 4096, read_all, bytes);
        read_all(bytes, 0, 0);
        _exit(3);
    }
    close(ends[1]);
    while ((size_t)got < cap - 1 && (more = read(ends[0], said + got, cap - 1 - (size_t)got)) > 0)
        got += more;
    said[got] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void a_file_that_is_cut_ends_the_program_with_a_sentence(void **state)
{
    (void)state;
    for (int on_workers = 0; on_workers < 2; on_workers++) {
        char said[1024];
        int status = run_child(on_workers, said, sizeof said);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), CODE);
        assert_non_null(strstr(said, "terminal given back. longleaf: a file was cut"));
    }
}

static void a_signal_that_another_sends_ends_it_as_it_would(void **state)
{
    int status;
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        fault_watch(NULL, CODE);
        kill(getpid(), SIGBUS);
        _exit(3);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
}

static int enter(void **state)
{
    (void)state;
    return unit_enter_scratch(scratch);
}

static int leave(void **state)
{
    (void)state;
    unit_leave_scratch(scratch);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_that_is_cut_ends_the_program_with_a_sentence, enter, leave),
        cmocka_unit_test(a_signal_that_another_sends_ends_it_as_it_would),
    };
    return cmocka_run_group_tests_name("memory/fault", tests, NULL, NULL);
}
