/* Writes the JSON documents that a schema allows as GBNF, and refuses what it cannot keep.
 * SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "text/grammar.h"

enum { MOST_DEPTH = 64, MOST_RULES = 3000, MOST_COUNT = 20000, MOST_REFERENCES = 256 };

static const char where[] = "schema";

struct writer {
    json_t *root;
    struct strbuf *out;
    unsigned rules;
    int depth;
    struct {
        const char *path; /* of the schema's own text */
        unsigned rule;
    } references[MOST_REFERENCES];
    size_t reference_count;
    ll_error *error;
};

/* Numbers have few digits so that every reader of JSON holds them. */
static const char basics[] =
    "ws ::= | \" \" | \"\\n\" [ \\t]{0,20}\n"
    "hex ::= [0-9a-fA-F]\n"
    "char ::= [^\"\\\\\\x00-\\x1f\\x7f] | \"\\\\\" ([\"\\\\/bfnrt] | \"u\" ([0-9abcefABCEF] hex hex hex | "
    "[dD] [0-7] hex hex))\n"
    "string ::= \"\\\"\" char* \"\\\"\"\n"
    "integer ::= \"-\"? (\"0\" | [1-9] [0-9]{0,14})\n"
    "number ::= integer (\".\" [0-9]{1,15})? ([eE] [-+]? [0-9]{1,2})?\n"
    "boolean ::= \"true\" | \"false\"\n"
    "null ::= \"null\"\n"
    "value ::= object | array | string | number | boolean | null\n"
    "object ::= \"{\" ws (string ws \":\" ws value ws (\",\" ws string ws \":\" ws value ws)*)? \"}\"\n"
    "array ::= \"[\" ws (value ws (\",\" ws value ws)*)? \"]\"\n";

static ll_status refuse(const struct writer *w, const char *what, const char *why)
{
    char shown[80];
    utf8_printable(what, strlen(what) < 70 ? strlen(what) : 70, shown, sizeof shown);
    return error_set(w->error, LL_UNSUPPORTED, where, "the schema's \"%s\" %s", shown, why);
}

static ll_status new_rule(struct writer *w, unsigned *ret)
{
    if (w->rules >= MOST_RULES || w->out->length > GRAMMAR_MOST_TEXT)
        return error_set(w->error, LL_UNSUPPORTED, where, "the schema is too large");
    *ret = w->rules++;
    return LL_OK;
}

/* ---- texts ---- */

static void put_literal(struct writer *w, const char *text, size_t length)
{
    strbuf_putc(w->out, '"');
    for (size_t i = 0; i < length; i++)
        if (text[i] == '"' || text[i] == '\\')
            strbuf_printf(w->out, "\\%c", text[i]);
        else if ((unsigned char)text[i] < 0x20)
            strbuf_printf(w->out, "\\x%02x", (unsigned)(unsigned char)text[i]);
        else
            strbuf_putc(w->out, text[i]);
    strbuf_putc(w->out, '"');
}

/* The JSON text of a value, as a literal. */
static ll_status put_json(struct writer *w, const json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    if (!text)
        return error_nomem(w->error, where, 256);
    put_literal(w, text, strlen(text));
    free(text);
    return LL_OK;
}

static ll_status put_key(struct writer *w, const char *key)
{
    json_t *name = json_string(key);
    ll_status status = name ? put_json(w, name) : error_nomem(w->error, where, 256);
    json_decref(name);
    return status;
}

/* ---- keywords ---- */

/* Words that change nothing, and those that some kind below reads. */
static bool is_known(const char *word)
{
    static const char *const words[] = {"title",       "description",
                                        "default",     "examples",
                                        "$schema",     "$id",
                                        "$comment",    "$defs",
                                        "definitions", "deprecated",
                                        "readOnly",    "writeOnly",
                                        "format",      "$anchor",
                                        "type",        "enum",
                                        "const",       "anyOf",
                                        "$ref",        "properties",
                                        "required",    "additionalProperties",
                                        "items",       "prefixItems",
                                        "minItems",    "maxItems",
                                        "minLength",   "maxLength"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], word) == 0)
            return true;
    return false;
}

static ll_status check_words(const struct writer *w, json_t *schema)
{
    const char *word;
    json_t *value;
    json_object_foreach(schema, word, value)
    {
        if (!is_known(word))
            return refuse(w, word, "is not supported");
    }
    return LL_OK;
}

