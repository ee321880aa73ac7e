/* Tests of document/pdf and document/child: real PDF files through poppler, and children that misbehave.
 * SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "readers/child.h"
#include "document/document.h"
#include "readers/pdf_writer.h"
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

/* poppler is a program to be installed beside longleaf; without it these cases cannot run. */
static bool have_poppler(void)
{
    bool found = access("/usr/bin/pdftotext", X_OK) == 0 || access("/usr/local/bin/pdftotext", X_OK) == 0;
    if (!found)
        print_message("# pdftotext is not installed (package poppler-utils)\n");
    return found;
}

static void put_pdf(const char *name, const struct pdf_file *file, size_t keep_bytes)
{
    struct strbuf bytes;
    pdf_write(file, &bytes);
    FILE *out = fopen(name, "wb");
    assert_non_null(out);
    size_t length = keep_bytes && keep_bytes < bytes.length ? keep_bytes : bytes.length;
    assert_int_equal(fwrite(bytes.text, 1, length, out), length);
    fclose(out);
    strbuf_fini(&bytes);
}

static ll_status open_one(const char *path, ll_document **ret, ll_error *error)
{
    return ll_document_open(&path, 1, NULL, NULL, ret, error);
}

static void expect_refusal(const char *path, const char *part)
{
    ll_document *d = NULL;
    ll_error error = {0};
    assert_int_equal(open_one(path, &d, &error), LL_UNREADABLE);
    if (!strstr(error.text, part))
        fail_msg("\"%s\" lacks \"%s\"", error.text, part);
}

static const char letters[] = "Glass is made of sand, soda and lime. The mixture is heated until it melts.";

static void pages_and_title_of_a_pdf_are_known(void **state)
{
    (void)state;
    if (!have_poppler())
        skip();
    struct pdf_page pages[] = {
        {letters, false},
        {"The second page tells of furnaces and of the people who tend them.", false},
        {"The third page tells of colours: cobalt gives blue, iron gives green.", false}};
    struct pdf_file file = {pages, 3, "On Glass", false};
    ll_document *d = NULL;
    ll_error error = {0};
    ll_document_info info;
    put_pdf("--glass.pdf", &file, 0); /* a name that looks like an option */
    if (open_one("--glass.pdf", &d, &error) != LL_OK)
        fail_msg("%s", error.text);
    assert_int_equal(ll_document_get_info(d, &info), LL_OK);
    assert_string_equal(info.title, "On Glass");
    assert_string_equal(info.kind, "pdf");
    assert_int_equal(info.pages, 3);
    assert_int_equal(info.unread_pages, 0);
    const char *text = ll_document_text(d, NULL), *cobalt = strstr(text, "cobalt");
    assert_non_null(cobalt);
    assert_int_equal(document_page(d, (size_t)(cobalt - text)), 3);
    assert_int_equal(document_page(d, 0), 1);
    ll_document_close(d);
}

static void headers_and_page_numbers_of_a_pdf_are_left_out(void **state)
{
    (void)state;
    if (!have_poppler())
        skip();
    static char texts[6][256];
    struct pdf_page pages[6];
    for (int i = 0; i < 6; i++) {
        snprintf(
            texts[i], sizeof texts[i],
            "The Glass Report 2026\n \nThis page, which is about item %d, says what that item is for.\t%d",
            i * 37 + 5, i + 1);
        pages[i] = (struct pdf_page){texts[i], false};
    }
    struct pdf_file file = {pages, 6, NULL, false};
    ll_document *d = NULL;
    ll_error error = {0};
    put_pdf("report.pdf", &file, 0);
    assert_int_equal(open_one("report.pdf", &d, &error), LL_OK);
    const char *text = ll_document_text(d, NULL), *first = strstr(text, "The Glass Report 2026");
    assert_non_null(first);
    assert_null(strstr(first + 1, "The Glass Report 2026"));
    assert_null(strstr(text, "\n4\n"));
    assert_non_null(strstr(text, "item 190"));
    ll_document_close(d);
}

static void a_scan_is_refused_and_ocr_is_named(void **state)
{
    (void)state;
    if (!have_poppler())
        skip();
    struct pdf_page pages[] = {{"", true}, {"2", true}};
    struct pdf_file file = {pages, 2, NULL, false};
    put_pdf("scan.pdf", &file, 0);
    expect_refusal("scan.pdf", "OCR");
}

