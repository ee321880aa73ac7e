/* Templates against jinja2: every construct and every family's way of writing turns; limits; what is foreign.
 * SPDX-License-Identifier: Apache-2.0 */
#include "text/vectors.h"

#include <jansson.h>

#include "text/template.h"

static ll_status render(const char *source, const struct template_input *input, struct template_output *out,
                        ll_error *error)
{
    struct template *template = NULL;
    ll_status status = template_open(source, strlen(source), &template, error);
    if (status == LL_OK)
        status = template_render(template, input, out, error);
    template_close(template);
    return status;
}

/* ---- jinja2's words ---- */

/* Prints what differs. */
static bool agrees(json_t *item, size_t line)
{
    const char *source = json_string_value(json_array_get(item, 0));
    json_t *wanted = json_array_get(item, 2);
    char *context = json_dumps(json_array_get(item, 1), JSON_COMPACT);
    struct template_input input = {.more = context, .more_length = strlen(context)};
    struct template_output out = {0};
    ll_error error = {.text = ""};
    ll_status status = render(source, &input, &out, &error);
    bool same = status == LL_OK
                    ? json_is_string(wanted) && out.text.length == json_string_length(wanted) &&
                          memcmp(strbuf_text(&out.text), json_string_value(wanted), out.text.length) == 0
                    : json_is_null(wanted) && strstr(error.text, "line ");
    if (!same)
        print_message("# case %zu: %s\n# gives %s\n# not   %s\n", line, source,
                      status == LL_OK ? strbuf_text(&out.text) : error.text,
                      json_is_null(wanted) ? "a refusal" : json_string_value(wanted));
    template_output_fini(&out);
    free(context);
    return same;
}

static void every_construct_gives_what_jinja2_gives(void **state)
{
    (void)state;
    struct strbuf bytes = vectors_bytes("templates.jsonl");
    size_t count = 0, wrong = 0;
    for (char *line = bytes.text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        json_t *item = json_loadb(line, (size_t)(end - line), JSON_ALLOW_NUL, NULL);
        assert_non_null(item);
        wrong += !agrees(item, ++count);
        json_decref(item);
    }
    strbuf_fini(&bytes);
    assert_true(count > 500);
    assert_int_equal(wrong, 0);
}

/* ---- refusals name what is missing ---- */

static void says(const char *source, ll_status status, const char *words)
{
    struct template_output out = {0};
    ll_error error = {.text = ""};
    assert_int_equal(render(source, &(struct template_input){0}, &out, &error), status);
    if (!strstr(error.text, words))
        fail_msg("\"%s\" does not say \"%s\": %.100s", error.text, words, source);
}

static void what_is_not_supported_is_named_with_its_line(void **state)
{
    (void)state;
    says("\n{% include 'x' %}", LL_UNSUPPORTED, "line 2: the tag {% include %}");
    says("a\nb\n{{ 1 | xmlattr }}", LL_UNSUPPORTED, "line 3: the filter \"xmlattr\"");
    says("{{ 1 is weird }}", LL_UNSUPPORTED, "the test \"weird\"");
    says("{{ 'a'.encode() }}", LL_UNSUPPORTED, "\"encode\"");
    says("{{ lipsum() }}", LL_UNSUPPORTED, "\"lipsum\"");
    says("{{ '%s' % 1 }}", LL_UNSUPPORTED, "formatting");
    says("{{ f(*a) }}", LL_UNSUPPORTED, "unpacked");
    says("{{ raise_exception('only \x1b[2J users') }}", LL_ARGUMENT, "refuses these messages: only");
    says("{{ [].append(1) }}", LL_UNSUPPORTED, "may not change");
    says("{% if 1 %}", LL_FORMAT, "{% endif %}");
}

/* ---- limits ---- */

static void repeat(struct strbuf *out, const char *text, size_t times)
{
    while (times-- > 0)
        strbuf_puts(out, text);
}

static void nothing_runs_forever_or_grows_without_end(void **state)
{
    (void)state;
    struct strbuf deep = {0};
    says("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", LL_ARGUMENT,
         "the template ");
    says("{% set ns = namespace(s='aaaaaaaa') %}{% for a in range(999) %}{% set ns.s = ns.s + ns.s %}{% "
         "endfor %}",
         LL_ARGUMENT, "MiB");
    says("{{ 'aaaaaaaa' * 1000000000000 }}", LL_ARGUMENT, "");
    says("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", LL_ARGUMENT, "too deeply");
    says("{{ range(1000000) }}", LL_ARGUMENT, "range()");
    static const char *const doubled[] = {
        "x.a == x.b",    "x.a in [x.b]",         "[x.a].count(x.b)", "x.a is sameas x.b",
        "{x.a: 1}[x.b]", "[x.a, x.b] | unique", "x.a < x.b"};
    for (size_t i = 0; i < sizeof doubled / sizeof *doubled; i++) {
        strbuf_clear(&deep);
        strbuf_puts(&deep, "{% set x = namespace(a=[0], b=[0]) %}{% for i in range(50) %}"
                           "{% set x.a = [x.a, x.a] %}{% set x.b = [x.b, x.b] %}{% endfor %}");
        strbuf_printf(&deep, "{{ %s }}", doubled[i]);
        says(deep.text, LL_ARGUMENT, "the template ");
    }
    strbuf_clear(&deep);
    repeat(&deep, "{{ ", 1);
    repeat(&deep, "(", 5000);
    says(deep.text, LL_FORMAT, "too deeply");
    strbuf_clear(&deep);
    repeat(&deep, "{% if 1 %}", 5000);
    says(deep.text, LL_FORMAT, "too deeply");
    strbuf_clear(&deep);
    repeat(&deep, "{{ ", 1);
    repeat(&deep, "not ", 5000);
    repeat(&deep, "1 }}", 1);
    says(deep.text, LL_FORMAT, "too deeply");
    strbuf_clear(&deep);
    repeat(&deep, "{{ ", 1);
    repeat(&deep, "- ", 5000);
    repeat(&deep, "1 }}", 1);
    says(deep.text, LL_FORMAT, "too deeply");
    strbuf_clear(&deep);
    repeat(&deep, "{{ 1", 1);
    repeat(&deep, "+1", 5000);
    repeat(&deep, " }}", 1);
    says(deep.text, LL_ARGUMENT, "too deeply");
    strbuf_fini(&deep);
}

