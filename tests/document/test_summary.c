/* Tests of document/plan and document/summary: with a toy model that copies, invents, loops or falls silent.
 * SPDX-License-Identifier: Apache-2.0 */
#include "document/plan.h"
#include "document/sentence.h"
#include "document/summary.h"
#include "document/toy_llm.h"

enum { SMALL = 135, LARGE = 7000 /* millions of parameters */ };

/* ---- answers --------------------------------------------------------------------------------- */

static void copy_first_sentences(struct toy *toy, const char *prompt, struct strbuf *out)
{
    size_t length, at = 0;
    const char *body = toy_text_of(prompt, &length);
    (void)toy;
    for (int copied = 0; copied < 3 && at < length;) {
        while (at < length && strchr(" \n", body[at]))
            at++;
        size_t step = sentence_length(body + at, length - at);
        if (sentence_is_closed(body + at, step) && body[at] != '[') {
            strbuf_append(out, body + at, step);
            strbuf_putc(out, ' ');
            copied++;
        } else if (memchr(body + at, '\n', step)) {
            step = (size_t)((const char *)memchr(body + at, '\n', step) - (body + at)) + 1;
        }
        at += step;
    }
}

static void invent(struct toy *toy, const char *prompt, struct strbuf *out)
{
    (void)toy;
    (void)prompt;
    strbuf_puts(out,
                "The knights of Camelot bought 4711 dragons from Merlin. The text is clear and concise.");
}

static void loop(struct toy *toy, const char *prompt, struct strbuf *out)
{
    (void)toy;
    (void)prompt;
    for (int i = 0; i < 4000; i++)
        strbuf_puts(out, " extra");
}

static void say_nothing(struct toy *toy, const char *prompt, struct strbuf *out)
{
    (void)toy;
    (void)prompt;
    (void)out;
}

/* ---- documents ------------------------------------------------------------------------------- */

static ll_document *make_book(size_t chapters, size_t paragraphs)
{
    static const char *const things[] = {"furnace", "mould",    "cobalt", "crucible",
                                         "kiln",    "annealer", "pipe",   "sand"};
    struct strbuf text = {0};
    strbuf_puts(&text,
                "# The Book of Glass\n\nThis is a book about glass and the people who make it by hand.\n\n");
    for (size_t c = 1; c <= chapters; c++) {
        strbuf_printf(&text, "## Chapter %zu\n\n", c);
        for (size_t p = 0; p < paragraphs; p++)
            strbuf_printf(
                &text,
                "The %s of chapter %zu was built in the year %zu by a master of glass. It held %zu pots and "
                "burned for many weeks. Workers of the %s came early and went home late in the evening.\n\n",
                things[(c + p) % 8], c, 1500 + c * 10 + p, 3 + p, things[(c * 3 + p) % 8]);
    }
    ll_document *document = NULL;
    ll_error error = {0};
    if (ll_document_from_text(text.text, text.length, NULL, &document, &error) != LL_OK)
        fail_msg("%s", error.text);
    strbuf_fini(&text);
    return document;
}

struct made {
    struct toy toy;
    struct llm llm;
    ll_document *document;
    ll_plan *plan;
    ll_summary *summary;
    ll_plan_info info;
};

static void make(struct made *m, size_t millions, size_t context, ll_method method, size_t words)
{
    ll_plan_options options;
    ll_error error = {0};
    m->llm = toy_llm(&m->toy, (uint64_t)millions * 1000000, context);
    ll_plan_options_init(&options);
    options.method = method;
    options.summary_words = words;
    if (plan_make(m->document, &m->llm, &options, NULL, &m->plan, &error) != LL_OK)
        fail_msg("%s", error.text);
    assert_int_equal(ll_plan_get_info(m->plan, &m->info), LL_OK);
    if (summary_make(&m->llm, m->plan, NULL, NULL, &m->summary, &error) != LL_OK)
        fail_msg("%s", error.text);
}

