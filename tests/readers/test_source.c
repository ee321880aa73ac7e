/* Tests of document/source and document/document: files, pipes, odd names, what is refused and why.
 * SPDX-License-Identifier: Apache-2.0 */
#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#include "document/document.h"
#include "unit.h"

static char scratch[64];

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

static void put_file(const char *name, const char *bytes, size_t length)
{
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static ll_status open_one(const char *path, ll_document **ret, ll_error *error)
{
    return ll_document_open(&path, 1, NULL, NULL, ret, error);
}

static void expect_refusal(const char *path, ll_status status, const char *part)
{
    ll_document *d = NULL;
    ll_error error = {0};
    assert_int_equal(open_one(path, &d, &error), status);
    assert_null(d);
    if (!strstr(error.text, part))
        fail_msg("\"%s\" lacks \"%s\"", error.text, part);
}

static void the_content_decides_the_kind_and_not_the_name(void **state)
{
    (void)state;
    ll_document *d = NULL;
    ll_error error = {0};
    ll_document_info info;
    put_file("picture.pdf", "# Title\n\n## Part\n\nJust words.\n", 29);
    assert_int_equal(open_one("picture.pdf", &d, &error), LL_OK);
    assert_int_equal(ll_document_get_info(d, &info), LL_OK);
    assert_string_equal(info.kind, "markdown");
    assert_string_equal(info.title, "Title");
    assert_int_equal(info.source_bytes, 29);
    ll_document_close(d);
    put_file("notes.txt", "PK\003\004rest of an archive", 22);
    expect_refusal("notes.txt", LL_UNREADABLE, "ZIP");
    put_file("image", "\x89PNG\r\n\x1A\n....", 12);
    expect_refusal("image", LL_UNREADABLE, "PNG");
}

static void several_files_become_one_document_with_a_section_each(void **state)
{
    (void)state;
    const char *paths[] = {"b.txt", "a.md"};
    ll_document *d = NULL;
    ll_error error = {0};
    ll_section section;
    put_file("b.txt", "Only words stand here, and they end.\n", 37);
    put_file("a.md", "# Second\n\nText.\n\n## Deep\n\nMore.\n", 32);
    assert_int_equal(ll_document_open(paths, 2, NULL, NULL, &d, &error), LL_OK);
    ll_document_info info;
    assert_int_equal(ll_document_get_info(d, &info), LL_OK);
    assert_int_equal(info.files, 2);
    assert_int_equal(info.sections, 3);
    assert_string_equal(info.kind, "several");
    assert_int_equal(ll_document_get_section(d, 0, &section), LL_OK);
    assert_string_equal(section.title, "b.txt");
    assert_int_equal(section.level, 1);
    assert_int_equal(ll_document_get_section(d, 1, &section), LL_OK);
    assert_string_equal(section.title, "Second");
    assert_int_equal(section.level, 1);
    const char *text = ll_document_text(d, NULL);
    assert_int_equal(strncmp(text + section.first_byte, "# Second", 8), 0);
    ll_document_close(d);
}

static void one_bad_file_fails_the_call_and_is_named(void **state)
{
    (void)state;
    const char *paths[] = {"good.txt", "missing.txt"};
    ll_document *d = NULL;
    ll_error error = {0};
    put_file("good.txt", "Words.\n", 7);
    assert_int_equal(ll_document_open(paths, 2, NULL, NULL, &d, &error), LL_NOT_FOUND);
    assert_non_null(strstr(error.text, "missing.txt"));
    assert_null(d);
}

static void empty_and_blank_files_are_refused(void **state)
{
    (void)state;
    put_file("empty", "", 0);
    put_file("blank", " \n\t\n\xC2\xA0\n", 7);
    put_file("mark", "\xEF\xBB\xBF", 3);
    expect_refusal("empty", LL_UNREADABLE, "is empty");
    expect_refusal("blank", LL_UNREADABLE, "only blanks");
    expect_refusal("mark", LL_UNREADABLE, "nothing to read");
}

static void a_folder_without_anything_to_read_is_refused_by_name(void **state)
{
    (void)state;
    assert_int_equal(mkdir("folder", 0700), 0);
    expect_refusal("folder", LL_UNREADABLE, "folder holds no file");
    assert_int_equal(rmdir("folder"), 0);
}

static void odd_names_are_only_names(void **state)
{
    (void)state;
    static const char *const names[] = {"-",   "--help", "-rf",         "a b", "$(touch hacked)",
                                        "`x`", "q\"'",   "bad\xFFname", "n\nl"};
    for (size_t i = 1; i < sizeof names / sizeof names[0]; i++) {
        ll_document *d = NULL;
        ll_error error = {0};
        put_file(names[i], "Words.\n", 7);
        assert_int_equal(open_one(names[i], &d, &error), LL_OK);
        ll_document_info info;
        assert_int_equal(ll_document_get_info(d, &info), LL_OK);
        assert_null(strchr(info.title, '\n'));
        ll_document_close(d);
        unlink(names[i]);
    }
    assert_int_not_equal(access("hacked", F_OK), 0);
}

static void *write_fifo(void *name)
{
    int fd = open(name, O_WRONLY);
    assert_true(fd >= 0);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(write(fd, "Some words in a row.\n", 21), 21);
    close(fd);
    return NULL;
}

static void a_named_pipe_is_read_to_its_end(void **state)
{
    (void)state;
    char name[] = "pipe";
    pthread_t writer;
    ll_document *d = NULL;
    ll_error error = {0};
    size_t length;
    assert_int_equal(mkfifo(name, 0600), 0);
    assert_int_equal(pthread_create(&writer, NULL, write_fifo, name), 0);
    assert_int_equal(open_one(name, &d, &error), LL_OK);
    pthread_join(writer, NULL);
    (void)ll_document_text(d, &length);
    assert_int_equal(length, 21000);
    ll_document_close(d);
}

static void *cancel_soon(void *cancel)
{
    struct timespec pause = {.tv_nsec = 30000000};
    nanosleep(&pause, NULL);
    ll_cancel_request(cancel);
    return NULL;
}

static void waiting_for_a_pipe_nobody_writes_to_can_be_cancelled(void **state)
{
    (void)state;
    const char *path = "idle";
    pthread_t other;
    ll_run run;
    ll_document *d = NULL;
    ll_error error = {0};
    ll_run_init(&run);
    run.cancel = ll_cancel_new();
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(pthread_create(&other, NULL, cancel_soon, run.cancel), 0);
    assert_int_equal(ll_document_open(&path, 1, NULL, &run, &d, &error), LL_CANCELLED);
    pthread_join(other, NULL);
    ll_cancel_free(run.cancel);
}

static void more_bytes_than_allowed_are_refused_and_never_cut(void **state)
{
    (void)state;
    const char *path = "long";
    ll_document_options options;
    ll_document *d = NULL;
    ll_error error = {0};
    put_file(path, "0123456789 0123456789", 21);
    ll_document_options_init(&options);
    options.max_bytes = 20;
    assert_int_equal(ll_document_open(&path, 1, &options, NULL, &d, &error), LL_UNSUPPORTED);
    assert_non_null(strstr(error.text, "20 bytes"));
    options.max_bytes = 21;
    assert_int_equal(ll_document_open(&path, 1, &options, NULL, &d, &error), LL_OK);
    ll_document_close(d);
}

/* A ZIP file of one member, packed by libarchive. */
static void put_zip(const char *path, const char *name, const char *bytes, size_t length)
{
    struct archive *archive = archive_write_new();
    struct archive_entry *entry = archive_entry_new();
    assert_int_equal(archive_write_set_format_zip(archive), ARCHIVE_OK);
    assert_int_equal(archive_write_open_filename(archive, path), ARCHIVE_OK);
    archive_entry_set_pathname(entry, name);
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0644);
    archive_entry_set_size(entry, (la_int64_t)length);
    assert_int_equal(archive_write_header(archive, entry), ARCHIVE_OK);
    assert_int_equal(archive_write_data(archive, bytes, length), length);
    archive_entry_free(entry);
    assert_int_equal(archive_write_close(archive), ARCHIVE_OK);
    archive_write_free(archive);
}