/* How many, for "{least,most}"; absent: fallback. */
static ll_status read_count(const struct writer *w, json_t *schema, const char *word, json_int_t fallback,
                            json_int_t *ret)
{
    json_t *value = json_object_get(schema, word);
    *ret = fallback;
    if (!value)
        return LL_OK;
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return refuse(w, word, "is no whole number from 0 on");
    if (json_integer_value(value) > MOST_COUNT)
        return refuse(w, word, "is too large");
    *ret = json_integer_value(value);
    return LL_OK;
}

static ll_status read_bounds(const struct writer *w, json_t *schema, const char *least, const char *most,
                             json_int_t ret[2])
{
    LL_TRY(read_count(w, schema, least, 0, &ret[0]));
    LL_TRY(read_count(w, schema, most, -1, &ret[1]));
    return ret[1] >= 0 && ret[1] < ret[0] ? refuse(w, most, "is below the least") : LL_OK;
}

static void put_repeats(struct writer *w, json_int_t least, json_int_t most)
{
    if (most < 0)
        strbuf_printf(w->out, "{%lld,}", (long long)least);
    else
        strbuf_printf(w->out, "{%lld,%lld}", (long long)least, (long long)most);
}

static ll_status schema_rule(struct writer *w, json_t *schema, unsigned *ret);

/* ---- strings and arrays ---- */

static ll_status put_string(struct writer *w, json_t *schema)
{
    json_int_t bounds[2];
    LL_TRY(read_bounds(w, schema, "minLength", "maxLength", bounds));
    strbuf_puts(w->out, "\"\\\"\" char");
    put_repeats(w, bounds[0], bounds[1]);
    strbuf_puts(w->out, " \"\\\"\"");
    return LL_OK;
}

/* The items of prefixItems in order, then any number of items; how many in all is bounded. */
static ll_status array_rule(struct writer *w, json_t *schema, unsigned rule)
{
    json_t *prefix = json_object_get(schema, "prefixItems"), *items = json_object_get(schema, "items");
    size_t fixed = json_array_size(prefix);
    unsigned heads[64], tail = 0;
    json_int_t bounds[2];
    LL_TRY(read_bounds(w, schema, "minItems", "maxItems", bounds));
    if ((prefix && !json_is_array(prefix)) || fixed > 64)
        return refuse(w, "prefixItems", "is no list of up to 64 schemas");
    if (fixed > 0 && bounds[0] < (json_int_t)fixed)
        bounds[0] = (json_int_t)fixed; /* a document may be stricter than the schema */
    if (items && json_is_false(items) && bounds[1] < 0)
        bounds[1] = (json_int_t)fixed;
    if (bounds[1] >= 0 && bounds[1] < bounds[0])
        return refuse(w, "maxItems", "leaves no room for the items it must have");
    for (size_t i = 0; i < fixed; i++)
        LL_TRY(schema_rule(w, json_array_get(prefix, i), &heads[i]));
    json_int_t least = bounds[0] - (json_int_t)fixed,
               most = bounds[1] < 0 ? -1 : bounds[1] - (json_int_t)fixed;
    bool open = most != 0;
    if (open && items && !json_is_true(items))
        LL_TRY(schema_rule(w, items, &tail));
    char item[24] = "value";
    if (open && items && !json_is_true(items))
        snprintf(item, sizeof item, "r%u", tail);
    strbuf_printf(w->out, "r%u ::= \"[\" ws ", rule);
    for (size_t i = 0; i < fixed; i++)
        strbuf_printf(w->out, "%sr%u ws ", i ? "\",\" ws " : "", heads[i]);
    if (open && fixed > 0) {
        strbuf_printf(w->out, "(\",\" ws %s ws)", item);
        put_repeats(w, least, most);
    } else if (open) {
        strbuf_printf(w->out, "(%s ws (\",\" ws %s ws)", item, item);
        put_repeats(w, least > 0 ? least - 1 : 0, most < 0 ? -1 : most - 1);
        strbuf_puts(w->out, least > 0 ? ")" : ")?");
    }
    strbuf_puts(w->out, " \"]\"\n");
    return LL_OK;
}

/* ---- objects ---- */

static bool is_required(json_t *required, const char *key)
{
    size_t i;
    json_t *name;
    json_array_foreach(required, i, name)
    {
        if (json_is_string(name) && strcmp(json_string_value(name), key) == 0)
            return true;
    }
    return false;
}

static ll_status check_required(const struct writer *w, json_t *required, json_t *properties)
{
    size_t i;
    json_t *name;
    if (required && !json_is_array(required))
        return refuse(w, "required", "is no list");
    json_array_foreach(required, i, name)
    {
        if (!json_is_string(name) || !json_object_get(properties, json_string_value(name)))
            return refuse(w, "required", "names a property that the schema does not describe");
    }
    return LL_OK;
}