static void drop(struct made *m)
{
    ll_summary_free(m->summary);
    ll_plan_free(m->plan);
    ll_document_close(m->document);
}

/* What holds for every summary: a tree whose root comes last, full coverage, sentences with a place. */
static void check_summary(const struct made *m, size_t words)
{
    ll_coverage coverage;
    size_t length, nodes = ll_summary_node_count(m->summary), used = 0;
    assert_int_equal(ll_summary_get_coverage(m->summary, &coverage), LL_OK);
    assert_int_equal(coverage.read_bytes, coverage.document_bytes);
    assert_true(coverage.share == 1.0);
    assert_int_equal(coverage.windows, m->info.windows);
    (void)ll_summary_text(m->summary, &length);
    assert_true(length > 0 && nodes >= 2);
    size_t next_byte = 0;
    for (size_t i = 0; i < nodes; i++) {
        ll_summary_node node, parent;
        assert_int_equal(ll_summary_get_node(m->summary, i, &node), LL_OK);
        assert_true(node.length > 0);
        assert_true(i + 1 == nodes ? node.parent == i : node.parent > i && node.parent < nodes);
        assert_int_equal(ll_summary_get_node(m->summary, node.parent, &parent), LL_OK);
        assert_true(parent.first_byte <= node.first_byte && node.last_byte <= parent.last_byte);
        assert_true(i + 1 == nodes || parent.level > node.level);
        if (node.level == 0) {
            assert_int_equal(node.first_byte, next_byte);
            next_byte = node.last_byte;
        }
    }
    assert_int_equal(next_byte, coverage.document_bytes);
    uint64_t place = 0;
    for (size_t i = 0; i < ll_summary_sentence_count(m->summary); i++) {
        ll_sentence s;
        assert_int_equal(ll_summary_get_sentence(m->summary, i, &s), LL_OK);
        assert_true(s.last_byte > s.first_byte && s.last_byte <= coverage.document_bytes);
        assert_true(s.first_byte >= place || m->info.method == LL_METHOD_REFINE);
        place = s.first_byte;
        used += words_count(s.text, s.length);
    }
    assert_true(used > 0 && (words == 0 || used <= words));
}

/* ---- small models ---------------------------------------------------------------------------- */

static void a_small_model_gets_short_windows_and_checked_sentences(void **state)
{
    (void)state;
    struct made m = {.toy.answer = copy_first_sentences, .document = make_book(6, 12)};
    make(&m, SMALL, 8192, LL_METHOD_AUTO, 120);
    assert_int_equal(m.info.method, LL_METHOD_SELECT);
    assert_int_equal(m.info.window_tokens, 600);
    assert_true(m.info.windows > 6 && m.info.calls == m.info.windows);
    assert_int_equal(m.toy.calls, m.info.calls);
    assert_true(m.toy.longest_prompt + m.info.part_tokens <= m.info.context);
    assert_true(m.toy.shared_least > 5); /* system line and opening are common */
    check_summary(&m, 120);
    ll_summary_stats stats;
    assert_int_equal(ll_summary_get_stats(m.summary, &stats), LL_OK);
    assert_true(stats.prompt_tokens <= m.info.prompt_tokens);
    drop(&m);
}

static void invented_sentences_are_replaced_by_quotations(void **state)
{
    (void)state;
    struct made m = {.toy.answer = invent, .document = make_book(4, 10)};
    make(&m, SMALL, 8192, LL_METHOD_AUTO, 150);
    check_summary(&m, 150);
    ll_summary_stats stats;
    assert_int_equal(ll_summary_get_stats(m.summary, &stats), LL_OK);
    assert_int_equal(stats.fallbacks, m.info.windows);
    assert_null(strstr(ll_summary_text(m.summary, NULL), "Camelot"));
    const char *text = ll_document_text(m.document, NULL);
    for (size_t i = 0; i < ll_summary_sentence_count(m.summary); i++) {
        ll_sentence s;
        assert_int_equal(ll_summary_get_sentence(m.summary, i, &s), LL_OK);
        assert_true(s.quoted && s.support == 1.0f);
        assert_int_equal(strncmp(text + s.first_byte, s.text, 10), 0);
    }
    drop(&m);
}