static void a_partial_scan_is_read_and_its_pictured_pages_are_listed(void **state)
{
    (void)state;
    if (!have_poppler())
        skip();
    struct pdf_page pages[] = {{letters, false}, {"", true}, {"3", true}, {letters, false}, {"", false}};
    struct pdf_file file = {pages, 5, NULL, false};
    ll_document *d = NULL;
    ll_error error = {0};
    ll_document_info info;
    put_pdf("part.pdf", &file, 0);
    if (open_one("part.pdf", &d, &error) != LL_OK)
        fail_msg("%s", error.text);
    assert_int_equal(ll_document_get_info(d, &info), LL_OK);
    assert_int_equal(info.pages, 5);
    assert_int_equal(info.unread_pages, 2); /* a blank page is no scan */
    assert_int_equal(ll_document_note_count(d), 1);
    assert_non_null(strstr(ll_document_note(d, 0), "pages 2-3"));
    assert_null(ll_document_note(d, 1));
    ll_document_close(d);
}

static void a_locked_pdf_asks_for_its_password(void **state)
{
    (void)state;
    if (!have_poppler())
        skip();
    struct pdf_page pages[] = {{letters, false}};
    struct pdf_file file = {pages, 1, NULL, true};
    put_pdf("locked.pdf", &file, 0);
    expect_refusal("locked.pdf", "needs a password");
    if (access("/usr/bin/qpdf", X_OK) != 0) /* a password needs qpdf */
        return;
    const char *path = "locked.pdf";
    ll_document_options options;
    ll_document *d = NULL;
    ll_error error = {0};
    ll_document_options_init(&options);
    options.password = "wrong";
    assert_int_equal(ll_document_open(&path, 1, &options, NULL, &d, &error), LL_UNREADABLE);
    assert_non_null(strstr(error.text, "password given"));
}

static void a_file_that_only_begins_like_a_pdf_is_refused_with_the_reason(void **state)
{
    (void)state;
    if (!have_poppler())
        skip();
    FILE *out = fopen("stub.pdf", "wb");
    fputs("%PDF-1.7\nnothing follows\n", out);
    fclose(out);
    expect_refusal("stub.pdf", "stub.pdf");
}

static void a_pdf_through_a_pipe_is_read(void **state)
{
    (void)state;
    if (!have_poppler())
        skip();
    struct pdf_page pages[] = {{letters, false}};
    struct pdf_file file = {pages, 1, NULL, false};
    struct strbuf bytes;
    const char *path = "-";
    int ends[2], keep = dup(STDIN_FILENO);
    ll_document *d = NULL;
    ll_error error = {0};
    pdf_write(&file, &bytes);
    assert_int_equal(pipe(ends), 0);
    assert_true(bytes.length < 60000); /* fits into the pipe */
    assert_int_equal(write(ends[1], bytes.text, bytes.length), bytes.length);
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    ll_status status = ll_document_open(&path, 1, NULL, NULL, &d, &error);
    dup2(keep, STDIN_FILENO);
    close(keep);
    if (status != LL_OK)
        fail_msg("%s", error.text);
    assert_non_null(strstr(ll_document_text(d, NULL), "sand, soda and lime"));
    ll_document_close(d);
    strbuf_fini(&bytes);
}

static void without_poppler_the_package_is_named(void **state)
{
    (void)state;
    struct pdf_page pages[] = {{letters, false}};
    struct pdf_file file = {pages, 1, NULL, false};
    ll_document *d = NULL;
    ll_error error = {0};
    const char *kept = getenv("PATH");
    char *path = strdup(kept ? kept : "");
    put_pdf("glass.pdf", &file, 0);
    setenv("PATH", "/nonexistent", 1);
    ll_status status = open_one("glass.pdf", &d, &error);
    setenv("PATH", path, 1);
    free(path);
    assert_int_equal(status, LL_UNSUPPORTED);
    assert_non_null(strstr(error.text, "poppler-utils"));
}

/* A program of this name and these lines of shell comes before the installed one, until restore. */
static char *put_program(const char *name, const char *lines)
{
    const char *kept = getenv("PATH");
    char *path = strdup(kept ? kept : "/usr/bin:/bin");
    struct strbuf longer = {0};
    FILE *out = fopen(name, "wb");
    assert_non_null(out);
    fprintf(out, "#!/bin/sh\n%s\n", lines);
    fclose(out);
    assert_int_equal(chmod(name, 0755), 0);
    strbuf_printf(&longer, ".:%s", path);
    setenv("PATH", longer.text, 1);
    strbuf_fini(&longer);
    return path;
}