/* Two rules for what is left from each property on: with something before it (a comma is due), and without.
 */
static ll_status put_properties(struct writer *w, json_t *schema, unsigned object)
{
    json_t *properties = json_object_get(schema, "properties"),
           *required = json_object_get(schema, "required");
    const char *key;
    json_t *value;
    size_t i = 0, count = json_object_size(properties);
    LL_TRY(check_required(w, required, properties));
    strbuf_printf(w->out, "r%u ::= \"{\" ws r%u-0-n \"}\"\n", object, object);
    json_object_foreach(properties, key, value)
    {
        unsigned rule;
        bool optional = !is_required(required, key);
        LL_TRY(schema_rule(w, value, &rule));
        for (int due = 0; due < 2; due++) {
            const char *name = due ? "c" : "n";
            strbuf_printf(w->out, "r%u-%zu-%s ::= %s", object, i, name, due ? "\",\" ws " : "");
            LL_TRY(put_key(w, key));
            strbuf_printf(w->out, " ws \":\" ws r%u ws r%u-%zu-c", rule, object, i + 1);
            if (optional)
                strbuf_printf(w->out, " | r%u-%zu-%s", object, i + 1, name);
            strbuf_putc(w->out, '\n');
        }
        i++;
    }
    strbuf_printf(w->out, "r%u-%zu-c ::= \"\"\nr%u-%zu-n ::= \"\"\n", object, count, object, count);
    return LL_OK;
}

static ll_status object_rule(struct writer *w, json_t *schema, unsigned rule)
{
    json_t *properties = json_object_get(schema, "properties"),
           *others = json_object_get(schema, "additionalProperties");
    unsigned other;
    if (properties && !json_is_object(properties))
        return refuse(w, "properties", "is no object");
    if (json_object_size(properties) > 0)
        return put_properties(w, schema, rule);
    LL_TRY(check_required(w, json_object_get(schema, "required"), properties));
    if (others && json_is_false(others)) {
        strbuf_printf(w->out, "r%u ::= \"{\" ws \"}\"\n", rule);
        return LL_OK;
    }
    if (!others || json_is_true(others)) {
        strbuf_printf(w->out, "r%u ::= object\n", rule);
        return LL_OK;
    }
    LL_TRY(schema_rule(w, others, &other));
    strbuf_printf(
        w->out, "r%u ::= \"{\" ws (string ws \":\" ws r%u ws (\",\" ws string ws \":\" ws r%u ws)*)? \"}\"\n",
        rule, other, other);
    return LL_OK;
}

/* ---- references ---- */

/* "#/$defs/name": the place in the schema; NULL: none. */
static json_t *find_reference(const struct writer *w, const char *path)
{
    json_t *at = w->root;
    if (path[0] != '#')
        return NULL;
    for (path++; at && *path == '/';) {
        char name[256];
        size_t length = 0;
        for (path++; *path && *path != '/' && length + 1 < sizeof name; path++) {
            bool escaped = path[0] == '~' && (path[1] == '0' || path[1] == '1');
            name[length++] = escaped ? (path[1] == '0' ? '~' : '/') : *path;
            path += escaped;
        }
        name[length] = '\0';
        at = json_is_array(at) ? json_array_get(at, (size_t)strtoul(name, NULL, 10))
                               : json_object_get(at, name);
    }
    return *path ? NULL : at;
}

/* One rule for each place referred to, so that schemas may hold themselves. */
static ll_status reference_rule(struct writer *w, json_t *schema, unsigned *ret)
{
    const char *path = json_string_value(json_object_get(schema, "$ref"));
    json_t *target = path ? find_reference(w, path) : NULL;
    if (!target)
        return refuse(w, path ? path : "$ref", "refers to nothing in the schema itself");
    for (size_t i = 0; i < w->reference_count; i++)
        if (strcmp(w->references[i].path, path) == 0) {
            *ret = w->references[i].rule;
            return LL_OK;
        }
    if (w->reference_count >= MOST_REFERENCES)
        return error_set(w->error, LL_UNSUPPORTED, where, "the schema has more than %d references",
                         MOST_REFERENCES);
    unsigned inner;
    LL_TRY(new_rule(w, ret));
    w->references[w->reference_count].path = path;
    w->references[w->reference_count++].rule = *ret;
    LL_TRY(schema_rule(w, target, &inner));
    strbuf_printf(w->out, "r%u ::= r%u\n", *ret, inner);
    return LL_OK;
}