static void copy_the_copyright_line(struct toy *toy, const char *prompt, struct strbuf *out)
{
    (void)toy;
    (void)prompt;
    strbuf_puts(out, "Copyright (c) The Glass Makers of Lauscha.");
}

static void a_copyright_line_is_no_summary(void **state)
{
    (void)state;
    const char text[] =
        "Copyright (c) The Glass Makers of Lauscha.\n\nThe furnace of Lauscha must be heated for six "
        "days before glass is melted. Cobalt gives blue glass, and iron gives green glass.\n";
    struct made m = {.toy.answer = copy_the_copyright_line};
    ll_error error = {0};
    if (ll_document_from_text(text, sizeof text - 1, NULL, &m.document, &error) != LL_OK)
        fail_msg("%s", error.text);
    make(&m, SMALL, 8192, LL_METHOD_AUTO, 100);
    ll_summary_stats stats;
    assert_int_equal(ll_summary_get_stats(m.summary, &stats), LL_OK);
    assert_int_equal(stats.fallbacks, 1);
    assert_null(strstr(ll_summary_text(m.summary, NULL), "Copyright"));
    assert_non_null(strstr(ll_summary_text(m.summary, NULL), "furnace"));
    drop(&m);
}

static void loops_are_stopped_and_counted(void **state)
{
    (void)state;
    struct made m = {.toy.answer = loop, .document = make_book(4, 10)};
    make(&m, SMALL, 8192, LL_METHOD_AUTO, 150);
    ll_summary_stats stats;
    assert_int_equal(ll_summary_get_stats(m.summary, &stats), LL_OK);
    assert_int_equal(stats.looped, m.info.windows);
    assert_true(stats.generated_tokens <= m.info.windows * 10);
    assert_null(strstr(ll_summary_text(m.summary, NULL), "extra"));
    check_summary(&m, 150);
    drop(&m);
}

static void a_silent_model_still_gives_an_outline(void **state)
{
    (void)state;
    struct made m = {.toy.answer = say_nothing, .document = make_book(4, 10)};
    make(&m, SMALL, 8192, LL_METHOD_AUTO, 0);
    check_summary(&m, 200);
    drop(&m);
}

static void a_short_text_is_one_call(void **state)
{
    (void)state;
    struct made m = {.toy.answer = copy_first_sentences, .document = make_book(1, 1)};
    make(&m, SMALL, 8192, LL_METHOD_AUTO, 0);
    assert_int_equal(m.info.method, LL_METHOD_SELECT);
    assert_int_equal(m.toy.calls, 1);
    check_summary(&m, 0);
    size_t length, said = 0;
    const char *text = ll_document_text(m.document, &length);
    for (size_t i = 0; i < ll_summary_sentence_count(m.summary); i++) {
        ll_sentence s;
        assert_int_equal(ll_summary_get_sentence(m.summary, i, &s), LL_OK);
        said += words_count(s.text, s.length);
    }
    assert_true(said * 2 <= words_count(text, length) + 1); /* more would be no summary */
    drop(&m);
}

/* ---- large models ---------------------------------------------------------------------------- */

static void a_text_that_fits_is_read_whole_by_a_large_model(void **state)
{
    (void)state;
    struct made m = {.toy.answer = copy_first_sentences, .document = make_book(3, 5)};
    make(&m, LARGE, 8192, LL_METHOD_AUTO, 0);
    assert_int_equal(m.info.method, LL_METHOD_WHOLE);
    assert_int_equal(m.info.windows, 1);
    check_summary(&m, 0);
    drop(&m);
}

