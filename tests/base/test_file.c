/* Tests of base/file: limits, kinds of file, atomic writes, full devices.
 * SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"

static char scratch[64];

static void put(const char *path, const char *bytes, size_t length)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static int files_here(void)
{
    DIR *folder = opendir(".");
    int count = 0;
    for (struct dirent *entry; (entry = readdir(folder));)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

static void random_bytes_written_are_read_and_mapped_unchanged(void **state)
{
    static char bytes[200000];
    (void)state;
    for (size_t round = 0; round < 20; round++) {
        size_t length = unit_below(sizeof bytes) + 1;
        for (size_t i = 0; i < length; i++)
            bytes[i] = (char)unit_random();
        struct strbuf read = {0};
        struct file_map map = {0};
        assert_int_equal(file_write("data", bytes, length, NULL), LL_OK);
        assert_int_equal(file_read("data", length, NULL, &read, NULL), LL_OK);
        assert_int_equal(read.length, length);
        assert_memory_equal(read.text, bytes, length);
        assert_int_equal(file_map_open("data", &map, NULL), LL_OK);
        assert_int_equal(map.size, length);
        assert_memory_equal(map.bytes, bytes, length);
        file_map_close(&map);
        file_map_close(&map);
        strbuf_fini(&read);
    }
}

static void more_than_the_limit_is_refused_with_the_number_and_never_cut(void **state)
{
    ll_error error = {0};
    struct strbuf out = {0};
    (void)state;
    put("five", "12345", 5);
    assert_int_equal(file_read("five", 4, NULL, &out, &error), LL_UNSUPPORTED);
    assert_non_null(strstr(error.text, "five"));
    assert_non_null(strstr(error.text, "4 bytes"));
    strbuf_fini(&out);
    assert_int_equal(file_read("five", 5, NULL, &out, &error), LL_OK);
    assert_int_equal(out.length, 5);
    strbuf_fini(&out);
}

static void an_endless_device_stops_at_the_limit(void **state)
{
    struct strbuf out = {0};
    (void)state;
    assert_int_equal(file_read("/dev/zero", 1 << 20, NULL, &out, NULL), LL_UNSUPPORTED);
    strbuf_fini(&out);
}

static void a_directory_is_refused_by_name(void **state)
{
    ll_error error = {0};
    struct strbuf out = {0};
    struct file_map map = {0};
    (void)state;
    assert_int_equal(mkdir("folder", 0700), 0);
    assert_int_equal(file_read("folder", 100, NULL, &out, &error), LL_FORMAT);
    assert_non_null(strstr(error.text, "folder is a directory"));
    assert_int_equal(file_map_open("folder", &map, &error), LL_FORMAT);
    assert_int_equal(rmdir("folder"), 0);
}

static void a_missing_file_says_so(void **state)
{
    ll_error error = {0};
    struct file_map map = {0};
    (void)state;
    assert_int_equal(file_map_open("nowhere\033[2J", &map, &error), LL_NOT_FOUND);
    assert_non_null(strstr(error.text, "No such file"));
    assert_null(strchr(error.text, '\033'));
}

static void an_empty_or_special_file_is_not_mapped(void **state)
{
    ll_error error = {0};
    struct file_map map = {0};
    (void)state;
    put("empty", "", 0);
    assert_int_equal(file_map_open("empty", &map, &error), LL_FORMAT);
    assert_int_equal(file_map_open("/dev/null", &map, &error), LL_FORMAT);
    assert_null(map.bytes);
}

static void *write_slowly(void *argument)
{
    int fd = open(argument, O_WRONLY);
    for (int i = 0; i < 5; i++) {
        const struct timespec pause = {0, 10000000};
        if (write(fd, "piece ", 6) != 6)
            break;
        nanosleep(&pause, NULL);
    }
    close(fd);
    return NULL;
}

static void a_pipe_is_read_to_its_end(void **state)
{
    pthread_t writer;
    struct strbuf out = {0};
    static char name[] = "pipe";
    (void)state;
    assert_int_equal(mkfifo(name, 0600), 0);
    assert_int_equal(pthread_create(&writer, NULL, write_slowly, name), 0);
    assert_int_equal(file_read(name, 1000, NULL, &out, NULL), LL_OK);
    pthread_join(writer, NULL);
    assert_string_equal(strbuf_text(&out), "piece piece piece piece piece ");
    strbuf_fini(&out);
    unlink(name);
}

/* Opening it for reading would wait for a writer that never comes. */
static void a_pipe_is_no_file_to_map(void **state)
{
    ll_error error = {0};
    struct file_map map = {0};
    (void)state;
    assert_int_equal(mkfifo("model.gguf", 0600), 0);
    alarm(60);
    assert_int_equal(file_map_open("model.gguf", &map, &error), LL_FORMAT);
    alarm(0);
    assert_non_null(strstr(error.text, "not a regular file"));
    unlink("model.gguf");
}

static void *cancel_soon(void *argument)
{
    const struct timespec pause = {0, 20000000};
    nanosleep(&pause, NULL);
    ll_cancel_request(argument);
    return NULL;
}

