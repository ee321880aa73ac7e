/* Cuts text into the words that BPE may not merge across, by the rule a model file names.
 * SPDX-License-Identifier: Apache-2.0 */
#include "text/pretokenize.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"

#define STEPS_MAX 4

/* ---- rules ---------------------------------------------------------------------------------- */

/* Unicode's White_Space, which is what \s means to the tokenizers library; PCRE2's \s adds U+180E. */
#define WHITE                                                                                                \
    "\\t-\\r \\x{85}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}\\x{3000}"
#define BLANKS "[" WHITE "]+(?![^" WHITE "])|[" WHITE "]+"

#define GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^" WHITE "\\p{L}\\p{N}]+|" BLANKS
#define DIGIT "\\p{N}"
/* GPT-4's, with the longest run of digits that stays together. */
#define GPT4(digits)                                                                                         \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" digits "| ?[^" WHITE                       \
    "\\p{L}\\p{N}]+[\\r\\n]*|[" WHITE "]*[\\r\\n]+|" BLANKS
#define BLOOM " ?[^(" WHITE "|.,!?\\x{2026}\\x{3002}\\x{FF0C}\\x{3001}\\x{964}\\x{6D4}\\x{60C})]+"
#define PUNCTUATION "[\\p{P}$+<=>^~|`]+"
#define THREE_DIGITS "[0-9][0-9][0-9]"

struct rule {
    const char *name;
    unsigned flags;
    const char *steps[STEPS_MAX];
};

static const struct rule rules[] = {
    {"bloom", 0, {BLOOM}},
    {"codeshell", 0, {DIGIT, GPT2}},
    {"command-r", RULE_NFC, {DIGIT, GPT2}},
    {"dbrx", 0, {GPT4("\\p{N}{1,3}")}},
    {"deepseek-r1-qwen", 0, {GPT4("\\p{N}")}},
    {"default", 0, {"[\\p{P}$+<=>^~|]+", GPT2, "\\p{N}+", THREE_DIGITS}},
    {"falcon", 0, {PUNCTUATION, GPT2, THREE_DIGITS}},
    {"falcon3", RULE_IGNORE_MERGES | RULE_ADD_BOS, {GPT4("\\p{N}{1,3}")}},
    {"gigachat", 0, {GPT2}},
    {"gpt-2", 0, {GPT2}},
    {"gpt3-finnish", 0, {BLOOM}},
    {"jais", 0, {GPT2}},
    {"jina-de", 0, {GPT2}},
    {"jina-es", 0, {GPT2}},
    {"jina-v1-en", 0, {GPT2}},
    {"jina-v2-code", 0, {GPT2}},
    {"jina-v2-de", 0, {GPT2}},
    {"jina-v2-es", 0, {GPT2}},
    {"llama-bpe", RULE_IGNORE_MERGES | RULE_ADD_BOS, {GPT4("\\p{N}{1,3}")}},
    {"llama-v3", RULE_IGNORE_MERGES | RULE_ADD_BOS, {GPT4("\\p{N}{1,3}")}},
    {"llama3", RULE_IGNORE_MERGES | RULE_ADD_BOS, {GPT4("\\p{N}{1,3}")}},
    {"megrez", 0, {GPT4("\\p{N}")}},
    {"minerva-7b", 0, {DIGIT, GPT2}},
    {"mpt", RULE_NFC, {GPT2}},
    {"olmo", RULE_NFC, {GPT2}},
    {"phi-2", 0, {GPT2}},
    {"poro-chat", 0, {BLOOM}},
    {"qwen2", RULE_NFC, {GPT4("\\p{N}")}},
    {"refact", 0, {DIGIT, GPT2}},
    {"roberta-bpe", 0, {GPT2}},
    {"smaug-bpe", 0, {GPT4("\\p{N}{1,3}")}},
    {"smollm", 0, {DIGIT, GPT2}},
    {"stablelm2", 0, {GPT4("\\p{N}")}},
    {"starcoder", 0, {DIGIT, GPT2}},
};

static const struct rule *rule_find(struct gguf_text name)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (name.text ? gguf_text_equals(name, rules[i].name) : strcmp(rules[i].name, "default") == 0)
            return &rules[i];
    return NULL;
}

/* ---- compiled ------------------------------------------------------------------------------- */

struct pretokenizer {
    const struct rule *rule;
    pcre2_code *steps[STEPS_MAX];
    int count;
};