static void a_long_text_becomes_a_tree_within_its_context(void **state)
{
    (void)state;
    struct made m = {.toy.answer = copy_first_sentences, .document = make_book(20, 20)};
    make(&m, LARGE, 1024, LL_METHOD_AUTO, 100);
    assert_int_equal(m.info.method, LL_METHOD_TREE);
    assert_true(m.info.levels >= 3);
    assert_int_equal(m.toy.calls, m.info.calls);
    assert_int_equal(m.toy.largest_context, 1024); /* the toy refuses any prompt that would overflow it */
    check_summary(&m, 0);
    ll_summary_stats stats;
    assert_int_equal(ll_summary_get_stats(m.summary, &stats), LL_OK);
    assert_true(stats.prompt_tokens <= m.info.prompt_tokens);
    drop(&m);
}

static void merges_that_do_not_hold_fall_back_to_the_parts(void **state)
{
    (void)state;
    struct made m = {.toy.answer = invent, .document = make_book(10, 20)};
    make(&m, LARGE, 1024, LL_METHOD_TREE, 100);
    assert_null(strstr(ll_summary_text(m.summary, NULL), "Camelot"));
    check_summary(&m, 0);
    drop(&m);
}

static void a_running_summary_reads_every_window_in_order(void **state)
{
    (void)state;
    struct made m = {.toy.answer = copy_first_sentences, .document = make_book(10, 10)};
    make(&m, LARGE, 1500, LL_METHOD_REFINE, 80);
    assert_int_equal(m.toy.calls, m.info.windows);
    assert_true(m.info.windows > 3);
    check_summary(&m, 0);
    drop(&m);
}

/* A window shows the end of the one before, and the model may write of that. */
static void sentences_of_neighbouring_windows_stand_in_the_order_of_the_text(void **state)
{
    (void)state;
    size_t seen = 0;
    for (size_t paragraphs = 8; paragraphs <= 13; paragraphs++)
        for (size_t words = 60; words <= 140; words += 10) {
            struct made m = {.toy.answer = copy_first_sentences, .document = make_book(1, paragraphs)};
            make(&m, SMALL, 4000, LL_METHOD_SELECT, words);
            check_summary(&m, 0);
            seen += m.info.windows > 1;
            drop(&m);
        }
    assert_true(seen > 0);
}

static void random_plans_never_overflow_in_practice(void **state)
{
    (void)state;
    static void (*const answers[])(struct toy *, const char *, struct strbuf *) = {copy_first_sentences,
                                                                                   invent, loop, say_nothing};
    unit_seed();
    for (size_t round = 0; round < unit_rounds(30); round++) {
        struct made m = {.toy.answer = answers[unit_below(4)],
                         .document = make_book(1 + unit_below(8), 1 + unit_below(12))};
        ll_method method = (ll_method)(LL_METHOD_SELECT + (int)unit_below(3));
        make(&m, unit_below(2) ? SMALL : LARGE, 900 + unit_below(4000), method, 20 + unit_below(300));
        check_summary(&m, 0);
        drop(&m);
    }
}

/* ---- plans ----------------------------------------------------------------------------------- */

static ll_status plan(const ll_document *d, const struct llm *llm, const ll_plan_options *options,
                      ll_plan_info *ret, ll_error *error)
{
    ll_plan *made = NULL;
    ll_status status = plan_make(d, llm, options, NULL, &made, error);
    if (status == LL_OK)
        (void)ll_plan_get_info(made, ret);
    if (status == LL_OK)
        ret->reason = NULL;
    ll_plan_free(made);
    return status;
}

static void without_a_model_key_sentences_are_quoted(void **state)
{
    (void)state;
    struct made m = {.document = make_book(8, 10)};
    ll_error error = {0};
    assert_int_equal(plan_make(m.document, NULL, NULL, NULL, &m.plan, &error), LL_OK);
    assert_int_equal(ll_plan_get_info(m.plan, &m.info), LL_OK);
    assert_int_equal(m.info.method, LL_METHOD_EXTRACTIVE);
    assert_int_equal(m.info.calls, 0);
    assert_int_equal(summary_make(NULL, m.plan, NULL, NULL, &m.summary, &error), LL_OK);
    check_summary(&m, 200);
    drop(&m);
}

