/* Finds the name under which GGUF files ask for the rules of a tokenizer.json.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The rules are written down in a short form, step by step, and looked up: what is not in the table would be
 * cut otherwise than in training. */
#include <string.h>

#include "base/strbuf.h"
#include "formats/hf_tokenizer.h"
#include "formats/json_file.h"

#define GPT4(digits)                                                                                         \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" digits                                     \
    "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define BLOOM " ?[^(\\s|[.,!?\xE2\x80\xA6\xE3\x80\x82\xEF\xBC\x8C\xE3\x80\x81\xE0\xA5\xA4\xDB\x94\xD8\x8C])]+"

static const struct {
    const char *steps;
    bool nfc, ignore_merges;
    const char *name;
} rules[] = {
    {"bytes+words;", false, false, "gpt-2"},
    {"bytes+words;", true, false, "olmo"},
    {"digit;bytes+words;", false, false, "smollm"},
    {"digit;bytes+words;", true, false, "command-r"},
    {"split " GPT4("\\p{N}{1,3}") ";bytes;", false, true, "llama-bpe"},
    {"split " GPT4("\\p{N}{1,3}") ";bytes;", false, false, "dbrx"},
    {"split " GPT4("\\p{N}") ";bytes;", true, false, "qwen2"},
    {"split " GPT4("\\p{N}") ";bytes;", false, false, "stablelm2"},
    {"split " BLOOM ";bytes;", false, false, "bloom"},
    {"punctuation;bytes+words;digits;split [0-9][0-9][0-9];", false, false, "falcon"},
};

static bool is(const char *text, const char *other)
{
    return text && strcmp(text, other) == 0;
}

/* false: a step that no rule of the table has. */
static bool add_step(struct strbuf *steps, const json_t *step)
{
    const char *type = json_member_text(step, "type"), *behaviour = json_member_text(step, "behavior");
    if (is(type, "ByteLevel")) {
        strbuf_puts(steps, json_member_true(step, "use_regex", true) ? "bytes+words;" : "bytes;");
        return !json_member_true(step, "add_prefix_space", false);
    }
    if (is(type, "Digits")) {
        strbuf_puts(steps, json_member_true(step, "individual_digits", false) ? "digit;" : "digits;");
        return true;
    }
    if (is(type, "Punctuation")) {
        strbuf_puts(steps, "punctuation;");
        return is(behaviour, "Contiguous");
    }
    const char *pattern = json_member_text(json_object_get(step, "pattern"), "Regex");
    if (!is(type, "Split") || !pattern || !is(behaviour, "Isolated") ||
        json_member_true(step, "invert", false))
        return false;
    strbuf_printf(steps, "split %s;", pattern);
    return true;
}

static bool write_steps(struct strbuf *steps, const json_t *root)
{
    const json_t *rule = json_member(root, "pre_tokenizer"), *list = json_member(rule, "pretokenizers");
    if (!is(json_member_text(rule, "type"), "Sequence"))
        return rule && add_step(steps, rule);
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!add_step(steps, json_array_get(list, i)))
            return false;
    return true;
}

/* false: it does something else than to compose. */
static bool read_normalizer(const json_t *root, bool *nfc)
{
    const json_t *rule = json_member(root, "normalizer"), *list = json_member(rule, "normalizers");
    *nfc = is(json_member_text(rule, "type"), "NFC");
    if (!rule || *nfc)
        return true;
    if (!is(json_member_text(rule, "type"), "Sequence"))
        return false;
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (!is(json_member_text(json_array_get(list, i), "type"), "NFC"))
            return false;
        *nfc = true;
    }
    return true;
}

const char *hf_pretokenizer_name(const json_t *root)
{
    struct strbuf steps = {0};
    const char *found = NULL;
    bool nfc, ignore = json_member_true(json_object_get(root, "model"), "ignore_merges", false);
    if (write_steps(&steps, root) && read_normalizer(root, &nfc))
        for (size_t i = 0; i < sizeof rules / sizeof *rules && !found; i++)
            if (rules[i].nfc == nfc && rules[i].ignore_merges == ignore &&
                strcmp(rules[i].steps, strbuf_text(&steps)) == 0)
                found = rules[i].name;
    strbuf_fini(&steps);
    return found;
}
