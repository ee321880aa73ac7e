/* A conversation's states: turns, undo, marks, fusion, and what comes back from a file.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "console/complete.h"
#include "console/conversation.h"
#include "console/parameter.h"
#include "unit.h"

static void say(struct conversation *c, const char *question, const char *answer)
{
    assert_true(conversation_keep(c));
    assert_true(conversation_add(c, "user", question, strlen(question), 0, false));
    assert_true(conversation_add(c, "assistant", answer, strlen(answer), 0, false));
}

static void expect_texts(const struct conversation *c, const char *wanted)
{
    struct text all = {0};
    for (size_t i = 0; i < c->now.count; i++)
        text_printf(&all, "%s|", c->now.messages[i]->text);
    assert_string_equal(text_string(&all), wanted);
    text_fini(&all);
}

static void undo_returns_through_every_turn(void **state)
{
    (void)state;
    struct conversation c = {0};
    say(&c, "one", "1");
    say(&c, "two", "2");
    expect_texts(&c, "one|1|two|2|");
    assert_true(conversation_undo(&c));
    expect_texts(&c, "one|1|");
    say(&c, "three", "3");
    assert_true(conversation_reset(&c));
    expect_texts(&c, "");
    assert_true(conversation_undo(&c));
    expect_texts(&c, "one|1|three|3|");
    assert_true(conversation_undo(&c));
    assert_true(conversation_undo(&c));
    expect_texts(&c, "");
    assert_false(conversation_undo(&c));
    conversation_fini(&c);
}

static void a_mark_is_returned_to_from_another_branch(void **state)
{
    (void)state;
    struct conversation c = {0};
    say(&c, "one", "1");
    assert_true(conversation_mark(&c, "fork"));
    say(&c, "left", "L");
    assert_true(conversation_mark(&c, "left"));
    assert_true(conversation_back(&c, conversation_find_mark(&c, "fork")));
    say(&c, "right", "R");
    expect_texts(&c, "one|1|right|R|");
    assert_true(conversation_back(&c, conversation_find_mark(&c, "left")));
    expect_texts(&c, "one|1|left|L|");
    assert_true(conversation_undo(&c));
    expect_texts(&c, "one|1|right|R|");
    assert_null(conversation_find_mark(&c, "nowhere"));
    conversation_fini(&c);
}

static void fusion_puts_a_summary_before_the_next_message_and_is_undone(void **state)
{
    (void)state;
    struct conversation c = {0};
    size_t length;
    say(&c, "one", "1");
    say(&c, "two", "2");
    assert_true(conversation_keep(&c));
    assert_true(conversation_fuse(&c, 2, "they counted"));
    assert_int_equal(c.now.count, 2);
    assert_non_null(strstr(c.now.messages[0]->text, "they counted"));
    assert_string_equal(conversation_typed(c.now.messages[0], &length), "two");
    assert_int_equal(length, 3);
    assert_false(conversation_fuse(&c, 2, "nothing would follow"));
    assert_true(conversation_undo(&c));
    expect_texts(&c, "one|1|two|2|");
    conversation_fini(&c);
}

static void hear_document(void *user, const char *document)
{
    text_printf(user, "%s;", document);
}

static void all_of_it_comes_back_from_its_written_form(void **state)
{
    (void)state;
    struct conversation c = {0}, back = {0};
    struct text written = {0}, again = {0}, heard = {0}, problem = {0};
    const char *paths[] = {"a file.txt", "b.pdf"};
    assert_true(conversation_set_system(&c, "be \"brief\""));
    say(&c, "one\n", "1");
    assert_true(conversation_mark(&c, "fork"));
    say(&c, "zwei\xC3\xA4", "");
    assert_true(conversation_back(&c, conversation_find_mark(&c, "fork")));
    assert_true(conversation_add(&c, "user", "doc: typed", 10, 5, false));
    assert_true(conversation_add(&c, "assistant", "half", 4, 0, true));
    conversation_write(&c, paths, 2, &written);
    assert_true(conversation_read(&back, written.bytes, written.length, hear_document, &heard, &problem));
    assert_string_equal(text_string(&heard), "a file.txt;b.pdf;");
    assert_string_equal(back.system, "be \"brief\"");
    assert_true(back.now.messages[3]->partial);
    assert_int_equal(back.now.messages[2]->prefix, 5);
    conversation_write(&back, paths, 2, &again);
    assert_string_equal(text_string(&written), text_string(&again));
    while (conversation_undo(&c))
        assert_true(conversation_undo(&back));
    assert_false(conversation_undo(&back));
    text_fini(&written);
    text_fini(&again);
    text_fini(&heard);
    conversation_fini(&c);
    conversation_fini(&back);
}

static void a_changed_byte_of_the_written_form_is_refused_or_harmless(void **state)
{
    (void)state;
    struct conversation c = {0};
    struct text written = {0};
    unit_seed();
    say(&c, "one", "1");
    assert_true(conversation_mark(&c, "here"));
    conversation_write(&c, NULL, 0, &written);
    for (size_t round = 0; round < unit_rounds(2000); round++) {
        struct conversation back = {0};
        struct text problem = {0}, changed = {0};
        text_append(&changed, written.bytes, written.length);
        changed.bytes[unit_below(changed.length)] = (char)unit_random();
        if (unit_below(4) == 0)
            changed.length = unit_below(changed.length);
        bool ok = conversation_read(&back, text_string(&changed), changed.length, NULL, NULL, &problem);
        assert_true(ok == (problem.length == 0));
        conversation_fini(&back);
        text_fini(&changed);
        text_fini(&problem);
    }
    text_fini(&written);
    conversation_fini(&c);
}

static void exports_hold_the_words_and_no_live_markup(void **state)
{
    (void)state;
    struct conversation c = {0};
    struct text out = {0};
    say(&c, "<script>x</script>", "a & b");
    conversation_export(&c, FORM_HTML, "model", &out);
    assert_null(strstr(text_string(&out), "<script>"));
    assert_non_null(strstr(text_string(&out), "a &amp; b"));
    text_clear(&out);
    conversation_export(&c, FORM_JSON, "model", &out);
    assert_non_null(strstr(text_string(&out), "\"role\": \"user\""));
    text_clear(&out);
    conversation_export(&c, FORM_MARKDOWN, "model", &out);
    assert_non_null(strstr(text_string(&out), "## You\n\n<script>x</script>\n"));
    text_fini(&out);
    conversation_fini(&c);
}

static void expect_completion(const char *line, const char *wanted)
{
    struct completion c;
    struct text all = {0};
    complete_line(&c, IN_REPL, line, strlen(line), NULL);
    for (size_t i = 0; i < c.count; i++)
        text_printf(&all, "%s ", c.items[i]);
    assert_string_equal(text_string(&all), wanted);
    completion_fini(&c);
    text_fini(&all);
}

static void commands_and_parameters_are_completed_and_prose_is_not(void **state)
{
    (void)state;
    expect_completion("/loa", "/load ");
    expect_completion("loa", "");
    expect_completion("/params top", "top-k top-p ");
    expect_completion("/params length s", "short ");
    expect_completion("/sum", "/sum ");
    expect_completion("/quit now", "");
}

static void parameters_are_set_by_name_and_refused_in_a_sentence(void **state)
{
    (void)state;
    struct settings settings;
    struct text problem = {0};
    assert_true(settings_init(&settings));
    assert_true(parameter_set(&settings, "top_k 5", 7, &problem));
    assert_int_equal(settings_count(&settings, OPTION_TOP_K, 0), 5);
    assert_true(parameter_set(&settings, "temp=0.5", 8, &problem));
    assert_false(parameter_set(&settings, "tmep 1", 6, &problem));
    assert_non_null(strstr(text_string(&problem), "did you mean temp?"));
    text_clear(&problem);
    assert_false(parameter_set(&settings, "model x", 7, &problem));
    text_clear(&problem);
    assert_false(parameter_set(&settings, "temp", 4, &problem));
    assert_non_null(strstr(text_string(&problem), "needs a value"));
    text_fini(&problem);
    settings_fini(&settings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(undo_returns_through_every_turn),
        cmocka_unit_test(a_mark_is_returned_to_from_another_branch),
        cmocka_unit_test(fusion_puts_a_summary_before_the_next_message_and_is_undone),
        cmocka_unit_test(all_of_it_comes_back_from_its_written_form),
        cmocka_unit_test(a_changed_byte_of_the_written_form_is_refused_or_harmless),
        cmocka_unit_test(exports_hold_the_words_and_no_live_markup),
        cmocka_unit_test(commands_and_parameters_are_completed_and_prose_is_not),
        cmocka_unit_test(parameters_are_set_by_name_and_refused_in_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