static void what_unpacks_to_more_than_allowed_is_stopped_while_it_does(void **state)
{
    (void)state;
    enum { BYTES = 8 << 20 };
    const char *path = "bomb.zip";
    char *bytes = calloc(1, BYTES);
    ll_document_options options;
    ll_document *d = NULL;
    ll_error error = {0};
    struct stat info;
    assert_non_null(bytes);
    put_zip(path, "a.txt", bytes, BYTES);
    free(bytes);
    ll_document_options_init(&options);
    options.max_bytes = 1 << 20;
    assert_int_equal(stat(path, &info), 0);
    assert_true((size_t)info.st_size < options.max_bytes);
    assert_int_equal(ll_document_open(&path, 1, &options, NULL, &d, &error), LL_UNSUPPORTED);
    if (!strstr(error.text, "unpacks to more than 1048576 bytes"))
        fail_msg("%s", error.text);
}

static void standard_input_is_read_from_a_dash(void **state)
{
    (void)state;
    const char *path = "-";
    int keep = dup(STDIN_FILENO), ends[2];
    ll_document *d = NULL;
    ll_error error = {0};
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "Hello there.\n", 13), 13);
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    ll_status status = ll_document_open(&path, 1, NULL, NULL, &d, &error);
    dup2(keep, STDIN_FILENO);
    close(keep);
    assert_int_equal(status, LL_OK);
    assert_string_equal(ll_document_text(d, NULL), "Hello there.\n");
    ll_document_close(d);
}

