/* Tests that programs which begin at the same moment all find their place among those that run.
 * SPDX-License-Identifier: Apache-2.0 */
#include "console/beacon.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "console/meeting.h"
#include "console/report.h"

enum { PROGRAMS = 24, ROUNDS = 8 };

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/longleaf-beacon.XXXXXX");
    return mkdtemp(folder) && setenv("XDG_RUNTIME_DIR", folder, 1) == 0 ? 0 : -1;
}

static int drop_folder(void **state)
{
    (void)state;
    char command[96];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

/* Opens its beacon when `begin` ends, says so, and stays until `leave` ends. */
static void be_program(int begin, int ready, int leave)
{
    char byte;
    while (read(begin, &byte, 1) > 0)
        continue;
    struct beacon *beacon = beacon_open("longleaf", "test");
    if (!beacon || write(ready, "", 1) != 1)
        _exit(1);
    while (read(leave, &byte, 1) > 0)
        continue;
    beacon_close(beacon);
    _exit(0);
}

static void run_round(void)
{
    int begin[2], ready[2], leave[2], state;
    long found[REPORT_PROGRAMS];
    size_t count = 0;
    char byte;
    struct text problem = {0};
    assert_true(pipe(begin) == 0 && pipe(ready) == 0 && pipe(leave) == 0);
    for (int i = 0; i < PROGRAMS; i++)
        if (fork() == 0) {
            close(begin[1]);
            close(leave[1]);
            be_program(begin[0], ready[1], leave[0]);
        }
    close(begin[1]);
    for (int i = 0; i < PROGRAMS; i++)
        assert_int_equal(read(ready[0], &byte, 1), 1);
    bool ok = report_find(found, &count, &problem);
    close(leave[1]);
    for (int i = 0; i < PROGRAMS; i++) {
        assert_true(wait(&state) > 0);
        assert_int_equal(state, 0);
    }
    for (int i = 0; i < 2; i++)
        close(i ? ready[0] : begin[0]);
    close(ready[1]);
    close(leave[0]);
    text_fini(&problem);
    assert_true(ok);
    assert_int_equal(count, PROGRAMS);
}

static void none_sweeps_away_another_that_begins_with_it(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++)
        run_round();
}

static void the_wait_for_a_stopped_program_ends_when_a_key_is_there(void **state)
{
    (void)state;
    struct sockaddr_un address;
    struct text bytes = {0}, problem = {0};
    int keys[2], meeting = meeting_open(true, &problem);
    assert_true(meeting >= 0 && pipe(keys) == 0);
    int silent = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_true(meeting_address(meeting, "1.sock", &address));
    assert_int_equal(bind(silent, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(silent, 1), 0);
    struct report_patience patience = {{keys[0], -1}};
    assert_int_equal(write(keys[1], "q", 1), 1);
    assert_false(report_fetch(1, &patience, &bytes, &problem));
    assert_int_equal(problem.length, 0);
    assert_false(report_fetch(1, NULL, &bytes, &problem));
    assert_non_null(strstr(text_string(&problem), "does not answer"));
    close(silent);
    close(meeting);
    close(keys[0]);
    close(keys[1]);
    text_fini(&bytes);
    text_fini(&problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(none_sweeps_away_another_that_begins_with_it),
        cmocka_unit_test(the_wait_for_a_stopped_program_ends_when_a_key_is_there),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
