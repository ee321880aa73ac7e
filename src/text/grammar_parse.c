/* Reads GBNF: name ::= "text" [classes] . (groups) | alternatives, with * + ? {m,n} and # comments.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "text/grammar_build.h"

enum { MOST_DEPTH = 64, MOST_RANGES = 512, MOST_REPEATS = 100000, MOST_NAMES = 4096 };

static const char where[] = "grammar";

struct rule_name {
    const char *text;
    size_t length;
    bool defined;
};

struct sequence { /* of items, growing */
    struct grammar_item *items;
    size_t count, room;
};

struct parser {
    struct grammar_build build;
    const char *text, *at, *end;
    struct rule_name *names; /* [build.rule_count]; rules made here have none */
    size_t name_room;
    uint32_t *named; /* [named_count], those with a name */
    size_t named_count, named_room;
    int depth;
};

/* ---- errors and rules ---- */

static ll_status wrong(const struct parser *p, const char *what)
{
    size_t line = 1;
    char shown[48];
    for (const char *c = p->text; c < p->at; c++)
        line += *c == '\n';
    size_t left = (size_t)(p->end - p->at);
    utf8_printable(p->at, left < 20 ? left : 20, shown, sizeof shown);
    return error_set(p->build.error, LL_ARGUMENT, where, "line %zu of the grammar, at \"%s\": %s", line,
                     shown, what);
}

static ll_status new_rule(struct parser *p, const char *text, size_t length, uint32_t *ret)
{
    if (p->build.rule_count >= GRAMMAR_MOST_ITEMS)
        return error_set(p->build.error, LL_UNSUPPORTED, where, "the grammar has too many rules");
    if (!mem_grow((void **)&p->names, &p->name_room, p->build.rule_count + 1, sizeof *p->names))
        return error_nomem(p->build.error, where, p->build.rule_count * sizeof *p->names);
    p->names[p->build.rule_count] = (struct rule_name){text, length, text == NULL};
    *ret = (uint32_t)p->build.rule_count++;
    return LL_OK;
}

/* There are few: no table. */
static ll_status named_rule(struct parser *p, const char *text, size_t length, uint32_t *ret)
{
    for (size_t i = 0; i < p->named_count; i++) {
        const struct rule_name *name = &p->names[p->named[i]];
        if (name->length == length && memcmp(name->text, text, length) == 0) {
            *ret = p->named[i];
            return LL_OK;
        }
    }
    if (p->named_count >= MOST_NAMES)
        return error_set(p->build.error, LL_UNSUPPORTED, where, "the grammar has more than %d named rules",
                         MOST_NAMES);
    if (!mem_grow((void **)&p->named, &p->named_room, p->named_count + 1, sizeof *p->named))
        return error_nomem(p->build.error, where, p->named_count * sizeof *p->named);
    LL_TRY(new_rule(p, text, length, ret));
    p->named[p->named_count++] = *ret;
    return LL_OK;
}

static ll_status push(struct parser *p, struct sequence *s, struct grammar_item item)
{
    if (s->count >= GRAMMAR_MOST_ITEMS)
        return error_set(p->build.error, LL_UNSUPPORTED, where, "the grammar is too large");
    if (!mem_grow((void **)&s->items, &s->room, s->count + 1, sizeof *s->items))
        return error_nomem(p->build.error, where, s->count * sizeof *s->items);
    s->items[s->count++] = item;
    return LL_OK;
}

static struct grammar_item rule_item(uint32_t rule)
{
    return (struct grammar_item){.kind = GRAMMAR_RULE, .rule = rule};
}

/* ---- letters ---- */