static void take_program_away(const char *name, char *path)
{
    setenv("PATH", path, 1);
    free(path);
    unlink(name);
}

static void a_pdf_without_pages_is_refused(void **state)
{
    (void)state;
    if (!have_poppler())
        skip();
    struct pdf_page pages[] = {{letters, false}};
    struct pdf_file file = {pages, 1, NULL, false};
    put_pdf("none.pdf", &file, 0);
    char *path = put_program("pdftotext", "exit 0");
    expect_refusal("none.pdf", "nothing to read");
    take_program_away("pdftotext", path);
}

static void pictures_that_could_not_be_looked_for_are_told_of(void **state)
{
    (void)state;
    if (!have_poppler())
        skip();
    struct pdf_page pages[] = {{letters, false}, {"Few.", false}};
    struct pdf_file file = {pages, 2, NULL, false};
    ll_document *d = NULL;
    ll_error error = {0};
    put_pdf("few.pdf", &file, 0);
    char *path = put_program("pdfimages", "exit 1");
    ll_status status = open_one("few.pdf", &d, &error);
    take_program_away("pdfimages", path);
    if (status != LL_OK)
        fail_msg("%s", error.text);
    assert_non_null(ll_document_note(d, 0));
    assert_non_null(strstr(ll_document_note(d, 0), "could not be found out"));
    ll_document_close(d);
}

static void converters_that_do_not_start_are_told_from_damaged_files(void **state)
{
    (void)state;
    if (!have_poppler())
        skip();
    struct pdf_page pages[] = {{letters, false}};
    struct pdf_file file = {pages, 1, NULL, false};
    put_pdf("sound.pdf", &file, 0);
    char *path = put_program("pdftotext", "exit 127");
    expect_refusal("sound.pdf", "do not start");
    take_program_away("pdftotext", path);
}

/* ---- children -------------------------------------------------------------------------------- */

static const struct child_limits usual = {
    .memory_bytes = (size_t)4 << 30, .output_bytes = 1 << 20, .seconds = 20};

static void a_child_reads_its_input_and_its_output_comes_back(void **state)
{
    (void)state;
    const char *argv[] = {"cat", CHILD_INPUT, NULL};
    struct child_result result;
    ll_error error;
    FILE *out = fopen("input", "wb");
    fputs("some bytes", out);
    fclose(out);
    int fd = open("input", O_RDONLY);
    assert_int_equal(child_run(argv, fd, &usual, NULL, &result, &error), LL_OK);
    assert_string_equal(strbuf_text(&result.out), "some bytes");
    assert_int_equal(result.exit_code, 0);
    child_result_fini(&result);
    close(fd);
}

static void a_child_that_writes_too_much_is_stopped(void **state)
{
    (void)state;
    const char *argv[] = {"yes", NULL};
    struct child_result result;
    ll_error error;
    int fd = open("/dev/null", O_RDONLY);
    assert_int_equal(child_run(argv, fd, &usual, NULL, &result, &error), LL_OK);
    assert_true(result.too_much);
    assert_true(result.out.length <= usual.output_bytes);
    child_result_fini(&result);
    close(fd);
}

static void a_child_that_hangs_is_stopped_at_its_deadline(void **state)
{
    (void)state;
    const char *argv[] = {"sleep", "600", NULL};
    struct child_limits limits = usual;
    struct child_result result;
    ll_error error;
    limits.seconds = 0.1;
    int fd = open("/dev/null", O_RDONLY);
    assert_int_equal(child_run(argv, fd, &limits, NULL, &result, &error), LL_OK);
    assert_true(result.too_long);
    assert_int_equal(result.exit_code, -1);
    child_result_fini(&result);
    close(fd);
}

static void a_child_that_closes_its_streams_and_stays_is_stopped(void **state)
{
    (void)state;
    const char *argv[] = {"sh", "-c", "exec >&- 2>&-; sleep 600", NULL};
    struct child_limits limits = usual;
    struct child_result result;
    ll_error error;
    limits.seconds = 0.1;
    int fd = open("/dev/null", O_RDONLY);
    assert_int_equal(child_run(argv, fd, &limits, NULL, &result, &error), LL_OK);
    assert_true(result.too_long);
    child_result_fini(&result);
    close(fd);
}