static ll_status compile(const struct rule *rule, int step, pcre2_code **ret, ll_error *error)
{
    int code;
    PCRE2_SIZE at;
    *ret = pcre2_compile((PCRE2_SPTR)rule->steps[step], PCRE2_ZERO_TERMINATED, PCRE2_UTF, &code, &at, NULL);
    if (!*ret)
        return error_set(error, LL_INTERNAL, "pretokenizer",
                         "step %d of \"%s\" does not compile (PCRE2 error %d at %zu)", step, rule->name, code,
                         (size_t)at);
    /* Without executable memory the interpreter does the same, slower. */
    (void)pcre2_jit_compile(*ret, PCRE2_JIT_COMPLETE);
    return LL_OK;
}

ll_status pretokenizer_open(struct gguf_text name, struct pretokenizer **ret, ll_error *error)
{
    const struct rule *rule = rule_find(name);
    if (!rule) {
        char shown[80];
        utf8_printable(name.text, name.length, shown, sizeof shown);
        return error_set(error, LL_UNSUPPORTED, "tokenizer",
                         "the model names the pre-tokenizer \"%s\", which this version does not know", shown);
    }
    struct pretokenizer *made = mem_new(1, sizeof *made);
    if (!made)
        return error_nomem(error, "pretokenizer", sizeof *made);
    made->rule = rule;
    while (made->count < STEPS_MAX && rule->steps[made->count]) {
        ll_status status = compile(rule, made->count, &made->steps[made->count], error);
        if (status != LL_OK) {
            pretokenizer_close(made);
            return status;
        }
        made->count++;
    }
    *ret = made;
    return LL_OK;
}

void pretokenizer_close(struct pretokenizer *pretokenizer)
{
    if (!pretokenizer)
        return;
    for (int i = 0; i < pretokenizer->count; i++)
        pcre2_code_free(pretokenizer->steps[i]);
    mem_free(pretokenizer);
}

const char *pretokenizer_name(const struct pretokenizer *pretokenizer)
{
    return pretokenizer->rule->name;
}

unsigned pretokenizer_flags(const struct pretokenizer *pretokenizer)
{
    return pretokenizer->rule->flags;
}

/* ---- splitting ------------------------------------------------------------------------------ */

struct pretokenize_state {
    const struct pretokenizer *pretokenizer;
    pcre2_match_data *match[STEPS_MAX]; /* one a step: an outer match is live while inner ones run */
    pretokenize_fn word;
    void *user;
};

struct pretokenize_state *pretokenize_begin(const struct pretokenizer *pretokenizer)
{
    struct pretokenize_state *state = mem_new(1, sizeof *state);
    if (!state)
        return NULL;
    state->pretokenizer = pretokenizer;
    for (int i = 0; i < pretokenizer->count; i++) {
        state->match[i] = pcre2_match_data_create(1, NULL);
        if (!state->match[i]) {
            pretokenize_end(state);
            return NULL;
        }
    }
    return state;
}

void pretokenize_end(struct pretokenize_state *state)
{
    if (!state)
        return;
    for (int i = 0; i < STEPS_MAX; i++)
        pcre2_match_data_free(state->match[i]);
    mem_free(state);
}

static bool split(struct pretokenize_state *state, int step, const char *text, size_t length);

static bool give(struct pretokenize_state *state, int step, const char *text, size_t length)
{
    if (length == 0)
        return true;
    if (step < state->pretokenizer->count)
        return split(state, step, text, length);
    return state->word(state->user, text, length);
}

/* A match that gives up (its limits, its stack) counts as none: the rest stays one piece, nothing is lost. */
static bool split(struct pretokenize_state *state, int step, const char *text, size_t length)
{
    pcre2_match_data *match = state->match[step];
    const PCRE2_SIZE *bounds = pcre2_get_ovector_pointer(match);
    size_t done = 0;
    while (done < length && pcre2_match(state->pretokenizer->steps[step], (PCRE2_SPTR)text, length, done,
                                        PCRE2_NO_UTF_CHECK, match, NULL) > 0) {
        size_t first = bounds[0], end = bounds[1];
        if (end <= done)
            break;
        if (!give(state, step + 1, text + done, first - done) ||
            !give(state, step + 1, text + first, end - first))
            return false;
        done = end;
    }
    return give(state, step + 1, text + done, length - done);
}

bool pretokenize_split(struct pretokenize_state *state, const char *text, size_t length, pretokenize_fn word,
                       void *user)
{
    state->word = word;
    state->user = user;
    return give(state, 0, text, length);
}