static void a_text_with_form_feeds_has_pages(void **state)
{
    (void)state;
    ll_document *d = NULL;
    ll_error error = {0};
    struct strbuf text = {0};
    static const char *const words[] = {"sand", "soda", "lime", "fire", "lead"};
    for (int i = 1; i <= 5; i++) {
        strbuf_printf(&text, "RFC 99        Glass        May 1996\n\nThis is what page %d says about %s.\n",
                      i, words[i - 1]);
        for (int line = 0; line < 3; line++)
            strbuf_printf(&text, "Of %s a batch holds %d parts, and those who left it out learnt why.\n",
                          words[(i + line) % 5], i * 77 + line);
        strbuf_printf(&text, "\nBlower        Standards Track        [Page %d]\n\f", i);
    }
    put_file("rfc", text.text, text.length);
    assert_int_equal(open_one("rfc", &d, &error), LL_OK);
    ll_document_info info;
    assert_int_equal(ll_document_get_info(d, &info), LL_OK);
    assert_int_equal(info.pages, 5);
    const char *all = ll_document_text(d, NULL), *third = strstr(all, "page 3");
    assert_non_null(third);
    assert_null(strstr(all, "[Page 3]"));
    assert_int_equal(document_page(d, (size_t)(third - all)), 3);
    ll_document_close(d);
    strbuf_fini(&text);
}

static void the_title_of_a_memo_is_the_line_in_its_middle(void **state)
{
    (void)state;
    static const char text[] =
        "Network Working Group                      A. Weber\nRequest for Comments: 99\n\n\n"
        "           Glass file format version 2\n\nStatus of this memo\n\n   It is about glass.\n";
    ll_document *d = NULL;
    ll_error error = {0};
    ll_document_info info;
    assert_int_equal(ll_document_from_text(text, sizeof text - 1, NULL, &d, &error), LL_OK);
    assert_int_equal(ll_document_get_info(d, &info), LL_OK);
    assert_string_equal(info.title, "Glass file format version 2");
    ll_document_close(d);
}

static void options_of_another_size_are_refused(void **state)
{
    (void)state;
    ll_document_options options;
    ll_document *d = NULL;
    ll_error error = {0};
    ll_document_options_init(&options);
    options.size--;
    assert_int_equal(ll_document_from_text("x", 1, &options, &d, &error), LL_VERSION);
    ll_document_options_init(&options);
    options.kind = "sculpture";
    assert_int_equal(ll_document_from_text("x", 1, &options, &d, &error), LL_ARGUMENT);
    assert_non_null(strstr(error.text, "sculpture"));
    assert_int_equal(ll_document_open(NULL, 0, NULL, NULL, &d, &error), LL_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_content_decides_the_kind_and_not_the_name),
        cmocka_unit_test(several_files_become_one_document_with_a_section_each),
        cmocka_unit_test(one_bad_file_fails_the_call_and_is_named),
        cmocka_unit_test(empty_and_blank_files_are_refused),
        cmocka_unit_test(a_folder_without_anything_to_read_is_refused_by_name),
        cmocka_unit_test(odd_names_are_only_names),
        cmocka_unit_test(a_named_pipe_is_read_to_its_end),
        cmocka_unit_test(waiting_for_a_pipe_nobody_writes_to_can_be_cancelled),
        cmocka_unit_test(more_bytes_than_allowed_are_refused_and_never_cut),
        cmocka_unit_test(what_unpacks_to_more_than_allowed_is_stopped_while_it_does),
        cmocka_unit_test(standard_input_is_read_from_a_dash),
        cmocka_unit_test(a_text_with_form_feeds_has_pages),
        cmocka_unit_test(the_title_of_a_memo_is_the_line_in_its_middle),
        cmocka_unit_test(options_of_another_size_are_refused),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