struct canceller {
    ll_cancel *cancel;
    int told; /* the child writes to the other end when it has said something */
};

static void *cancel_when_told(void *user)
{
    struct canceller *canceller = user;
    struct timespec pause = {.tv_nsec = 30000000}; /* for the words to be taken */
    char byte;
    assert_int_equal(read(canceller->told, &byte, 1), 1);
    nanosleep(&pause, NULL);
    ll_cancel_request(canceller->cancel);
    return NULL;
}

static void a_child_is_killed_on_cancel_and_nothing_is_kept_of_it(void **state)
{
    (void)state;
    const char *argv[] = {"sh", "-c", "echo up; echo down >&2; echo x >&3; exec sleep 600", NULL};
    struct child_result result;
    ll_error error;
    pthread_t other;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct canceller canceller = {ll_cancel_new(), ends[0]};
    assert_int_equal(pthread_create(&other, NULL, cancel_when_told, &canceller), 0);
    assert_int_equal(child_run(argv, ends[1], &usual, canceller.cancel, &result, &error), LL_CANCELLED);
    pthread_join(other, NULL);
    assert_null(result.out.text);
    assert_null(result.complaint.text);
    ll_cancel_free(canceller.cancel);
    close(ends[0]);
    close(ends[1]);
}

/* The child holds the writing end of a pipe as its input: the pipe ends when the child does. */
static void a_child_ends_with_a_program_that_is_killed(void **state)
{
    (void)state;
    const char *argv[] = {"sh", "-c", "echo up >&3; exec sleep 600", NULL};
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    pid_t program = fork();
    assert_true(program >= 0);
    if (program == 0) {
        struct child_result result;
        ll_error error;
        struct child_limits limits = usual;
        limits.seconds = 600;
        (void)child_run(argv, ends[1], &limits, NULL, &result, &error);
        _exit(0);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_int_equal(kill(program, SIGKILL), 0);
    assert_int_equal(waitpid(program, NULL, 0), program);
    struct pollfd wait = {.fd = ends[0], .events = POLLIN};
    ssize_t got = 1;
    while (got > 0 && poll(&wait, 1, 60000) > 0)
        got = read(ends[0], &byte, 1);
    assert_int_equal(got, 0);
    close(ends[0]);
}

static void what_a_child_complains_of_is_kept_and_bounded(void **state)
{
    (void)state;
    const char *argv[] = {"sh", "-c",
                          "echo broken >&2; yes complaint 2>/dev/null | head -c 300000 >&2; exit 3", NULL};
    struct child_result result;
    ll_error error;
    int fd = open("/dev/null", O_RDONLY);
    assert_int_equal(child_run(argv, fd, &usual, NULL, &result, &error), LL_OK);
    assert_int_equal(result.exit_code, 3);
    assert_int_equal(strncmp(strbuf_text(&result.complaint), "broken\n", 7), 0);
    assert_true(result.complaint.length <= 4096);
    child_result_fini(&result);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_and_title_of_a_pdf_are_known),
        cmocka_unit_test(headers_and_page_numbers_of_a_pdf_are_left_out),
        cmocka_unit_test(a_scan_is_refused_and_ocr_is_named),
        cmocka_unit_test(a_partial_scan_is_read_and_its_pictured_pages_are_listed),
        cmocka_unit_test(a_locked_pdf_asks_for_its_password),
        cmocka_unit_test(a_file_that_only_begins_like_a_pdf_is_refused_with_the_reason),
        cmocka_unit_test(a_pdf_through_a_pipe_is_read),
        cmocka_unit_test(without_poppler_the_package_is_named),
        cmocka_unit_test(a_pdf_without_pages_is_refused),
        cmocka_unit_test(pictures_that_could_not_be_looked_for_are_told_of),
        cmocka_unit_test(converters_that_do_not_start_are_told_from_damaged_files),
        cmocka_unit_test(a_child_reads_its_input_and_its_output_comes_back),
        cmocka_unit_test(a_child_that_writes_too_much_is_stopped),
        cmocka_unit_test(a_child_that_hangs_is_stopped_at_its_deadline),
        cmocka_unit_test(a_child_that_closes_its_streams_and_stays_is_stopped),
        cmocka_unit_test(a_child_is_killed_on_cancel_and_nothing_is_kept_of_it),
        cmocka_unit_test(a_child_ends_with_a_program_that_is_killed),
        cmocka_unit_test(what_a_child_complains_of_is_kept_and_bounded),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