static bool more(const struct parser *p)
{
    return p->at < p->end;
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/* Blanks and comments; with lines also the ends of lines. */
static void skip(struct parser *p, bool lines)
{
    while (more(p)) {
        if (*p->at == '#')
            while (more(p) && *p->at != '\n')
                p->at++;
        else if (*p->at == ' ' || *p->at == '\t' || (lines && (*p->at == '\n' || *p->at == '\r')))
            p->at++;
        else
            return;
    }
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static ll_status hex(struct parser *p, int digits, uint32_t *ret)
{
    uint32_t value = 0;
    for (int i = 0; i < digits; i++, p->at++) {
        int digit = more(p) ? hex_digit(*p->at) : -1;
        if (digit < 0)
            return wrong(p, "an escape lacks a hexadecimal digit");
        value = value << 4 | (uint32_t)digit;
    }
    if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
        return wrong(p, "an escape is no character");
    *ret = value;
    return LL_OK;
}

static ll_status character(struct parser *p, uint32_t *ret)
{
    static const char letters[] = "nrt\\\"[]-^/'", meant[] = "\n\r\t\\\"[]-^/'";
    if (!more(p))
        return wrong(p, "the text ends inside of quotes or brackets");
    if (*p->at != '\\') {
        size_t length;
        int32_t code = utf8_decode(p->at, (size_t)(p->end - p->at), &length);
        if (code < 0)
            return wrong(p, "this is no UTF-8");
        p->at += length;
        *ret = (uint32_t)code;
        return LL_OK;
    }
    p->at++;
    char letter = more(p) ? *p->at++ : '\0';
    if (letter == 'x' || letter == 'u' || letter == 'U')
        return hex(p, letter == 'x' ? 2 : letter == 'u' ? 4 : 8, ret);
    const char *found = letter ? strchr(letters, letter) : NULL;
    if (!found)
        return wrong(p, "there is no such escape");
    *ret = (uint32_t)(unsigned char)meant[found - letters];
    return LL_OK;
}

/* ---- symbols ---- */

static ll_status literal(struct parser *p, struct sequence *s)
{
    for (p->at++; !more(p) || *p->at != '"';) {
        uint32_t code;
        char bytes[4];
        LL_TRY(character(p, &code));
        size_t length = utf8_encode((int32_t)code, bytes);
        for (size_t i = 0; i < length; i++)
            LL_TRY(push(p, s, (struct grammar_item){GRAMMAR_BYTES, (uint8_t)bytes[i], (uint8_t)bytes[i], 0}));
    }
    p->at++;
    return LL_OK;
}

static void sort_ranges(struct grammar_range *ranges, size_t count)
{
    for (size_t i = 1; i < count; i++) /* few, and mostly in order */
        for (size_t k = i; k > 0 && ranges[k].low < ranges[k - 1].low; k--) {
            struct grammar_range swapped = ranges[k];
            ranges[k] = ranges[k - 1];
            ranges[k - 1] = swapped;
        }
}

/* Sorted ranges become what lies between them; [count + 1] are room enough. */
static size_t complement(struct grammar_range *ranges, size_t count, struct grammar_range *out)
{
    size_t made = 0;
    uint32_t next = 0;
    for (size_t i = 0; i < count; i++) {
        if (ranges[i].low > next)
            out[made++] = (struct grammar_range){next, ranges[i].low - 1};
        next = ranges[i].high + 1 > next ? ranges[i].high + 1 : next;
    }
    if (next <= 0x10FFFF)
        out[made++] = (struct grammar_range){next, 0x10FFFF};
    return made;
}

static ll_status push_class(struct parser *p, struct sequence *s, const struct grammar_range *ranges,
                            size_t count)
{
    uint32_t rule;
    if (count == 1 && ranges[0].high < 0x80)
        return push(p, s,
                    (struct grammar_item){GRAMMAR_BYTES, (uint8_t)ranges[0].low, (uint8_t)ranges[0].high, 0});
    LL_TRY(new_rule(p, NULL, 0, &rule));
    LL_TRY(grammar_add_characters(&p->build, rule, ranges, count));
    return push(p, s, rule_item(rule));
}

static ll_status read_ranges(struct parser *p, struct grammar_range *ranges, size_t *count)
{
    while (!more(p) || *p->at != ']') {
        struct grammar_range range;
        LL_TRY(character(p, &range.low));
        range.high = range.low;
        if (p->end - p->at > 1 && p->at[0] == '-' && p->at[1] != ']') {
            p->at++;
            LL_TRY(character(p, &range.high));
        }
        if (range.high < range.low)
            return wrong(p, "the range before this runs backwards");
        if (*count >= MOST_RANGES)
            return wrong(p, "a class has too many ranges");
        ranges[(*count)++] = range;
    }
    p->at++;
    return LL_OK;
}

static ll_status class(struct parser *p, struct sequence *s)
{
    struct grammar_range *ranges = mem_new(2 * MOST_RANGES + 1, sizeof *ranges), *out = ranges;
    size_t count = 0;
    if (!ranges)
        return error_nomem(p->build.error, where, MOST_RANGES * sizeof *ranges);
    p->at++;
    bool negated = more(p) && *p->at == '^';
    p->at += negated;
    ll_status status = read_ranges(p, ranges, &count);
    if (status == LL_OK && negated) {
        out = ranges + MOST_RANGES;
        sort_ranges(ranges, count);
        count = complement(ranges, count, out);
    }
    if (status == LL_OK)
        status = count ? push_class(p, s, out, count) : wrong(p, "the class before this holds nothing");
    mem_free(ranges);
    return status;
}

static ll_status alternatives(struct parser *p, uint32_t rule, bool nested);

static ll_status group(struct parser *p, struct sequence *s)
{
    uint32_t rule;
    if (p->depth >= MOST_DEPTH)
        return wrong(p, "groups are nested too deeply");
    p->at++;
    p->depth++;
    LL_TRY(new_rule(p, NULL, 0, &rule));
    LL_TRY(alternatives(p, rule, true));
    p->depth--;
    if (!more(p) || *p->at != ')')
        return wrong(p, "a group lacks its closing parenthesis");
    p->at++;
    return push(p, s, rule_item(rule));
}

static ll_status reference(struct parser *p, struct sequence *s)
{
    const char *start = p->at;
    uint32_t rule;
    while (more(p) && is_name(*p->at))
        p->at++;
    LL_TRY(named_rule(p, start, (size_t)(p->at - start), &rule));
    return push(p, s, rule_item(rule));
}

/* ---- repetition ---- */

static ll_status whole(struct parser *p, uint32_t *ret)
{
    uint32_t value = 0;
    if (!more(p) || *p->at < '0' || *p->at > '9')
        return wrong(p, "a number of repetitions is missing");
    for (; more(p) && *p->at >= '0' && *p->at <= '9'; p->at++) {
        value = value * 10 + (uint32_t)(*p->at - '0');
        if (value > MOST_REPEATS)
            return wrong(p, "so many repetitions are not supported");
    }
    *ret = value;
    return LL_OK;
}

/* {m}, {m,}, {m,n}; *most UINT32_MAX: any number. */
static ll_status bounds(struct parser *p, uint32_t *least, uint32_t *most)
{
    p->at++;
    skip(p, false);
    LL_TRY(whole(p, least));
    *most = *least;
    skip(p, false);
    if (more(p) && *p->at == ',') {
        p->at++;
        skip(p, false);
        *most = UINT32_MAX;
        if (more(p) && *p->at != '}')
            LL_TRY(whole(p, most));
        skip(p, false);
    }
    if (!more(p) || *p->at != '}')
        return wrong(p, "repetitions lack their closing brace");
    if (*most < *least)
        return wrong(p, "the repetitions before this run backwards");
    p->at++;
    return LL_OK;
}

/* A rule for "item rest, or nothing"; rest is the rule itself where any number may come. */
static ll_status optional(struct parser *p, struct grammar_item item, const uint32_t *rest, uint32_t *ret)
{
    LL_TRY(new_rule(p, NULL, 0, ret));
    struct grammar_item items[2] = {item, rule_item(rest ? *rest : *ret)};
    LL_TRY(grammar_add(&p->build, *ret, items, 2));
    return grammar_add(&p->build, *ret, NULL, 0);
}

static ll_status repeat(struct parser *p, struct sequence *s, size_t from, uint32_t least, uint32_t most)
{
    struct grammar_item item;
    uint32_t rule, rest;
    if (s->count - from == 1) {
        item = s->items[from];
    } else { /* the repeated becomes a rule of its own, so that repetitions of repetitions only add up */
        LL_TRY(new_rule(p, NULL, 0, &rule));
        LL_TRY(grammar_add(&p->build, rule, s->count > from ? s->items + from : NULL, s->count - from));
        item = rule_item(rule);
    }
    s->count = from;
    for (uint32_t i = 0; i < least; i++)
        LL_TRY(push(p, s, item));
    if (most == UINT32_MAX) {
        LL_TRY(optional(p, item, NULL, &rest));
        return push(p, s, rule_item(rest));
    }
    if (most == least)
        return LL_OK;
    LL_TRY(new_rule(p, NULL, 0, &rest));
    LL_TRY(grammar_add(&p->build, rest, &item, 1));
    LL_TRY(grammar_add(&p->build, rest, NULL, 0));
    for (uint32_t i = least + 1; i < most; i++) {
        uint32_t before = rest;
        LL_TRY(optional(p, item, &before, &rest));
    }
    return push(p, s, rule_item(rest));
}

static ll_status postfix(struct parser *p, struct sequence *s, size_t from)
{
    for (;; skip(p, p->depth > 0)) {
        uint32_t least = 0, most = UINT32_MAX;
        char c = more(p) ? *p->at : '\0';
        if (c == '{') {
            LL_TRY(bounds(p, &least, &most));
        } else if (c == '*' || c == '+' || c == '?') {
            least = c == '+';
            most = c == '?' ? 1 : UINT32_MAX;
            p->at++;
        } else {
            return LL_OK;
        }
        LL_TRY(repeat(p, s, from, least, most));
    }
}

/* ---- rules ---- */

static ll_status symbols(struct parser *p, struct sequence *s, bool nested)
{
    static const struct grammar_range all = {0, 0x10FFFF};
    for (;;) {
        skip(p, nested);
        size_t from = s->count;
        char c = more(p) ? *p->at : '\0';
        if (c == '"')
            LL_TRY(literal(p, s));
        else if (c == '[')
            LL_TRY(class(p, s));
        else if (c == '(')
            LL_TRY(group(p, s));
        else if (c == '.') {
            p->at++;
            LL_TRY(push_class(p, s, &all, 1));
        } else if (is_name(c))
            LL_TRY(reference(p, s));
        else
            return LL_OK;
        skip(p, nested);
        LL_TRY(postfix(p, s, from));
    }
}

/* The next line may go on with a stroke. */
static bool stroke(struct parser *p)
{
    const char *before = p->at;
    skip(p, true);
    if (more(p) && *p->at == '|') {
        p->at++;
        skip(p, true);
        return true;
    }
    p->at = before;
    return false;
}

static ll_status alternatives(struct parser *p, uint32_t rule, bool nested)
{
    struct sequence s = {0};
    ll_status status;
    do {
        s.count = 0;
        status = symbols(p, &s, nested);
        if (status == LL_OK)
            status = grammar_add(&p->build, rule, s.items, s.count);
    } while (status == LL_OK && stroke(p));
    mem_free(s.items);
    if (nested)
        skip(p, true);
    return status;
}

static ll_status read_rule(struct parser *p)
{
    const char *start = p->at;
    uint32_t rule;
    while (more(p) && is_name(*p->at))
        p->at++;
    size_t length = (size_t)(p->at - start);
    if (length == 0)
        return wrong(p, "the name of a rule is missing");
    skip(p, false);
    if (p->end - p->at < 3 || memcmp(p->at, "::=", 3) != 0)
        return wrong(p, "a rule is a name, ::= and what it stands for");
    p->at += 3;
    skip(p, true);
    LL_TRY(named_rule(p, start, length, &rule));
    if (p->names[rule].defined)
        return wrong(p, "the rule before this is there twice");
    p->names[rule].defined = true;
    LL_TRY(alternatives(p, rule, false));
    skip(p, false);
    if (more(p) && *p->at != '\n' && *p->at != '\r')
        return wrong(p, "this cannot stand in a rule");
    return LL_OK;
}

static ll_status read_all(struct parser *p, uint32_t *ret_root)
{
    char shown[80];
    LL_TRY(named_rule(p, "root", 4, ret_root));
    for (skip(p, true); more(p); skip(p, true))
        LL_TRY(read_rule(p));
    for (size_t i = 0; i < p->build.rule_count; i++) {
        if (p->names[i].defined)
            continue;
        utf8_printable(p->names[i].text, p->names[i].length < 70 ? p->names[i].length : 70, shown,
                       sizeof shown);
        return error_set(p->build.error, LL_ARGUMENT, where, "the grammar has no rule \"%s\"", shown);
    }
    return LL_OK;
}

ll_status grammar_parse(const char *text, size_t length, struct grammar *ret, ll_error *error)
{
    struct parser p = {.build = {.error = error}, .text = text, .at = text, .end = text + length};
    uint32_t root;
    if (length > GRAMMAR_MOST_TEXT)
        return error_set(error, LL_UNSUPPORTED, where, "a grammar of %zu bytes is too large", length);
    ll_status status = read_all(&p, &root);
    if (status == LL_OK)
        status = grammar_compile(&p.build, root, ret);
    grammar_build_fini(&p.build);
    mem_free(p.names);
    mem_free(p.named);
    return status;
}