static void key_sentences_are_the_same_every_time(void **state)
{
    (void)state;
    char *first = NULL;
    for (int i = 0; i < 2; i++) {
        struct made m = {.document = make_book(8, 10)};
        ll_error error = {0};
        assert_int_equal(plan_make(m.document, NULL, NULL, NULL, &m.plan, &error), LL_OK);
        assert_int_equal(summary_make(NULL, m.plan, NULL, NULL, &m.summary, &error), LL_OK);
        if (first)
            assert_string_equal(first, ll_summary_text(m.summary, NULL));
        else
            first = strdup(ll_summary_text(m.summary, NULL));
        drop(&m);
    }
    free(first);
}

/* Forty parts say much the same, and one sentence in the midst of them says what the text is. */
static void what_a_text_says_of_itself_goes_first_and_frames_say_nothing(void **state)
{
    (void)state;
    struct strbuf text = {0};
    strbuf_puts(&text, "Snow fell.\n\nIt snowed again.\n\n");
    for (size_t i = 0; i < 40; i++) {
        strbuf_printf(&text, "In weeks of %zu masters of the valley burned sand in kilns.\n\n", 1500 + i);
        if (i == 11)
            strbuf_puts(&text,
                        "This report describes how masters of the valley burned sand in kilns for weeks.\n\n"
                        "*  The masters of the valley burned sand in kilns for weeks  *\n\n");
    }
    ll_error error = {0};
    for (size_t words = 60; words <= 180; words += 40) {
        struct made m = {.toy = {.answer = copy_first_sentences}};
        if (ll_document_from_text(text.text, text.length, NULL, &m.document, &error) != LL_OK)
            fail_msg("%s", error.text);
        make(&m, SMALL, 8192, LL_METHOD_EXTRACTIVE, words);
        const char *said = ll_summary_text(m.summary, NULL);
        if (!strstr(said, "This report describes how masters") || strchr(said, '*'))
            fail_msg("%zu words: %s", words, said);
        drop(&m);
    }
    strbuf_fini(&text);
}

static const char *const spoken_of[] = {"lantern", "bucket", "ladder", "barrel",
                                        "basket",  "wagon",  "saddle", "mirror"};

static void point_at_ladders(struct toy *toy, const char *prompt, struct strbuf *out)
{
    (void)toy;
    (void)prompt;
    strbuf_puts(out, "The text is all about a ladder and the ladders of the town.");
}

static size_t count_ladders(const char *text, void (*answer)(struct toy *, const char *, struct strbuf *))
{
    struct made m = {.toy = {.answer = answer}};
    ll_error error = {0};
    size_t count = 0;
    if (ll_document_from_text(text, strlen(text), NULL, &m.document, &error) != LL_OK)
        fail_msg("%s", error.text);
    make(&m, SMALL, 8192, LL_METHOD_SELECT, 300);
    assert_int_equal(m.summary->stats.fallbacks, m.info.windows);
    for (const char *at = ll_summary_text(m.summary, NULL); (at = strstr(at, "ladder")); at++)
        count++;
    drop(&m);
    return count;
}

static void what_the_model_speaks_of_is_quoted_where_its_own_words_do_not_hold(void **state)
{
    (void)state;
    struct strbuf text = {0};
    unit_seed();
    for (size_t i = 0; i < 90; i++) {
        for (size_t k = 0, from = unit_below(8); k < 8; k++)
            strbuf_printf(&text, "The people of the town kept number %zu of every %s for years. ",
                          i * 8 + k + 100, spoken_of[(from + k) % 8]);
        strbuf_puts(&text, "\n\n");
    }
    size_t silent = count_ladders(strbuf_text(&text), say_nothing);
    size_t pointed = count_ladders(strbuf_text(&text), point_at_ladders);
    strbuf_fini(&text);
    if (pointed <= silent)
        fail_msg("quoted %zu times when it was spoken of, %zu when not", pointed, silent);
}