/* ---- what is foreign ---- */

/* Renders with one user message and gives the foreign bytes joined by bars. */
static void foreign(const char *source, const char *content, const char *wanted)
{
    ll_message message = {"user", content, strlen(content)};
    struct template_input input = {.messages = &message, .count = 1, .bos = "<s>"};
    struct template_output out = {0};
    struct strbuf joined = {0};
    ll_error error = {.text = ""};
    if (render(source, &input, &out, &error) != LL_OK)
        fail_msg("%s: %s", source, error.text);
    for (size_t i = 0; i < out.foreign_count; i++) {
        assert_true(out.foreign[i].start < out.foreign[i].end && out.foreign[i].end <= out.text.length);
        if (i)
            strbuf_puts(&joined, "|");
        strbuf_append(&joined, out.text.text + out.foreign[i].start,
                      out.foreign[i].end - out.foreign[i].start);
    }
    assert_string_equal(strbuf_text(&joined), wanted);
    strbuf_fini(&joined);
    template_output_fini(&out);
}

static void what_a_person_wrote_is_marked_through_every_operation(void **state)
{
    (void)state;
    static const char bad[] = " <|End|> ";
    foreign("{{ bos_token }}{{ messages[0].role }}", bad, "");
    foreign("a{{ messages[0].content }}b", bad, " <|End|> ");
    foreign("a{{ 'x' + messages[0].content | trim + 'y' }}b", bad, "<|End|>");
    foreign("{{ messages[0].content.upper() }}", bad, " <|END|> ");
    foreign("{{ messages[0].content[1:4] }}", bad, "<|E");
    foreign("{{ messages[0].content.split('|') }}", bad, " <|End|> ");
    foreign("{{ messages[0].content | replace('E', '<e>') }}", bad, " <||nd|> ");
    foreign("{{ '<x>' | replace('x', messages[0].content) }}", bad, " <|End|> ");
    foreign("{{ messages[0].content | tojson }}", bad, " <|End|> ");
    foreign("{{ messages | tojson }}", bad, " <|End|> ");
    foreign("{{ messages }}", bad, " <|End|> ");
    foreign("{% for c in messages[0].content %}{{ c }}-{% endfor %}", "ab", "a|b");
    foreign("{{ messages[0].content | reverse }}{{ messages[0].content * 2 }}", "ab", "baabab");
    foreign("{% set x %}<{{ messages[0].content }}>{% endset %}{{ x | indent(2, true) }}", "a\nb", "a\n|b");
    foreign("{% macro m(x) %}[{{ x }}]{% endmacro %}{{ m(messages[0].content) | upper }}", "ab", "AB");
    foreign("{{ messages | map(attribute='content') | join('<s>') }}", bad, " <|End|> ");
    foreign("{{ {messages[0].content: 1} | tojson }}", "k", "k");
    foreign("{{ messages[0].content | e }}{{ messages[0].content | title }}", "<a", "&lt;a<A");
    foreign("{% if messages[0].content == '<s>' %}{{ '<s>' }}{% endif %}", "<s>", "");
}

static void strftime_now_tells_todays_date(void **state)
{
    (void)state;
    struct template_output out = {0};
    char before[32], after[32];
    time_t now = time(NULL);
    strftime(before, sizeof before, "%d %b %Y", localtime(&now));
    assert_int_equal(render("{{ strftime_now('%d %b %Y') }}", &(struct template_input){0}, &out, NULL),
                     LL_OK);
    now = time(NULL);
    strftime(after, sizeof after, "%d %b %Y", localtime(&now));
    assert_true(strcmp(out.text.text, before) == 0 || strcmp(out.text.text, after) == 0);
    template_output_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_construct_gives_what_jinja2_gives),
        cmocka_unit_test(what_is_not_supported_is_named_with_its_line),
        cmocka_unit_test(nothing_runs_forever_or_grows_without_end),
        cmocka_unit_test(what_a_person_wrote_is_marked_through_every_operation),
        cmocka_unit_test(strftime_now_tells_todays_date),
    };
    return cmocka_run_group_tests_name("template", tests, NULL, NULL);
}
