/* Tests that grammars and schemas let through what they describe, and refuse what is hostile.
 * SPDX-License-Identifier: Apache-2.0 */
#include "text/grammar.h"

#include <jansson.h>

#include "base/utf8.h"
#include "text/recogniser.h"
#include "unit.h"

static struct recogniser *opened(const char *text, const struct tokenizer *tokenizer)
{
    struct grammar grammar;
    struct recogniser *recogniser = NULL;
    ll_error error;
    size_t vocabulary = tokenizer ? tokenizer_size(tokenizer) : 0;
    if (grammar_parse(text, strlen(text), &grammar, &error) != LL_OK ||
        recogniser_open(&grammar, tokenizer, vocabulary, true, &recogniser, &error) != LL_OK)
        fail_msg("%s", error.text);
    return recogniser;
}

static bool is_text_of(const char *grammar, const char *text)
{
    struct recogniser *recogniser = opened(grammar, NULL);
    bool good;
    assert_int_equal(recogniser_follow(recogniser, text, strlen(text), &good, NULL), LL_OK);
    good = good && recogniser_may_end(recogniser);
    recogniser_close(recogniser);
    return good;
}

static void texts_are_let_through_where_the_grammar_describes_them(void **state)
{
    (void)state;
    static const struct {
        const char *grammar, *good, *bad;
    } cases[] = {
        {"root ::= \"a\" \"b\"", "ab", "a"},
        {"root ::= \"a\" | \"b\"\n  | \"c\"", "c", "d"},
        {"root ::= \"a\"*", "aaaa", "aab"},
        {"root ::= \"a\"*", "", "b"},
        {"root ::= \"ab\"+", "abab", "aba"},
        {"root ::= \"ab\"?", "ab", "abab"},
        {"root ::= \"a\"{3}", "aaa", "aa"},
        {"root ::= \"a\"{2,}", "aaaaa", "a"},
        {"root ::= \"ab\"{1,3}", "ababab", "abababab"},
        {"root ::= \"a\"{0,2}", "", "aaa"},
        {"root ::= (\"a\" | \"bc\"){2}", "abc", "abca"},
        {"root ::= (\"a\"*)* \"b\"", "aab", "aa"},
        {"root ::= x x\nx ::= \"a\"? # one or none", "a", "aaa"},
        {"root ::= \"(\" root \")\" | \"\"", "((()))", "(()"},
        {"root ::= [a-c\\]x-]+", "ab]x-", "d"},
        {"root ::= [^a-z]", "\xC3\xA4", "q"},
        {"root ::= [\xC3\xA0-\xC3\xBF\xE4\xB8\x80-\xE9\xBF\xBF]+", "\xC3\xA9\xE6\xBC\xA2", "\xC3"},
        {"root ::= [\\u0400-\\u04FF] \"\\x21\"", "\xD0\x96!", "Z!"},
        {"root ::= .", "\xF0\x9F\x98\x80", "\xED\xA0\x80"},
        {"root ::= .{2}", "\xE2\x82\xAC\x41", "\xE2\x82\xAC"},
        {"root ::= [^\\u0080-\\u07FF]", "\xF4\x8F\xBF\xBF", "\xC2\x80"},
        {"root ::=\n (\n \"a\"\n \"b\" )\n", "ab", "ba"},
        {"root ::= a-b\na-b ::= \"\\n\\t\\\"\"", "\n\t\"", "x"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (!is_text_of(cases[i].grammar, cases[i].good) || is_text_of(cases[i].grammar, cases[i].bad))
            fail_msg("grammar %zu: %s", i, cases[i].grammar);
}

/* Every character of random ranges, and those beside them. */
static void classes_hold_their_characters_and_no_others(void **state)
{
    (void)state;
    static const uint32_t edges[] = {0, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF};
    for (size_t round = 0; round < unit_rounds(60); round++) {
        uint32_t a = edges[unit_below(10)] + (uint32_t)unit_below(70),
                 b = edges[unit_below(10)] + (uint32_t)unit_below(70);
        char text[64], bytes[5] = "";
        a = a > 0x10FFFF ? 0x10FFFF : a;
        b = b > 0x10FFFF ? 0x10FFFF : b;
        if ((a >= 0xD800 && a < 0xE000) || (b >= 0xD800 && b < 0xE000))
            continue;
        uint32_t low = a < b ? a : b, high = a < b ? b : a;
        bool negated = unit_below(2);
        snprintf(text, sizeof text, "root ::= [%s\\U%08X-\\U%08X]", negated ? "^" : "", low, high);
        if (negated && low == 0 && high == 0x10FFFF)
            continue;
        for (size_t k = 0; k < 12; k++) {
            uint32_t code = k == 0   ? low
                            : k == 1 ? high
                            : k == 2 ? low - 1
                            : k == 3 ? high + 1
                                     : (uint32_t)unit_below(0x110000);
            if (code == 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
                continue;
            bytes[utf8_encode((int32_t)code, bytes)] = '\0';
            assert_int_equal(is_text_of(text, bytes), (code >= low && code <= high) != negated);
        }
    }
}

static void expect_refused(const char *text, ll_status status, const char *fragment)
{
    struct grammar grammar;
    ll_error error;
    assert_int_equal(grammar_parse(text, strlen(text), &grammar, &error), status);
    if (!strstr(error.text, fragment))
        fail_msg("“%s” has no “%s”", error.text, fragment);
}

static void what_is_wrong_or_hostile_is_refused_in_a_sentence(void **state)
{
    (void)state;
    expect_refused("", LL_ARGUMENT, "no rule \"root\"");
    expect_refused("root ::= nope", LL_ARGUMENT, "\"nope\"");
    expect_refused("root ::= \"a", LL_ARGUMENT, "ends inside");
    expect_refused("root ::= \"a\"\nroot ::= \"b\"", LL_ARGUMENT, "line 2");
    expect_refused("root ::= [z-a]", LL_ARGUMENT, "backwards");
    expect_refused("root ::= []", LL_ARGUMENT, "nothing");
    expect_refused("root ::= \"\\q\"", LL_ARGUMENT, "escape");
    expect_refused("root ::= \"\xFF\"", LL_ARGUMENT, "UTF-8");
    expect_refused("root ::= (\"a\"", LL_ARGUMENT, "parenthesis");
    expect_refused("root ::= \"a\"{2,1}", LL_ARGUMENT, "backwards");
    expect_refused("root ::= \"a\"{99999999999}", LL_ARGUMENT, "so many");
    expect_refused("root ::= \"a\" )", LL_ARGUMENT, "cannot stand");
    expect_refused("root ::= root \"a\" | \"b\"", LL_UNSUPPORTED, "left");
    expect_refused("root ::= x\nx ::= y* root \"a\" | \"b\"\ny ::= \"c\"", LL_UNSUPPORTED, "left");
    expect_refused("root ::= \"a\" root", LL_UNSUPPORTED, "ends");
    expect_refused("root ::= ((((((\"ab\"{90000}){90000}){90000}){90000}){90000}){90000}){90000}",
                   LL_UNSUPPORTED, "too large");
    char *deep = calloc(1, 2000);
    assert_non_null(deep);
    memset(deep, '(', 1000);
    memcpy(deep, "root ::= ", 9);
    expect_refused(deep, LL_ARGUMENT, "deeply");
    free(deep);
}

static void a_text_with_too_many_readings_is_an_error_and_takes_no_time(void **state)
{
    (void)state;
    struct recogniser *recogniser = opened("root ::= x\nx ::= \"a\" x \"b\" | \"a\" x \"c\" | \"\"", NULL);
    ll_error error = {0};
    ll_status status = LL_OK;
    bool good = true;
    for (int i = 0; i < 64 && status == LL_OK; i++)
        status = recogniser_follow(recogniser, "a", 1, &good, &error);
    assert_int_equal(status, LL_UNSUPPORTED);
    assert_non_null(strstr(error.text, "ambiguous"));
    recogniser_close(recogniser);
}

static void a_long_text_is_followed_in_bounded_memory(void **state)
{
    (void)state;
    struct recogniser *recogniser = opened("root ::= \"[\" (root (\",\" root)*)? \"]\" | [0-9]+", NULL);
    bool good;
    for (int i = 0; i < 30000; i++)
        assert_int_equal(recogniser_follow(recogniser,
                                           i % 3 == 2 ? ","
                                           : i % 3    ? "7"
                                                      : "[",
                                           1, &good, NULL),
                         LL_OK);
    assert_true(good);
    recogniser_close(recogniser);
}

/* ---- schemas ---- */

static struct recogniser *schema_opened(const char *schema)
{
    struct strbuf text = {0};
    ll_error error;
    if (grammar_of_schema(schema, strlen(schema), &text, &error) != LL_OK)
        fail_msg("%s", error.text);
    struct recogniser *recogniser = opened(strbuf_text(&text), NULL);
    strbuf_fini(&text);
    return recogniser;
}

static void schemas_let_valid_documents_through_and_no_others(void **state)
{
    (void)state;
    static const char person[] =
        "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},\"b\":{\"type\":"
        "[\"string\",\"null\"],\"maxLength\":2},\"c\":{}},\"required\":[\"b\"]}";
    static const char tree[] =
        "{\"$ref\":\"#/$defs/t\",\"$defs\":{\"t\":{\"type\":\"object\",\"properties\":{\"k\":"
        "{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/t\"}}},\"required\":[\"k\"]}}}";
    static const struct {
        const char *schema, *document;
        bool valid;
    } cases[] = {
        {person, "{\"a\": 1, \"b\": \"xy\", \"c\": [true, {\"z\": -1.5e3}]}", true},
        {person, "{\"b\":null}", true},
        {person, "{\"a\":1}", false},
        {person, "{\"b\":\"xyz\"}", false},
        {person, "{\"b\":null,}", false},
        {person, "{\"a\":01,\"b\":null}", false},
        {tree, "{\"k\":[{\"k\":[]},{\"k\":[{\"k\":[]}]}]}", true},
        {tree, "{\"k\":[1]}", false},
        {"{\"enum\":[1,\"a\\\"b\",null]}", "\"a\\\"b\"", true},
        {"{\"enum\":[1,\"a\"]}", "2", false},
        {"{\"const\":{\"x\":[1,2]}}", "{\"x\":[1,2]}", true},
        {"{\"anyOf\":[{\"type\":\"boolean\"},{\"type\":\"integer\"}]}", "false", true},
        {"{\"type\":\"array\",\"minItems\":2,\"maxItems\":3,\"items\":{\"type\":\"integer\"}}", "[1, 2,3]",
         true},
        {"{\"type\":\"array\",\"minItems\":2,\"items\":{\"type\":\"integer\"}}", "[1]", false},
        {"{\"type\":\"array\",\"prefixItems\":[{\"type\":\"null\"}],\"items\":false}", "[null]", true},
        {"{\"type\":\"array\",\"prefixItems\":[{\"type\":\"null\"}],\"items\":false}", "[null,1]", false},
        {"{\"type\":\"string\",\"minLength\":2}", "\"\\u00e4\xE6\xBC\xA2\"", true},
        {"{\"type\":\"string\"}", "\"\\ud800\"", false},
        {"{\"type\":\"string\"}", "\"a\nb\"", false},
        {"true", "{\"x\": [1, \"y\", null]}", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct recogniser *recogniser = schema_opened(cases[i].schema);
        bool good;
        assert_int_equal(
            recogniser_follow(recogniser, cases[i].document, strlen(cases[i].document), &good, NULL), LL_OK);
        if ((good && recogniser_may_end(recogniser)) != cases[i].valid)
            fail_msg("schema %zu: %s", i, cases[i].document);
        recogniser_close(recogniser);
    }
}

static void schemas_that_cannot_be_kept_are_refused_by_word(void **state)
{
    (void)state;
    static const struct {
        const char *schema, *fragment;
    } cases[] = {{"{\"type\":\"string\",\"pattern\":\"a\"}", "pattern"},
                 {"{\"type\":\"integer\",\"minimum\":3}", "minimum"},
                 {"{\"type\":\"text\"}", "text"},
                 {"{\"$ref\":\"#/nowhere\"}", "nowhere"},
                 {"{\"$ref\":\"http://x/y\"}", "http"},
                 {"{\"type\":\"object\",\"required\":[\"x\"]}", "required"},
                 {"{\"type\":\"array\",\"minItems\":5,\"maxItems\":2}", "maxItems"},
                 {"{\"type\":\"string\",\"maxLength\":1e9}", "maxLength"},
                 {"{\"anyOf\":[],\"type\":\"null\"}", "alone"},
                 {"{\"type\":\"integer\",\"const\":\"a\"}", "const"},
                 {"{\"oneOf\":[{}]}", "oneOf"},
                 {"false", "false"},
                 {"{", "no JSON"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct strbuf text = {0};
        ll_error error = {0};
        assert_int_not_equal(grammar_of_schema(cases[i].schema, strlen(cases[i].schema), &text, &error),
                             LL_OK);
        if (!strstr(error.text, cases[i].fragment))
            fail_msg("“%s” has no “%s”", error.text, cases[i].fragment);
        strbuf_fini(&text);
    }
}

/* Bytes at random, as the recogniser lets them: the document is complete, and JSON. */
static void random_walks_through_a_schema_give_json(void **state)
{
    (void)state;
    static const char schema[] = "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"array\","
                                 "\"maxItems\":3,\"items\":{\"type\":\"number\"}},"
                                 "\"b\":{\"type\":\"string\",\"maxLength\":6},\"c\":{\"anyOf\":[{\"type\":"
                                 "\"null\"},{\"enum\":[\"x\",5]}]}}}";
    for (size_t round = 0; round < unit_rounds(60); round++) {
        struct recogniser *recogniser = schema_opened(schema);
        char text[4096];
        size_t length = 0;
        while (length < sizeof text && !recogniser_must_end(recogniser)) {
            bool good = false;
            for (size_t tries = 0; !good && tries < 100000; tries++) {
                text[length] = (char)unit_below(256);
                if (text[length] == ' ' || text[length] == '\n' || text[length] == '\t')
                    continue;
                assert_int_equal(recogniser_follow(recogniser, text + length, 1, &good, NULL), LL_OK);
            }
            assert_true(good);
            length++;
        }
        json_error_t at;
        json_t *document = json_loadb(text, length, 0, &at);
        if (!document)
            fail_msg("%.*s: %s", (int)length, text, at.text);
        json_decref(document);
        recogniser_close(recogniser);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_let_through_where_the_grammar_describes_them),
        cmocka_unit_test(classes_hold_their_characters_and_no_others),
        cmocka_unit_test(what_is_wrong_or_hostile_is_refused_in_a_sentence),
        cmocka_unit_test(a_text_with_too_many_readings_is_an_error_and_takes_no_time),
        cmocka_unit_test(a_long_text_is_followed_in_bounded_memory),
        cmocka_unit_test(schemas_let_valid_documents_through_and_no_others),
        cmocka_unit_test(schemas_that_cannot_be_kept_are_refused_by_word),
        cmocka_unit_test(random_walks_through_a_schema_give_json),
    };
    unit_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