static void a_focus_raises_the_sentences_that_speak_of_it(void **state)
{
    (void)state;
    ll_document *d = make_book(8, 10);
    ll_plan_options options;
    ll_error error = {0};
    size_t hits[2] = {0};
    for (int with = 0; with < 2; with++) {
        ll_plan *made = NULL;
        ll_summary *summary = NULL;
        ll_plan_options_init(&options);
        options.focus = with ? "cobalt" : NULL;
        assert_int_equal(plan_make(d, NULL, &options, NULL, &made, &error), LL_OK);
        assert_int_equal(summary_make(NULL, made, NULL, NULL, &summary, &error), LL_OK);
        for (const char *at = ll_summary_text(summary, NULL); (at = strstr(at, "cobalt")) != NULL; at++)
            hits[with]++;
        ll_summary_free(summary);
        ll_plan_free(made);
    }
    assert_true(hits[1] > hits[0] && hits[1] >= 3);
    ll_document_close(d);
}

static void a_model_without_a_known_chat_format_is_not_asked(void **state)
{
    (void)state;
    struct toy toy = {0};
    struct llm llm = toy_llm(&toy, 135000000, 8192);
    ll_document *d = make_book(2, 5);
    ll_plan_options options;
    ll_plan_info info;
    ll_error error = {0};
    llm.chat = false;
    assert_int_equal(plan(d, &llm, NULL, &info, &error), LL_OK);
    assert_int_equal(info.method, LL_METHOD_EXTRACTIVE);
    ll_plan_options_init(&options);
    options.method = LL_METHOD_TREE;
    assert_int_equal(plan(d, &llm, &options, &info, &error), LL_UNSUPPORTED);
    ll_document_close(d);
}

static void wishes_that_cannot_be_met_are_refused_with_numbers(void **state)
{
    (void)state;
    struct toy toy = {0};
    struct llm llm = toy_llm(&toy, 7000000000, 2048);
    ll_document *d = make_book(10, 10);
    ll_plan_options options;
    ll_plan_info info;
    ll_error error = {0};
    ll_plan_options_init(&options);
    options.context = 4096;
    assert_int_equal(plan(d, &llm, &options, &info, &error), LL_ARGUMENT);
    assert_non_null(strstr(error.text, "2048"));
    options.context = 64;
    assert_int_equal(plan(d, &llm, &options, &info, &error), LL_CONTEXT_FULL);
    ll_plan_options_init(&options);
    options.method = LL_METHOD_WHOLE;
    assert_int_equal(plan(d, &llm, &options, &info, &error), LL_CONTEXT_FULL);
    assert_non_null(strstr(error.text, "2048"));
    options.method = LL_METHOD_SELECT;
    options.window_tokens = 5000;
    assert_int_equal(plan(d, &llm, &options, &info, &error), LL_CONTEXT_FULL);
    options.window_tokens = 100;
    options.overlap_tokens = 80;
    assert_int_equal(plan(d, &llm, &options, &info, &error), LL_ARGUMENT);
    assert_int_equal(plan(d, NULL, &options, &info, &error), LL_ARGUMENT);
    ll_document_close(d);
}

/* ---- runs ------------------------------------------------------------------------------------ */

struct heard {
    uint64_t windows_done, windows_total, merges_done, merges_total;
};

static void hear(void *user, const ll_progress *progress)
{
    struct heard *heard = user;
    if (progress->phase == LL_SUMMARIZING) {
        /* the same as before: a group begins */
        assert_in_range(progress->done, heard->windows_done, heard->windows_done + 1);
        heard->windows_done = progress->done;
        heard->windows_total = progress->total;
    } else if (progress->phase == LL_FUSING) {
        assert_in_range(progress->done, heard->merges_done, heard->merges_done + 1);
        heard->merges_done = progress->done;
        heard->merges_total = progress->total;
    }
}