/* ---- schemas ---- */

/* enum, anyOf: one of several. */
static ll_status choice_rule(struct writer *w, json_t *list, bool schemas, unsigned rule)
{
    struct strbuf *out = w->out, line = {0};
    size_t i;
    json_t *item;
    ll_status status = LL_OK;
    if (!json_is_array(list) || json_array_size(list) == 0)
        return refuse(w, schemas ? "anyOf" : "enum", "is no list with something in it");
    strbuf_printf(&line, "r%u ::= ", rule);
    json_array_foreach(list, i, item)
    {
        unsigned inner;
        strbuf_puts(&line, i ? " | " : "");
        if (schemas && status == LL_OK)
            status = schema_rule(w, item, &inner);
        if (schemas && status == LL_OK)
            strbuf_printf(&line, "r%u", inner);
        w->out = &line;
        if (!schemas && status == LL_OK)
            status = put_json(w, item);
        w->out = out;
    }
    strbuf_putc(&line, '\n');
    strbuf_append(out, strbuf_text(&line), line.length);
    out->failed = out->failed || line.failed;
    strbuf_fini(&line);
    return status;
}

static ll_status typed_rule(struct writer *w, json_t *schema, const char *type, unsigned rule)
{
    static const char *const plain[] = {"integer", "number", "boolean", "null"};
    if (strcmp(type, "object") == 0)
        return object_rule(w, schema, rule);
    if (strcmp(type, "array") == 0)
        return array_rule(w, schema, rule);
    if (strcmp(type, "string") == 0) {
        strbuf_printf(w->out, "r%u ::= ", rule);
        LL_TRY(put_string(w, schema));
        strbuf_putc(w->out, '\n');
        return LL_OK;
    }
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(plain[i], type) == 0) {
            strbuf_printf(w->out, "r%u ::= %s\n", rule, type);
            return LL_OK;
        }
    return refuse(w, type, "is no type of JSON");
}

/* "type": ["string", "null"]. */
static ll_status types_rule(struct writer *w, json_t *schema, json_t *types, unsigned rule)
{
    size_t i, count = json_array_size(types);
    unsigned inner[8];
    json_t *type;
    if (count == 0 || count > 7)
        return refuse(w, "type", "is no list of types");
    json_array_foreach(types, i, type)
    {
        if (!json_is_string(type))
            return refuse(w, "type", "is no list of types");
        LL_TRY(new_rule(w, &inner[i]));
        LL_TRY(typed_rule(w, schema, json_string_value(type), inner[i]));
    }
    strbuf_printf(w->out, "r%u ::= ", rule);
    for (i = 0; i < count; i++)
        strbuf_printf(w->out, "%sr%u", i ? " | " : "", inner[i]);
    strbuf_putc(w->out, '\n');
    return LL_OK;
}

/* Words that say what a value is; two of them together would have to hold at once. */
static ll_status check_alone(const struct writer *w, json_t *schema)
{
    static const char *const words[] = {"$ref", "const", "enum", "anyOf"};
    size_t found = 0;
    for (size_t i = 0; i < 4; i++)
        found += json_object_get(schema, words[i]) != NULL;
    bool shaped = json_object_get(schema, "properties") || json_object_get(schema, "items") ||
                  json_object_get(schema, "prefixItems") || json_object_get(schema, "minLength") ||
                  json_object_get(schema, "maxLength") || json_object_get(schema, "minItems") ||
                  json_object_get(schema, "maxItems") || json_object_get(schema, "required") ||
                  json_object_get(schema, "additionalProperties");
    bool typed = json_object_get(schema, "type") &&
                 (json_object_get(schema, "$ref") || json_object_get(schema, "anyOf"));
    if (found > 1 || (found == 1 && (shaped || typed)))
        return error_set(w->error, LL_UNSUPPORTED, where,
                         "$ref, const, enum and anyOf are supported alone, not with each other or with what "
                         "describes a value besides");
    return LL_OK;
}

static bool value_has_type(const json_t *value, const char *type)
{
    return (json_is_object(value) && strcmp(type, "object") == 0) ||
           (json_is_array(value) && strcmp(type, "array") == 0) ||
           (json_is_string(value) && strcmp(type, "string") == 0) ||
           (json_is_integer(value) && strcmp(type, "integer") == 0) ||
           (json_is_number(value) && strcmp(type, "number") == 0) ||
           (json_is_boolean(value) && strcmp(type, "boolean") == 0) ||
           (json_is_null(value) && strcmp(type, "null") == 0);
}

