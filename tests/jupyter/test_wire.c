/* The kernel's parts from inside: signatures, replay memory, messages, connection files, cells as steps.
 * SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "jupyter_kernel/connection.h"
#include "jupyter_kernel/magic.h"
#include "jupyter_kernel/script.h"
#include "jupyter_kernel/wire.h"

/* RFC 4231, test case 2, the data in two frames. */
static void signatures_are_those_of_the_standard(void **state)
{
    (void)state;
    struct signer signer;
    struct frame frames[] = {{"what do ya want ", 16}, {"for nothing?", 12}};
    char out[SIGNATURE_DIGITS + 1];
    assert_true(signer_init(&signer, "Jefe", 4));
    assert_true(signer_sign(&signer, frames, 2, out));
    assert_string_equal(out, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    assert_true(signer_sign(&signer, frames, 2, out));
    assert_string_equal(out, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    signer_fini(&signer);
}

static void any_changed_bit_spoils_a_signature(void **state)
{
    (void)state;
    struct signer signer;
    char text[40], out[SIGNATURE_DIGITS + 1];
    unsigned char digest[SIGNATURE_BYTES];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)unit_below(256);
    assert_true(signer_init(&signer, text, 1 + unit_below(sizeof text - 1)));
    struct frame frame = {text, sizeof text}, given = {out, SIGNATURE_DIGITS};
    assert_true(signer_sign(&signer, &frame, 1, out));
    assert_true(signer_verify(&signer, &given, &frame, 1, digest));
    for (size_t bit = 0; bit < 8 * sizeof text; bit++) {
        text[bit / 8] ^= (char)(1 << bit % 8);
        assert_false(signer_verify(&signer, &given, &frame, 1, digest));
        text[bit / 8] ^= (char)(1 << bit % 8);
    }
    for (size_t bit = 0; bit < 8 * SIGNATURE_DIGITS; bit++) {
        out[bit / 8] ^= (char)(1 << bit % 8);
        assert_false(signer_verify(&signer, &given, &frame, 1, digest));
        out[bit / 8] ^= (char)(1 << bit % 8);
    }
    for (given.length = 0; given.length < SIGNATURE_DIGITS; given.length++)
        assert_false(signer_verify(&signer, &given, &frame, 1, digest));
    signer_fini(&signer);
}

static void number_digest(unsigned char digest[SIGNATURE_BYTES], uint64_t number, bool crowded)
{
    memset(digest, 0, SIGNATURE_BYTES);
    memcpy(digest + 8, &number, sizeof number);
    uint64_t hash = crowded ? number % 7 : number * 0x9E3779B97F4A7C15u;
    memcpy(digest, &hash, 4);
}

/* Also when many digests share few places of the table. */
static void replay_memory_knows_the_last_65536_and_forgets_the_oldest(void **state)
{
    (void)state;
    struct replay *replay = replay_new();
    unsigned char digest[SIGNATURE_BYTES];
    uint64_t base = unit_random();
    assert_non_null(replay);
    for (uint64_t i = 0; i < 200000; i++) {
        number_digest(digest, base + i, false);
        assert_true(replay_add(replay, digest));
        assert_false(replay_add(replay, digest));
        if (i % 1000 == 0 && i > 65536) {
            number_digest(digest, base + i - 65535, false);
            assert_false(replay_add(replay, digest)); /* the oldest one kept */
        }
    }
    number_digest(digest, base + 200000 - 65537, false);
    assert_true(replay_add(replay, digest)); /* forgotten, so new */
    replay_free(replay);
    replay = replay_new();
    for (uint64_t i = 0; i < 1000; i++) {
        number_digest(digest, i, true);
        assert_true(replay_add(replay, digest));
    }
    for (uint64_t i = 0; i < 1000; i++) {
        number_digest(digest, i, true);
        assert_false(replay_add(replay, digest));
    }
    replay_free(replay);
}

static void what_is_written_is_read_once(void **state)
{
    (void)state;
    struct wire_shared shared;
    struct wire wire;
    struct outgoing out;
    struct message message;
    struct text parent = {0};
    json_t *content = json_pack("{s:s}", "code", "\xF0\x9F\x8C\xB3");
    assert_true(wire_shared_init(&shared, "secret", 6));
    assert_true(wire_init(&wire, &shared));
    text_puts(&parent, "{\"msg_id\":  \"as it was\"}");
    assert_true(wire_write(&wire, "execute_request", &parent, NULL, content, &out));
    struct frame frames[8] = {{"id", 2}, {WIRE_DELIMITER, 9}, {out.signature, SIGNATURE_DIGITS}};
    for (size_t i = 0; i < 4; i++)
        frames[3 + i] = (struct frame){text_string(&out.parts[i]), out.parts[i].length};
    assert_string_equal(text_string(&out.parts[1]), text_string(&parent));
    assert_null(wire_read(&wire, frames, 7, &message));
    assert_string_equal(message.type, "execute_request");
    assert_int_equal(message.identity_count, 1);
    assert_true(json_equal(message.content, content));
    assert_int_equal(message.header.length, out.parts[0].length);
    message_fini(&message);
    assert_non_null(wire_read(&wire, frames, 7, &message)); /* a second time */
    outgoing_fini(&out);
    text_fini(&parent);
    json_decref(content);
    wire_fini(&wire);
    wire_shared_fini(&shared);
}

static void every_missing_frame_is_noticed(void **state)
{
    (void)state;
    struct wire_shared shared;
    struct wire wire;
    struct message message;
    static const char header[] = "{\"msg_id\": \"1\", \"msg_type\": \"x\"}";
    struct frame frames[] = {{"id", 2}, {WIRE_DELIMITER, 9}, {"", 0},  {header, sizeof header - 1},
                             {"{}", 2}, {"{}", 2},           {"{}", 2}};
    assert_true(wire_shared_init(&shared, "", 0));
    assert_true(wire_init(&wire, &shared));
    for (size_t count = 0; count < 7; count++)
        assert_non_null(wire_read(&wire, frames, count, &message));
    assert_null(wire_read(&wire, frames, 7, &message));
    message_fini(&message);
    assert_null(wire_read(&wire, frames + 1, 6, &message)); /* no identity is no matter */
    message_fini(&message);
    wire_fini(&wire);
    wire_shared_fini(&shared);
}

/* ---- connection files ---- */

static void connection_endpoints_are_spelt_for_each_transport(void **state)
{
    (void)state;
    static const char *const forms[][2] = {{"tcp\", \"ip\": \"127.0.0.1", "tcp://127.0.0.1:4"},
                                           {"tcp\", \"ip\": \"::1", "tcp://[::1]:4"},
                                           {"ipc\", \"ip\": \"/run/k", "ipc:///run/k-4"}};
    for (size_t i = 0; i < 3; i++) {
        struct connection connection;
        struct text problem = {0}, file = {0}, endpoint = {0};
        text_printf(
            &file,
            "{\"transport\": \"%s\", \"key\": \"k\", \"shell_port\": 1, \"iopub_port\": 2, \"stdin_port\": 3,"
            " \"control_port\": \"4\", \"hb_port\": 5, \"more\": {\"unknown\": [1]}}",
            forms[i][0]);
        assert_true(connection_parse(&connection, file.bytes, file.length, &problem));
        connection_endpoint(&connection, PORT_CONTROL, &endpoint);
        assert_string_equal(text_string(&endpoint), forms[i][1]);
        connection_fini(&connection);
        text_fini(&file);
        text_fini(&endpoint);
        text_fini(&problem);
    }
}

/* ---- cells ---- */

static void expect_steps(const char *cell, const char *wanted)
{
    static const char *const kinds[] = {"line", "block", "parameters", "prompt"};
    struct script script;
    struct step step;
    struct text got = {0};
    script_begin(&script, cell, strlen(cell));
    while (script_next(&script, &step))
        text_printf(&got, "%s<%.*s><%.*s> ", kinds[step.kind], (int)step.line_length,
                    step.line ? step.line : "", (int)step.body_length, step.body ? step.body : "");
    assert_string_equal(text_string(&got), wanted);
    text_fini(&got);
}

static void cells_are_taken_apart_into_magics_and_a_prompt(void **state)
{
    (void)state;
    expect_steps("", "");
    expect_steps(" \n\t\n", "");
    expect_steps("What is it?\n", "prompt<><What is it?> ");
    expect_steps("\n%params a=1 \r\n%memory\n\nSay 100%\n%not a magic", "line<%params a=1><> line<%memory><> "
                                                                        "prompt<><Say 100%\n%not a magic> ");
    expect_steps("%%summarize a file\nline 1\n%line 2\n\n", "block<%summarize a file><line 1\n%line 2> ");
    expect_steps("%params a=1\n%%ask\nwhy", "line<%params a=1><> block<%ask><why> ");
    expect_steps("%%summarize", "block<%summarize><> ");
    expect_steps("\\%load is a word", "prompt<><%load is a word> ");
    expect_steps("\\\\ backslash", "prompt<><\\ backslash> ");
    expect_steps("\\n", "prompt<><\\n> ");
    expect_steps("# Parameters\nx = 3\n", "parameters<><x = 3> ");
    expect_steps("# Parameters\nof this study are three", "prompt<><# Parameters\nof this study are three> ");
    expect_steps("# Parameters", "prompt<><# Parameters> ");
}

static void assignments_are_taken_pythons_way(void **state)
{
    (void)state;
    static const char *const cases[][3] = {{"x = 3", "x", "3"},
                                           {"  long_name='a b' ", "long_name", "a b"},
                                           {"top-k=\"\"", "top-k", ""},
                                           {"a = b = c", "a", "b = c"},
                                           {"a=", "a", ""}};
    static const char *const wrong[] = {"", "=", "3 = x", "a b = c", "x", "x + 3", "\"x\" = 3"};
    const char *name, *value;
    size_t name_length, value_length;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(
            script_assignment(cases[i][0], strlen(cases[i][0]), &name, &name_length, &value, &value_length));
        assert_int_equal(name_length, strlen(cases[i][1]));
        assert_memory_equal(name, cases[i][1], name_length);
        assert_int_equal(value_length, strlen(cases[i][2]));
        assert_memory_equal(value, cases[i][2], value_length);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(
            script_assignment(wrong[i], strlen(wrong[i]), &name, &name_length, &value, &value_length));
}

static void every_command_of_notebooks_has_a_magic_and_no_other(void **state)
{
    (void)state;
    for (int i = 0; i < COMMAND_COUNT; i++)
        assert_int_equal(magic_row((enum command)i)->run != NULL,
                         command_is_in((enum command)i, IN_NOTEBOOK));
}

/* ---- text for front ends ---- */

static void markdown_and_html_from_outside_are_no_markup(void **state)
{
    (void)state;
    struct text out = {0};
    static const char hostile[] = "<img src=x>![a](http://b) $x$ *b* `c` & #";
    markdown_append(&out, hostile, sizeof hostile - 1);
    assert_null(strstr(text_string(&out), "<"));
    assert_non_null(strstr(text_string(&out), "\\!\\[a\\]"));
    text_clear(&out);
    html_append(&out, "<b a=\"c\">&");
    assert_string_equal(text_string(&out), "&lt;b a=&quot;c&quot;&gt;&amp;");
    text_fini(&out);
}

int main(void)
{
    unit_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signatures_are_those_of_the_standard),
        cmocka_unit_test(any_changed_bit_spoils_a_signature),
        cmocka_unit_test(replay_memory_knows_the_last_65536_and_forgets_the_oldest),
        cmocka_unit_test(what_is_written_is_read_once),
        cmocka_unit_test(every_missing_frame_is_noticed),
        cmocka_unit_test(connection_endpoints_are_spelt_for_each_transport),
        cmocka_unit_test(cells_are_taken_apart_into_magics_and_a_prompt),
        cmocka_unit_test(assignments_are_taken_pythons_way),
        cmocka_unit_test(every_command_of_notebooks_has_a_magic_and_no_other),
        cmocka_unit_test(markdown_and_html_from_outside_are_no_markup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