static void progress_counts_every_window_and_merge(void **state)
{
    (void)state;
    struct made m = {.toy.answer = copy_first_sentences, .document = make_book(12, 12)};
    struct heard heard = {0};
    ll_run run;
    ll_error error = {0};
    ll_run_init(&run);
    run.on_progress = hear;
    run.user = &heard;
    m.llm = toy_llm(&m.toy, 7000000000, 1200);
    assert_int_equal(plan_make(m.document, &m.llm, NULL, &run, &m.plan, &error), LL_OK);
    assert_int_equal(ll_plan_get_info(m.plan, &m.info), LL_OK);
    assert_int_equal(summary_make(&m.llm, m.plan, NULL, &run, &m.summary, &error), LL_OK);
    assert_int_equal(heard.windows_done, m.info.windows);
    assert_int_equal(heard.windows_total, m.info.windows);
    assert_int_equal(heard.merges_done, heard.merges_total);
    assert_int_equal(heard.windows_total + heard.merges_total, m.info.calls);
    drop(&m);
}

static void a_cancelled_summary_gives_nothing_and_leaks_nothing(void **state)
{
    (void)state;
    struct made m = {.toy.answer = copy_first_sentences, .document = make_book(6, 12)};
    ll_run run;
    ll_error error = {0};
    ll_run_init(&run);
    run.cancel = ll_cancel_new();
    m.toy.cancel_at_call = run.cancel;
    m.toy.cancel_after = 3;
    m.llm = toy_llm(&m.toy, 135000000, 8192);
    assert_int_equal(plan_make(m.document, &m.llm, NULL, &run, &m.plan, &error), LL_OK);
    assert_int_equal(summary_make(&m.llm, m.plan, NULL, &run, &m.summary, &error), LL_CANCELLED);
    assert_null(m.summary);
    assert_int_equal(m.toy.calls, 3);
    ll_cancel_free(run.cancel);
    drop(&m);
}

static void answers_carry_the_section_they_rest_on(void **state)
{
    (void)state;
    struct made m = {.toy.answer = copy_first_sentences, .document = make_book(6, 12)};
    make(&m, SMALL, 8192, LL_METHOD_AUTO, 150);
    assert_non_null(strstr(ll_summary_text(m.summary, NULL), "[Chapter "));
    drop(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_model_gets_short_windows_and_checked_sentences),
        cmocka_unit_test(invented_sentences_are_replaced_by_quotations),
        cmocka_unit_test(a_copyright_line_is_no_summary),
        cmocka_unit_test(loops_are_stopped_and_counted),
        cmocka_unit_test(a_silent_model_still_gives_an_outline),
        cmocka_unit_test(a_short_text_is_one_call),
        cmocka_unit_test(a_text_that_fits_is_read_whole_by_a_large_model),
        cmocka_unit_test(a_long_text_becomes_a_tree_within_its_context),
        cmocka_unit_test(merges_that_do_not_hold_fall_back_to_the_parts),
        cmocka_unit_test(a_running_summary_reads_every_window_in_order),
        cmocka_unit_test(sentences_of_neighbouring_windows_stand_in_the_order_of_the_text),
        cmocka_unit_test(random_plans_never_overflow_in_practice),
        cmocka_unit_test(without_a_model_key_sentences_are_quoted),
        cmocka_unit_test(key_sentences_are_the_same_every_time),
        cmocka_unit_test(what_a_text_says_of_itself_goes_first_and_frames_say_nothing),
        cmocka_unit_test(what_the_model_speaks_of_is_quoted_where_its_own_words_do_not_hold),
        cmocka_unit_test(a_focus_raises_the_sentences_that_speak_of_it),
        cmocka_unit_test(a_model_without_a_known_chat_format_is_not_asked),
        cmocka_unit_test(wishes_that_cannot_be_met_are_refused_with_numbers),
        cmocka_unit_test(progress_counts_every_window_and_merge),
        cmocka_unit_test(a_cancelled_summary_gives_nothing_and_leaks_nothing),
        cmocka_unit_test(answers_carry_the_section_they_rest_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
