/* Tests of document/chunk: each byte owned once, no window too large, cuts that survive edits.
 * SPDX-License-Identifier: Apache-2.0 */
#include "document/chunk.h"

#include "base/hash.h"
#include "readers/words.h"
#include "document/toy_llm.h"

static ll_document *open_text(const char *text, size_t length)
{
    ll_document *document = NULL;
    ll_error error = {0};
    if (ll_document_from_text(text, length, NULL, &document, &error) != LL_OK)
        fail_msg("%s", error.text);
    return document;
}

/* Chunks and checks what holds for any text. */
static struct window_list chunk(const ll_document *d, const struct llm *llm, size_t tokens, size_t overlap)
{
    struct window_list windows = {0};
    struct chunking job = {.document = d, .llm = llm, .tokens = tokens, .overlap = overlap};
    uint64_t total = 0;
    ll_error error = {0};
    if (chunk_make(&job, &windows, &total, &error) != LL_OK)
        fail_msg("%s", error.text);
    size_t next = 0;
    for (size_t i = 0; i < windows.count; i++) {
        const struct window *w = &windows.items[i];
        struct strbuf text = {0};
        struct token_list list = {0};
        assert_int_equal(w->first, next); /* no gap, no byte twice */
        assert_true(w->last > w->first && w->text_first <= w->first);
        window_text(d, w, &text);
        assert_int_equal(toy_encode_text(NULL, strbuf_text(&text), text.length, &list, NULL), LL_OK);
        assert_true(list.count <= tokens);
        assert_true(list.count == w->tokens || i + 1 == windows.count || w->tokens <= tokens);
        assert_true(w->last == d->text.length || ((unsigned char)d->text.text[w->last] & 0xC0) != 0x80);
        strbuf_fini(&text);
        token_list_fini(&list);
        next = w->last;
    }
    assert_int_equal(next, d->text.length);
    return windows;
}

static void put_sentence(struct strbuf *text, size_t words)
{
    for (size_t i = 0; i < words; i++) {
        strbuf_printf(text, "%s%c%c%c%c", i ? " " : "", (int)((i ? 'a' : 'A') + (int)unit_below(26)),
                      (int)('a' + unit_below(26)), (int)('a' + unit_below(26)), (int)('a' + unit_below(26)));
    }
    strbuf_puts(text, ". ");
}

static void put_paragraph(struct strbuf *text)
{
    for (size_t i = 1 + unit_below(6); i > 0; i--)
        put_sentence(text, 3 + unit_below(25));
    strbuf_puts(text, "\n\n");
}

static void every_byte_of_random_texts_is_owned_by_exactly_one_window(void **state)
{
    (void)state;
    struct toy toy = {0};
    struct llm llm = toy_llm(&toy, 100000000, 8192);
    unit_seed();
    for (size_t round = 0; round < unit_rounds(150); round++) {
        struct strbuf text = {0};
        for (size_t i = 1 + unit_below(60); i > 0; i--) {
            switch (unit_below(8)) {
            case 0:
                strbuf_printf(&text, "%.*s Head %zu\n\n", (int)(1 + unit_below(4)), "####", unit_below(99));
                break;
            case 1:
                for (size_t k = unit_below(3000); k > 0; k--)
                    strbuf_puts(&text, unit_below(9) ? "é" : "x");
                strbuf_puts(&text, "\n");
                break;
            case 2:
                strbuf_puts(&text, "```\n");
                for (size_t k = unit_below(30); k > 0; k--)
                    strbuf_puts(&text, "code line of some length;\n");
                strbuf_puts(&text, "```\n\n");
                break;
            default:
                put_paragraph(&text);
            }
        }
        strbuf_puts(&text, "End.");
        ll_document *d = open_text(text.text, text.length);
        size_t tokens = WINDOW_LEAST + unit_below(900);
        struct window_list windows = chunk(d, &llm, tokens, unit_below(tokens / 4));
        window_list_fini(&windows);
        ll_document_close(d);
        strbuf_fini(&text);
    }
}

static void a_word_longer_than_a_window_is_cut_between_characters(void **state)
{
    (void)state;
    struct toy toy = {0};
    struct llm llm = toy_llm(&toy, 1, 8192);
    struct strbuf text = {0};
    for (int i = 0; i < 20000; i++)
        strbuf_puts(&text, "日");
    ll_document *d = open_text(text.text, text.length);
    struct window_list windows = chunk(d, &llm, 64, 8);
    assert_true(windows.count > 20000 / 64);
    window_list_fini(&windows);
    ll_document_close(d);
    strbuf_fini(&text);
}

static void windows_close_at_headings_and_carry_their_path(void **state)
{
    (void)state;
    struct toy toy = {0};
    struct llm llm = toy_llm(&toy, 1, 8192);
    struct strbuf text = {0}, shown = {0};
    unit_seed();
    strbuf_puts(&text, "# Book\n\n");
    for (int i = 1; i <= 6; i++) {
        strbuf_printf(&text, "## Chapter %d\n\n", i);
        for (int k = 0; k < 20; k++)
            put_paragraph(&text);
    }
    ll_document *d = open_text(text.text, text.length);
    struct window_list windows = chunk(d, &llm, 400, 40);
    for (size_t i = 0; i < windows.count; i++) {
        const struct window *w = &windows.items[i];
        const struct doc_section *s = &d->sections[w->section];
        assert_true(i == 0 || (w->first >= s->first && w->last <= s->last));
        assert_true(w->text_first >= s->first || w->first == s->first ||
                    i == 0); /* no overlap over a heading */
        strbuf_clear(&shown);
        window_text(d, w, &shown);
        if (i > 0) {
            char path[32];
            snprintf(path, sizeof path, "%.*s\n\n", (int)s->title_length, d->titles.text + s->title);
            assert_int_equal(strncmp(shown.text, path, strlen(path)), 0);
        }
    }
    window_list_fini(&windows);
    ll_document_close(d);
    strbuf_fini(&text);
    strbuf_fini(&shown);
}