static void waiting_for_a_silent_pipe_can_be_cancelled(void **state)
{
    pthread_t other;
    struct strbuf out = {0};
    ll_cancel *cancel = ll_cancel_new();
    (void)state;
    assert_int_equal(mkfifo("silent", 0600), 0);
    alarm(60);
    for (int held = 0; held < 2; held++) { /* nobody has it open for writing; somebody has */
        int holder = held ? open("silent", O_RDWR | O_CLOEXEC) : -1;
        ll_cancel_reset(cancel);
        assert_int_equal(pthread_create(&other, NULL, cancel_soon, cancel), 0);
        assert_int_equal(file_read("silent", 1000, cancel, &out, NULL), LL_CANCELLED);
        pthread_join(other, NULL);
        if (held)
            close(holder);
    }
    alarm(0);
    unlink("silent");
    ll_cancel_free(cancel);
    strbuf_fini(&out);
}

static void a_write_replaces_the_whole_file_and_leaves_no_other(void **state)
{
    struct strbuf out = {0};
    (void)state;
    int before = files_here();
    assert_int_equal(file_write("target", "a long first version", 20, NULL), LL_OK);
    assert_int_equal(file_write("target", "second", 6, NULL), LL_OK);
    assert_int_equal(file_read("target", 100, NULL, &out, NULL), LL_OK);
    assert_string_equal(strbuf_text(&out), "second");
    assert_int_equal(files_here(), before + 1);
    strbuf_fini(&out);
    struct stat info;
    mode_t mask = umask(0);
    umask(mask);
    assert_int_equal(stat("target", &info), 0);
    assert_int_equal(info.st_mode & 0777, 0666 & ~mask);
}

static void a_write_that_fails_leaves_the_old_file_and_no_other(void **state)
{
    ll_error error = {0};
    (void)state;
    assert_int_equal(mkdir("taken", 0700), 0);
    int before = files_here();
    assert_int_not_equal(file_write("taken", "x", 1, &error), LL_OK);
    assert_non_null(strstr(error.text, "taken"));
    assert_int_not_equal(file_write("no/such/folder/x", "x", 1, &error), LL_OK);
    assert_int_equal(files_here(), before);
    assert_int_equal(rmdir("taken"), 0);
}

/* A file system of one megabyte, which only root may mount. */
static void a_write_never_takes_the_place_of_what_is_no_plain_file(void **state)
{
    (void)state;
    struct stat info;
    ll_error error = {0};
    assert_int_equal(mkfifo("pipe-to-keep", 0600), 0);
    assert_int_equal(symlink("pipe-to-keep", "link-to-pipe"), 0);
    assert_int_equal(mkdir("folder-to-keep", 0700), 0);
    int before = files_here();
    assert_int_equal(file_write("pipe-to-keep", "x", 1, &error), LL_ARGUMENT);
    assert_non_null(strstr(error.text, "pipe-to-keep is no regular file"));
    assert_int_equal(file_write("link-to-pipe", "x", 1, &error), LL_ARGUMENT);
    assert_int_equal(file_write("folder-to-keep", "x", 1, &error), LL_IO);
    assert_int_equal(files_here(), before);
    assert_true(lstat("pipe-to-keep", &info) == 0 && S_ISFIFO(info.st_mode));
    assert_true(lstat("link-to-pipe", &info) == 0 && S_ISLNK(info.st_mode));
    unlink("link-to-pipe");
    unlink("pipe-to-keep");
    rmdir("folder-to-keep");
}

static void a_full_disk_is_an_error_and_the_old_file_stays(void **state)
{
    static char big[4 << 20];
    ll_error error = {0};
    struct strbuf out = {0};
    (void)state;
    assert_int_equal(mkdir("small", 0700), 0);
    if (geteuid() != 0 || system("mount -t tmpfs -o size=1m longleaf-test small 2> /dev/null") != 0) {
        rmdir("small");
        print_message("# only root can mount a small file system\n");
        skip();
    }
    ll_status first = file_write("small/file", "old", 3, &error);
    ll_status status = file_write("small/file", big, sizeof big, &error);
    ll_status read = file_read("small/file", 100, NULL, &out, NULL);
    int left = system("test \"$(ls small | wc -l)\" -eq 1");
    int unmounted = system("umount small");
    assert_int_equal(first, LL_OK);
    assert_int_equal(status, LL_IO);
    assert_non_null(strstr(error.text, "No space left"));
    assert_int_equal(read, LL_OK);
    assert_string_equal(strbuf_text(&out), "old");
    assert_int_equal(left, 0);
    assert_int_equal(unmounted, 0);
    strbuf_fini(&out);
    rmdir("small");
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
    unit_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_bytes_written_are_read_and_mapped_unchanged),
        cmocka_unit_test(more_than_the_limit_is_refused_with_the_number_and_never_cut),
        cmocka_unit_test(an_endless_device_stops_at_the_limit),
        cmocka_unit_test(a_directory_is_refused_by_name),
        cmocka_unit_test(a_missing_file_says_so),
        cmocka_unit_test(an_empty_or_special_file_is_not_mapped),
        cmocka_unit_test(a_pipe_is_read_to_its_end),
        cmocka_unit_test(a_pipe_is_no_file_to_map),
        cmocka_unit_test(waiting_for_a_silent_pipe_can_be_cancelled),
        cmocka_unit_test(a_write_replaces_the_whole_file_and_leaves_no_other),
        cmocka_unit_test(a_write_that_fails_leaves_the_old_file_and_no_other),
        cmocka_unit_test(a_write_never_takes_the_place_of_what_is_no_plain_file),
        cmocka_unit_test(a_full_disk_is_an_error_and_the_old_file_stays),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