/* "type" beside const or enum must not contradict it. */
static ll_status check_type_of_values(const struct writer *w, json_t *schema)
{
    json_t *type = json_object_get(schema, "type"), *one = json_object_get(schema, "const");
    json_t *list = json_object_get(schema, "enum"), *value;
    size_t i;
    if (!type || (!one && !list))
        return LL_OK;
    if (!json_is_string(type))
        return refuse(w, "type", "beside const or enum must be one type");
    if (one && !value_has_type(one, json_string_value(type)))
        return refuse(w, "const", "is not of the schema's type");
    json_array_foreach(list, i, value)
    {
        if (!value_has_type(value, json_string_value(type)))
            return refuse(w, "enum", "has a value that is not of the schema's type");
    }
    return LL_OK;
}

/* Without a type, words of one type say which; the others would be allowed too, but need not come. */
static const char *implied_type(json_t *schema)
{
    if (json_object_get(schema, "properties") || json_object_get(schema, "additionalProperties") ||
        json_object_get(schema, "required"))
        return "object";
    if (json_object_get(schema, "items") || json_object_get(schema, "prefixItems") ||
        json_object_get(schema, "minItems") || json_object_get(schema, "maxItems"))
        return "array";
    return json_object_get(schema, "minLength") || json_object_get(schema, "maxLength") ? "string" : NULL;
}

static ll_status any_rule(struct writer *w, json_t *schema, unsigned rule)
{
    json_t *type = json_object_get(schema, "type"), *one = json_object_get(schema, "const");
    if (one) {
        strbuf_printf(w->out, "r%u ::= ", rule);
        LL_TRY(put_json(w, one));
        strbuf_putc(w->out, '\n');
        return LL_OK;
    }
    if (json_object_get(schema, "enum"))
        return choice_rule(w, json_object_get(schema, "enum"), false, rule);
    if (json_object_get(schema, "anyOf"))
        return choice_rule(w, json_object_get(schema, "anyOf"), true, rule);
    if (json_is_array(type))
        return types_rule(w, schema, type, rule);
    if (type && !json_is_string(type))
        return refuse(w, "type", "is neither a type nor a list of types");
    const char *name = type ? json_string_value(type) : implied_type(schema);
    if (name)
        return typed_rule(w, schema, name, rule);
    strbuf_printf(w->out, "r%u ::= value\n", rule);
    return LL_OK;
}

static ll_status object_schema(struct writer *w, json_t *schema, unsigned *ret)
{
    LL_TRY(check_words(w, schema));
    LL_TRY(check_alone(w, schema));
    LL_TRY(check_type_of_values(w, schema));
    if (json_object_get(schema, "$ref"))
        return reference_rule(w, schema, ret);
    LL_TRY(new_rule(w, ret));
    return any_rule(w, schema, *ret);
}

static ll_status schema_rule(struct writer *w, json_t *schema, unsigned *ret)
{
    if (json_is_true(schema)) {
        LL_TRY(new_rule(w, ret));
        strbuf_printf(w->out, "r%u ::= value\n", *ret);
        return LL_OK;
    }
    if (!json_is_object(schema))
        return error_set(w->error, LL_UNSUPPORTED, where,
                         "a schema is an object, or true; nothing fits false");
    if (w->depth >= MOST_DEPTH)
        return error_set(w->error, LL_UNSUPPORTED, where, "the schema is nested more than %d levels deep",
                         MOST_DEPTH);
    w->depth++;
    ll_status status = object_schema(w, schema, ret);
    w->depth--;
    return status;
}

ll_status grammar_of_schema(const char *json, size_t length, struct strbuf *out, ll_error *error)
{
    json_error_t at;
    unsigned root;
    if (length > GRAMMAR_MOST_TEXT)
        return error_set(error, LL_UNSUPPORTED, where, "a schema of %zu bytes is too large", length);
    struct writer w = {.root = json_loadb(json, length, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &at),
                       .out = out,
                       .error = error};
    if (!w.root) {
        char shown[120];
        utf8_printable(at.text, strlen(at.text) < 100 ? strlen(at.text) : 100, shown, sizeof shown);
        return error_set(error, LL_ARGUMENT, where, "the schema is no JSON: line %d: %s", at.line, shown);
    }
    strbuf_puts(out, basics);
    ll_status status = schema_rule(&w, w.root, &root);
    if (status == LL_OK)
        strbuf_printf(out, "root ::= r%u\n", root);
    json_decref(w.root);
    if (status == LL_OK && out->failed)
        return error_nomem(error, where, out->length);
    return status;
}