static void full_lines_of_a_sentence_are_joined_and_verses_are_not(void **state)
{
    (void)state;
    static const char text[] =
        "A sentence that goes over the end of a line\n   because the line was full here. Next.\n\n"
        "Short lines\nof a verse\nstay apart.\n\n```\ncode lines stay as they were written by hand\n  even "
        "here.\n```\n";
    ll_document *d = open_text(text, sizeof text - 1);
    struct window w = {.last = d->text.length};
    struct strbuf shown = {0};
    window_text(d, &w, &shown);
    assert_non_null(strstr(shown.text, "end of a line because the line was full here. Next.\n\n"));
    assert_non_null(strstr(shown.text, "Short lines\nof a verse\nstay apart."));
    strbuf_fini(&shown);
    ll_document_close(d);
}

static void small_sections_share_a_window(void **state)
{
    (void)state;
    struct toy toy = {0};
    struct llm llm = toy_llm(&toy, 1, 8192);
    struct strbuf text = {0};
    strbuf_puts(&text, "# Notes\n\n");
    for (int i = 0; i < 40; i++)
        strbuf_printf(&text, "## Day %d\n\nIt was a short day and little happened.\n\n", i);
    ll_document *d = open_text(text.text, text.length);
    struct window_list windows = chunk(d, &llm, 300, 0);
    assert_true(windows.count >= 2 && windows.count < 15);
    window_list_fini(&windows);
    ll_document_close(d);
    strbuf_fini(&text);
}

static size_t changed_windows(const ll_document *a, const struct window_list *x, const ll_document *b,
                              const struct window_list *y)
{
    struct word_set known = {0};
    size_t changed = 0;
    for (size_t i = 0; i < x->count; i++) {
        struct strbuf text = {0};
        window_text(a, &x->items[i], &text);
        assert_true(word_set_add(&known, hash_bytes(text.text, text.length, 0)));
        strbuf_fini(&text);
    }
    for (size_t i = 0; i < y->count; i++) {
        struct strbuf text = {0};
        window_text(b, &y->items[i], &text);
        changed += !word_set_has(&known, hash_bytes(text.text, text.length, 0));
        strbuf_fini(&text);
    }
    word_set_fini(&known);
    return changed;
}

/* Inserts a paragraph near the beginning; without headings, so that only content can steady the cuts. */
static void one_new_paragraph_changes_few_windows(void **state)
{
    (void)state;
    struct toy toy = {0};
    struct llm llm = toy_llm(&toy, 1, 8192);
    struct strbuf before = {0}, after = {0};
    unit_seed();
    for (int k = 0; k < 400; k++) {
        size_t start = before.length;
        put_paragraph(&before);
        strbuf_append(&after, before.text + start, before.length - start);
        if (k == 20)
            strbuf_puts(&after, "Here is a new thought that nobody had before. It is short.\n\n");
    }
    ll_document *a = open_text(before.text, before.length), *b = open_text(after.text, after.length);
    struct window_list x = chunk(a, &llm, 600, 0), y = chunk(b, &llm, 600, 0);
    size_t changed = changed_windows(a, &x, b, &y);
    print_message("# %zu of %zu windows changed\n", changed, y.count);
    assert_true(changed >= 1 && changed * 3 < y.count);
    window_list_fini(&x);
    window_list_fini(&y);
    ll_document_close(a);
    ll_document_close(b);
    strbuf_fini(&before);
    strbuf_fini(&after);
}

static void windows_below_the_least_size_are_refused(void **state)
{
    (void)state;
    ll_document *d = open_text("One. Two.", 9);
    struct window_list windows = {0};
    struct chunking job = {.document = d, .tokens = WINDOW_LEAST - 1};
    uint64_t total;
    ll_error error;
    assert_int_equal(chunk_make(&job, &windows, &total, &error), LL_ARGUMENT);
    assert_non_null(strstr(error.text, "too small"));
    ll_document_close(d);
}

static void planning_stops_when_it_is_cancelled(void **state)
{
    (void)state;
    ll_document *d = open_text("One. Two.", 9);
    ll_run run;
    ll_run_init(&run);
    run.cancel = ll_cancel_new();
    ll_cancel_request(run.cancel);
    struct window_list windows = {0};
    struct chunking job = {.document = d, .tokens = 100, .run = &run};
    uint64_t total;
    ll_error error;
    assert_int_equal(chunk_make(&job, &windows, &total, &error), LL_CANCELLED);
    ll_cancel_free(run.cancel);
    ll_document_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_of_random_texts_is_owned_by_exactly_one_window),
        cmocka_unit_test(a_word_longer_than_a_window_is_cut_between_characters),
        cmocka_unit_test(windows_close_at_headings_and_carry_their_path),
        cmocka_unit_test(full_lines_of_a_sentence_are_joined_and_verses_are_not),
        cmocka_unit_test(small_sections_share_a_window),
        cmocka_unit_test(one_new_paragraph_changes_few_windows),
        cmocka_unit_test(windows_below_the_least_size_are_refused),
        cmocka_unit_test(planning_stops_when_it_is_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
