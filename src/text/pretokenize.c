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

#define STEPS_MAX 6

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

/* GPT-4o's: words begin with capitals and end in small letters. The tail is what may stay with a word. */
#define SMALL "\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}"
#define CAPITAL "\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}"
#define CASED(tail)                                                                                          \
    "[^\\r\\n\\p{L}\\p{N}]?[" CAPITAL "]*[" SMALL "]+" tail "|[^\\r\\n\\p{L}\\p{N}]?[" CAPITAL "]+[" SMALL   \
    "]*" tail
#define GPT4O(tail, digits)                                                                                  \
    CASED(tail) "|" digits "| ?[^" WHITE "\\p{L}\\p{N}]+[\\r\\n/]*|[" WHITE "]*[\\r\\n]+|" BLANKS
#define ENGLISH_TAIL "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
#define DIGITS_3 "\\p{N}{1,3}"
#define HAN_KANA "[\\x{4E00}-\\x{9FA5}\\x{3040}-\\x{309F}\\x{30A0}-\\x{30FF}]+"
#define HAN_HANGUL "[\\x{4E00}-\\x{9FA5}\\x{800}-\\x{4E00}\\x{AC00}-\\x{D7FF}]+"
#define DEEPSEEK_3                                                                                           \
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| "    \
    "?[\\p{P}\\p{S}]+[\\r\\n]*|[" WHITE "]*[\\r\\n]+|" BLANKS
#define DEEPSEEK_MARKS "!-/:-~\\x{FF01}-\\x{FF0F}\\x{FF1A}-\\x{FF5E}\\x{2018}-\\x{201F}\\x{3000}-\\x{3002}"
#define DEEPSEEK_LETTERS                                                                                     \
    "A-Za-z\\x{B5}\\x{C0}-\\x{D6}\\x{D8}-\\x{F6}\\x{F8}-\\x{1BA}\\x{1BC}-\\x{1BF}\\x{1C4}-\\x{293}"          \
    "\\x{295}-\\x{2AF}\\x{370}-\\x{373}\\x{376}\\x{377}\\x{37B}-\\x{37D}\\x{37F}\\x{386}\\x{388}-"           \
    "\\x{38A}\\x{38C}\\x{38E}-\\x{3A1}\\x{3A3}-\\x{3F5}\\x{3F7}-\\x{481}\\x{48A}-\\x{52F}\\x{531}-"          \
    "\\x{556}\\x{10A0}-\\x{10C5}\\x{13A0}-\\x{13F5}\\x{13F8}-\\x{13FD}\\x{1C90}-\\x{1CBA}\\x{1CBD}-"         \
    "\\x{1CBF}\\x{1D00}-\\x{1D2B}\\x{1D6B}-\\x{1D77}\\x{1D79}-\\x{1D9A}\\x{1E00}-\\x{1F15}\\x{1F18}-"        \
    "\\x{1F1D}\\x{1F20}-\\x{1F45}\\x{1F48}-\\x{1F4D}\\x{1F50}-\\x{1F57}\\x{1F59}\\x{1F5B}\\x{1F5D}"          \
    "\\x{1F5F}-\\x{1F7D}\\x{1F80}-\\x{1FB4}\\x{1FB6}-\\x{1FBC}\\x{1FBE}\\x{1FC2}-\\x{1FC4}\\x{1FC6}-"        \
    "\\x{1FCC}\\x{1FD0}-\\x{1FD3}\\x{1FD6}-\\x{1FDB}\\x{1FE0}-\\x{1FEC}\\x{1FF2}-\\x{1FF4}\\x{1FF6}-"        \
    "\\x{1FFC}\\x{2102}\\x{2107}\\x{210A}-\\x{2113}\\x{2115}\\x{2119}-\\x{211D}\\x{2124}\\x{2126}"           \
    "\\x{2128}\\x{212A}-\\x{212D}\\x{212F}-\\x{2134}\\x{2139}\\x{213C}-\\x{213F}\\x{2145}-\\x{2149}"         \
    "\\x{214E}\\x{2183}\\x{2184}\\x{2C00}-\\x{2C7B}\\x{2C7E}-\\x{2CE4}\\x{2CEB}-\\x{2CEE}\\x{2CF2}"          \
    "\\x{2CF3}\\x{A640}-\\x{A66D}\\x{A680}-\\x{A69B}\\x{A722}-\\x{A76F}\\x{A771}-\\x{A787}\\x{A78B}-"        \
    "\\x{A78E}\\x{AB70}-\\x{ABBF}\\x{FB00}-\\x{FB06}\\x{FB13}-\\x{FB17}\\x{FF21}-\\x{FF3A}\\x{FF41}-"        \
    "\\x{FF5A}\\x{10400}-\\x{1044F}\\x{104B0}-\\x{104D3}\\x{104D8}-\\x{104FB}\\x{10C80}-\\x{10CB2}"          \
    "\\x{10CC0}-\\x{10CF2}\\x{118A0}-\\x{118DF}\\x{1E900}-\\x{1E943}"
#define QWEN_35                                                                                              \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^" WHITE                   \
    "\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|[" WHITE "]*[\\r\\n]+|" BLANKS
#define SEED_CODER                                                                                           \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^" WHITE                           \
    "\\p{L}\\p{N}\\r\\n]+|[" WHITE "]*[\\r\\n]+|" BLANKS
#define BAILING                                                                                              \
    "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}| ?[^" WHITE                                 \
    "\\p{L}\\p{N}]++[\\r\\n]*|[" WHITE "]*[\\r\\n]|" BLANKS

struct rule {
    const char *name;
    unsigned flags;
    const char *steps[STEPS_MAX];
};

static const struct rule rules[] = {
    {"a.x-4.0", 0, {GPT2}},
    {"bailingmoe", 0, {BAILING}},
    {"bailingmoe2", 0, {BAILING}},
    {"bloom", 0, {BLOOM}},
    {"chatglm-bpe", 0, {GPT4(DIGITS_3)}},
    {"codeshell", 0, {DIGIT, GPT2}},
    {"command-r", RULE_NFC, {DIGIT, GPT2}},
    {"dbrx", 0, {GPT4("\\p{N}{1,3}")}},
    {"deepseek-coder", 0, {"[\\r\\n]", "[" WHITE "]?\\p{L}+", "[" WHITE "]?\\p{P}+", HAN_HANGUL, DIGIT}},
    {"deepseek-llm",
     0,
     {"[\\r\\n]", "[" WHITE "]?[" DEEPSEEK_LETTERS "]+", "[" WHITE "]?[" DEEPSEEK_MARKS "]+", "[" WHITE "]+$",
      HAN_HANGUL, "\\p{N}+"}},
    {"deepseek-r1-qwen", 0, {GPT4("\\p{N}")}},
    {"deepseek-v3", 0, {DIGITS_3, HAN_KANA, DEEPSEEK_3}},
    {"default", 0, {"[\\p{P}$+<=>^~|]+", GPT2, "\\p{N}+", THREE_DIGITS}},
    {"exaone", 0, {DIGIT, GPT2}},
    {"exaone4", 0, {GPT2}},
    {"falcon", 0, {PUNCTUATION, GPT2, THREE_DIGITS}},
    {"falcon-h1", RULE_IGNORE_MERGES | RULE_ADD_BOS, {GPT4(DIGITS_3)}},
    {"falcon3", RULE_IGNORE_MERGES | RULE_ADD_BOS, {GPT4("\\p{N}{1,3}")}},
    {"gigachat", 0, {GPT2}},
    {"glm4", RULE_IGNORE_MERGES, {GPT4(DIGITS_3)}},
    {"gpt-2", 0, {GPT2}},
    {"gpt-4o", 0, {GPT4O(ENGLISH_TAIL, DIGITS_3)}},
    {"gpt3-finnish", 0, {BLOOM}},
    {"granite-docling", 0, {GPT2}},
    {"grok-2", 0, {GPT4(DIGIT)}},
    {"hunyuan", 0, {GPT4(DIGIT)}},
    {"hunyuan-dense", 0, {DIGITS_3, HAN_KANA, DEEPSEEK_3}},
    {"jais", 0, {GPT2}},
    {"jina-de", 0, {GPT2}},
    {"jina-es", 0, {GPT2}},
    {"jina-v1-en", 0, {GPT2}},
    {"jina-v2-code", 0, {GPT2}},
    {"jina-v2-de", 0, {GPT2}},
    {"jina-v2-es", 0, {GPT2}},
    {"joyai-llm", 0, {DIGITS_3, HAN_KANA, DEEPSEEK_3}},
    {"kanana2", 0, {GPT4O(ENGLISH_TAIL, DIGITS_3)}},
    {"lfm2", RULE_IGNORE_MERGES | RULE_ADD_BOS, {GPT4(DIGITS_3)}},
    {"llada-moe", 0, {BAILING}},
    {"llama-bpe", RULE_IGNORE_MERGES | RULE_ADD_BOS, {GPT4("\\p{N}{1,3}")}},
    {"llama-v3", RULE_IGNORE_MERGES | RULE_ADD_BOS, {GPT4("\\p{N}{1,3}")}},
    {"llama3", RULE_IGNORE_MERGES | RULE_ADD_BOS, {GPT4("\\p{N}{1,3}")}},
    {"llama4", 0, {GPT4O(ENGLISH_TAIL, DIGITS_3)}},
    {"megrez", 0, {GPT4("\\p{N}")}},
    {"mellum", 0, {GPT2}},
    {"mellum2", 0, {DIGIT, GPT2}},
    {"midm-2.0", RULE_IGNORE_MERGES | RULE_ADD_BOS, {GPT4(DIGITS_3)}},
    {"minerva-7b", 0, {DIGIT, GPT2}},
    {"minicpm5", RULE_IGNORE_MERGES, {DIGITS_3, GPT4("\\p{N}+")}},
    {"minimax-m2", 0, {GPT4O(ENGLISH_TAIL, DIGITS_3)}},
    {"modern-bert", 0, {GPT2}},
    {"mpt", RULE_NFC, {GPT2}},
    {"olmo", RULE_NFC, {GPT2}},
    {"phi-2", 0, {GPT2}},
    {"pixtral", RULE_IGNORE_MERGES | RULE_ADD_BOS, {GPT4(DIGITS_3)}},
    {"poro-chat", 0, {BLOOM}},
    {"qwen2", RULE_NFC, {GPT4("\\p{N}")}},
    {"qwen35", 0, {QWEN_35}},
    {"refact", 0, {DIGIT, GPT2}},
    {"roberta-bpe", 0, {GPT2}},
    {"seed-coder", 0, {SEED_CODER}},
    {"smaug-bpe", 0, {GPT4("\\p{N}{1,3}")}},
    {"smollm", 0, {DIGIT, GPT2}},
    {"solar-open", 0, {GPT4(DIGIT)}},
    {"stablelm2", 0, {GPT4("\\p{N}")}},
    {"starcoder", 0, {DIGIT, GPT2}},
    {"tekken", RULE_IGNORE_MERGES | RULE_ADD_BOS, {GPT4O("", DIGIT)}},
    {"trillion", 0, {GPT2}},
    {"viking", 0, {BLOOM, DIGIT}},
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
