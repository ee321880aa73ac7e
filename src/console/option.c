/* The one table of options: parsing, --help, completion and the man page all read it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "console/option.h"

#include <string.h>

#define CHAT VERB_BIT(VERB_CHAT)
#define SUM VERB_BIT(VERB_SUM)
#define ASK VERB_BIT(VERB_ASK)
#define CACHE VERB_BIT(VERB_CACHE)
#define RUN VERB_BIT(VERB_RUN)
#define TEXT VERB_BIT(VERB_TEXT)
#define TOKENS VERB_BIT(VERB_TOKENS)
#define INFO VERB_BIT(VERB_INFO)
#define PLAN VERB_BIT(VERB_PLAN)
#define PPL VERB_BIT(VERB_PPL)
#define BENCH VERB_BIT(VERB_BENCH)
#define LOG VERB_BIT(VERB_LOG)
#define TOP VERB_BIT(VERB_TOP)
#define MODELS VERB_BIT(VERB_MODELS)
#define CHECK VERB_BIT(VERB_CHECK)
#define ALL (VERB_BIT(VERB_COUNT) - 1)
#define GENERATES (CHAT | SUM | ASK | RUN)
#define COMPUTES (GENERATES | PPL | BENCH)
#define READS (CHAT | SUM | ASK | TEXT | TOKENS | PPL)
#define ANSWERS (SUM | ASK | CACHE | RUN | TEXT | TOKENS | INFO | PLAN | PPL | BENCH | MODELS | LOG | CHECK)

#define FLAG OPTION_IS_FLAG, NULL, NULL, NULL, 0, 0
#define TEXT_OF(argument, fallback) OPTION_IS_TEXT, argument, fallback, NULL, 0, 0
#define PATH_OF(argument) OPTION_IS_PATH, argument, NULL, NULL, 0, 0
#define CHOICE_OF(argument, fallback, choices) OPTION_IS_CHOICE, argument, fallback, choices, 0, 0
#define COUNT_OF(fallback, least, most) OPTION_IS_COUNT, "N", fallback, NULL, least, most
#define NUMBER_OF(fallback, least, most) OPTION_IS_NUMBER, "X", fallback, NULL, least, most
#define LINE_ONLY true
#define ANYWHERE false

static const char *const kv_types[] = {"f32", "f16", "bf16", "q8_0", NULL};
static const char *const automatic[] = {"auto", NULL};
static const char *const scalings[] = {"none", "linear", "yarn", "longrope", "llama3", NULL};
static const char *const precisions[] = {"stored", "f32", "f16", "bf16", "8bit", "4bit", NULL};
static const char *const methods[] = {"auto", "whole", "select", "tree", "refine", "extractive", NULL};
static const char *const lengths[] = {"short", "medium", "long", NULL};
static const char *const logged[] = {"chat", "sum", "ask", "run", "ppl", "bench", NULL};
static const char *const keys[] = {"emacs", "vi", NULL};
static const char *const formats[] = {"text", "markdown", "html", NULL};
static const char *const kinds[] = {"text", "markdown", "pdf",      "html", "docx",    "odt",
                                    "epub", "pptx",     "notebook", "mail", "mbox",    "table",
                                    "json", "jsonl",    "log",      "code", "archive", NULL};

static const struct option_row rows[OPTION_COUNT] = {
    [OPTION_MODEL] = {"model", 'm', PATH_OF("MODEL"), ANYWHERE, COMPUTES | TOKENS | INFO | PLAN | LOG,
                      "the model: a name in the models folder, or a GGUF file"},
    [OPTION_ADAPTER] = {"adapter", 0, OPTION_IS_LIST, "FILE[:SCALE]", NULL, NULL, 0, 0, ANYWHERE,
                        COMPUTES | PLAN,
                        "put a LoRA adapter over the model, a GGUF file, times a scale (default: 1); may be "
                        "given several times"},
    [OPTION_CONTEXT] = {"context", 'c', COUNT_OF(NULL, 16, 1e9), ANYWHERE, COMPUTES | PLAN,
                        "tokens of context (default: what the model was trained with, or memory holds)"},
    [OPTION_KV] = {"kv", 0, CHOICE_OF("TYPE", "f16", kv_types), ANYWHERE, COMPUTES | PLAN,
                   "how keys and values are kept"},
    [OPTION_DEVICE] = {"device", 0, TEXT_OF("NAME", "auto"), ANYWHERE, COMPUTES | INFO | PLAN,
                       "where to compute: auto, cpu, reference, cuda or cuda:N"},
    [OPTION_THREADS] = {"threads", 't', COUNT_OF(NULL, 1, 1024), ANYWHERE, COMPUTES | PLAN,
                        "threads (default: one for each core this process may use)"},
    [OPTION_MEMORY] = {"memory", 0, OPTION_IS_COUNT, "BYTES", NULL, NULL, 1 << 20, 9e15, ANYWHERE, COMPUTES,
                       "take no more of the device than this, such as 2G (default: what there is)"},
    [OPTION_GPU_LAYERS] = {"gpu-layers", 0, OPTION_IS_COUNT, "N", "auto", automatic, 0, 100000, ANYWHERE,
                           COMPUTES | PLAN,
                           "layers on the GPU, the last ones; the others run on the processor (auto: what "
                           "fits)"},
    [OPTION_MAX_TOKENS] = {"max-tokens", 'n', COUNT_OF(NULL, 0, 1e9), ANYWHERE, CHAT | RUN | BENCH,
                           "tokens to generate at most (default: to the end of the answer; bench: 32)"},
    [OPTION_TEMP] = {"temp", 0, NUMBER_OF("0", 0, 100), ANYWHERE, GENERATES,
                     "temperature; 0 takes the likeliest token each time"},
    [OPTION_TOP_K] = {"top-k", 0, COUNT_OF("0", 0, 1e9), ANYWHERE, GENERATES,
                      "sample among the N likeliest tokens; 0 is off"},
    [OPTION_TOP_P] = {"top-p", 0, NUMBER_OF("1", 0, 1), ANYWHERE, GENERATES,
                      "sample among the likeliest tokens that reach this probability; 1 is off"},
    [OPTION_MIN_P] = {"min-p", 0, NUMBER_OF("0", 0, 1), ANYWHERE, GENERATES,
                      "drop tokens less likely than this share of the likeliest; 0 is off"},
    [OPTION_REPEAT_PENALTY] = {"repeat-penalty", 0, NUMBER_OF("1", 0.01, 100), ANYWHERE, GENERATES,
                               "divide the scores of tokens seen lately; 1 is off"},
    [OPTION_PRESENCE_PENALTY] = {"presence-penalty", 0, NUMBER_OF("0", -100, 100), ANYWHERE, GENERATES,
                                 "subtract from the scores of tokens seen lately; 0 is off"},
    [OPTION_FREQUENCY_PENALTY] = {"frequency-penalty", 0, NUMBER_OF("0", -100, 100), ANYWHERE, GENERATES,
                                  "the same for each time that they were seen; 0 is off"},
    [OPTION_PENALTY_WINDOW] = {"penalty-window", 0, COUNT_OF("64", 0, 1e6), ANYWHERE, GENERATES,
                               "last tokens that the penalties look at"},
    [OPTION_DRY_MULTIPLIER] = {"dry-multiplier", 0, NUMBER_OF("0", 0, 100), ANYWHERE, GENERATES,
                               "penalise tokens that would go on with a repetition (DRY); 0 is off"},
    [OPTION_DRY_BASE] = {"dry-base", 0, NUMBER_OF("1.75", 1, 100), ANYWHERE, GENERATES,
                         "DRY grows by this with each repeated token"},
    [OPTION_DRY_LENGTH] = {"dry-length", 0, COUNT_OF("2", 1, 1e6), ANYWHERE, GENERATES,
                           "repetitions of fewer tokens go unpunished"},
    [OPTION_DRY_WINDOW] = {"dry-window", 0, COUNT_OF("0", 0, 1e9), ANYWHERE, GENERATES,
                           "last tokens that DRY looks at; 0 is all"},
    [OPTION_DRY_BREAKER] = {"dry-breaker", 0, OPTION_IS_LIST, "TEXT", NULL, NULL, 0, 0, ANYWHERE, GENERATES,
                            "a token with this text ends a repetition; may be given several times (default: "
                            "a new line, a colon, a double quote, an asterisk)"},
    [OPTION_TYPICAL] = {"typical", 0, NUMBER_OF("1", 0, 1), ANYWHERE, GENERATES,
                        "sample among the most typical tokens that reach this probability; 1 is off"},
    [OPTION_XTC_PROBABILITY] = {"xtc-probability", 0, NUMBER_OF("0", 0, 1), ANYWHERE, GENERATES,
                                "how often the top choices are excluded (XTC); 0 is off"},
    [OPTION_XTC_THRESHOLD] = {"xtc-threshold", 0, NUMBER_OF("0.1", 0, 1), ANYWHERE, GENERATES,
                              "a top choice is at least this likely; the least likely of them stays"},
    [OPTION_MIROSTAT] = {"mirostat", 0, COUNT_OF("0", 0, 2), ANYWHERE, GENERATES,
                         "keep the surprise of what is drawn near a target, by version 1 or 2; 0 is off"},
    [OPTION_MIROSTAT_TAU] = {"mirostat-tau", 0, NUMBER_OF("5", 0, 100), ANYWHERE, GENERATES,
                             "the surprise that mirostat aims at, in bits a token"},
    [OPTION_MIROSTAT_ETA] = {"mirostat-eta", 0, NUMBER_OF("0.1", 0, 10), ANYWHERE, GENERATES,
                             "how fast mirostat corrects itself"},
    [OPTION_LOGIT_BIAS] = {"logit-bias", 0, OPTION_IS_LIST, "TOKEN=X", NULL, NULL, 0, 0, ANYWHERE, GENERATES,
                           "add this number to the score of a token id, or -inf, so that it never comes; "
                           "may be given several times"},
    [OPTION_NO_LOOP_GUARD] = {"no-loop-guard", 0, FLAG, ANYWHERE, CHAT,
                              "let an answer go on that says the same again and again"},
    [OPTION_GRAMMAR] = {"grammar", 0, PATH_OF("FILE"), ANYWHERE, CHAT | RUN,
                        "let answers be texts of the grammar in this file, GBNF; none is off"},
    [OPTION_JSON_SCHEMA] = {"json-schema", 0, PATH_OF("FILE"), ANYWHERE, CHAT | RUN,
                            "let answers be JSON documents valid under the schema in this file; none is off"},
    [OPTION_SEED] = {"seed", 's', COUNT_OF("0", 0, 9007199254740992.0), ANYWHERE, GENERATES,
                     "the seed of sampling; the same seed gives the same text"},
    [OPTION_STOP] = {"stop", 0, OPTION_IS_LIST, "TEXT", NULL, NULL, 0, 0, ANYWHERE, CHAT | RUN,
                     "end the answer before this text; may be given several times"},
    [OPTION_LOOKUP] =
        {"lookup", 0, FLAG, ANYWHERE, CHAT | RUN | PLAN,
         "guess ahead from what the text said before, and check many guesses in one step: the same "
         "answer, sooner where it repeats or quotes"},
    [OPTION_SYSTEM] = {"system", 0, TEXT_OF("TEXT", NULL), ANYWHERE, CHAT | RUN,
                       "the system message (default: the model's own)"},
    [OPTION_PROMPT] = {"prompt", 'p', TEXT_OF("TEXT", NULL), LINE_ONLY, RUN, "the prompt"},
    [OPTION_FILE] = {"file", 'f', PATH_OF("FILE"), LINE_ONLY, RUN, "read the prompt from a file"},
    [OPTION_TOKENS] = {"tokens", 0, TEXT_OF("IDS", NULL), LINE_ONLY, RUN,
                       "the prompt as token ids, separated by spaces or commas"},
    [OPTION_RAW] = {"raw", 0, FLAG, LINE_ONLY, RUN, "continue the prompt as it is, without a chat template"},
    [OPTION_IGNORE_EOS] = {"ignore-eos", 0, FLAG, LINE_ONLY, RUN,
                           "go on past the end of the answer, to --max-tokens"},
    [OPTION_LOGPROBS] = {"logprobs", 0, COUNT_OF(NULL, 1, 100), LINE_ONLY, RUN,
                         "with --json: each token's log-probability and the N best alternatives"},
    [OPTION_QUESTION] = {"question", 'q', OPTION_IS_LIST, "TEXT", NULL, NULL, 0, 0, LINE_ONLY, ASK,
                         "what to ask; may be given several times"},
    [OPTION_WINDOWS] = {"windows", 0, COUNT_OF("4", 1, 100000), ANYWHERE, ASK,
                        "the N windows most like the question are put before the model"},
    [OPTION_EXHAUSTIVE] = {"exhaustive", 0, FLAG, ANYWHERE, ASK, "ask about every window of the documents"},
    [OPTION_LENGTH] = {"length", 0, OPTION_IS_COUNT, "WORDS", "medium", lengths, 20, 100000, ANYWHERE, SUM,
                       "wanted length in words, or short (100), medium (200), long (350)"},
    [OPTION_FOCUS] = {"focus", 0, TEXT_OF("TEXT", NULL), ANYWHERE, SUM, "what the reader cares about"},
    [OPTION_LANGUAGE] = {"language", 0, TEXT_OF("NAME", NULL), ANYWHERE, SUM,
                         "the language to write in, by its English name (default: the document's)"},
    [OPTION_METHOD] = {"method", 0, CHOICE_OF("METHOD", "auto", methods), ANYWHERE, SUM | ASK,
                       "how to summarise; extractive needs no model, and quotes only"},
    [OPTION_WINDOW] = {"window", 0, COUNT_OF(NULL, 32, 1e9), ANYWHERE, SUM,
                       "tokens of text in each window (default: by the model's size)"},
    [OPTION_OVERLAP] = {"overlap", 0, COUNT_OF(NULL, 0, 1e9), ANYWHERE, SUM,
                        "tokens that neighbouring windows share (default: by the window)"},
    [OPTION_WIDTH] = {"width", 0, COUNT_OF(NULL, 1, 1024), ANYWHERE, SUM | ASK | PLAN,
                      "windows computed together (default: by memory)"},
    [OPTION_NO_CACHE] = {"no-cache", 0, FLAG, ANYWHERE, SUM | ASK,
                         "neither use nor keep earlier answers of the model"},
    [OPTION_CACHE_LIMIT] = {"cache-limit", 0, COUNT_OF("256M", 1, 1e15), ANYWHERE, SUM | ASK | CACHE,
                            "bytes that answers and windows read may take on the disk; "
                            "the longest unused go first"},
    [OPTION_NO_LOG] = {"no-log", 0, FLAG, ANYWHERE, COMPUTES, "keep nothing of this run in the run log"},
    [OPTION_PLAN] = {"plan", 0, FLAG, LINE_ONLY, SUM, "say what would be computed, and stop"},
    [OPTION_TRACE] = {"trace", 0, FLAG, LINE_ONLY, SUM | ASK,
                      "show what came of each window on standard error"},
    [OPTION_IDS] = {"ids", 0, FLAG, LINE_ONLY, TOKENS, "print the token ids, as run --tokens takes them"},
    [OPTION_SPECIAL] = {"special", 0, FLAG, LINE_ONLY, TOKENS,
                        "take control tokens written in the text for control tokens"},
    [OPTION_STRIDE] = {"stride", 0, COUNT_OF(NULL, 1, 1e9), ANYWHERE, PPL,
                       "tokens from one window to the next (default: half the context)"},
    [OPTION_BUCKETS] = {"buckets", 0, COUNT_OF(NULL, 1, 1000), ANYWHERE, PPL,
                        "also perplexity by position in the window, in N groups"},
    [OPTION_DEPTHS] = {"depths", 0, TEXT_OF("LIST", "0,512,2048"), ANYWHERE, BENCH,
                       "tokens already in the context, separated by commas"},
    [OPTION_PREFILL] = {"prefill", 0, COUNT_OF("512", 1, 1e9), ANYWHERE, BENCH,
                        "prompt tokens timed at each depth"},
    [OPTION_REPEAT] = {"repeat", 0, COUNT_OF("5", 1, 1000), ANYWHERE, BENCH,
                       "interleaved repetitions; medians are shown"},
    [OPTION_GPU_MEMORY] = {"gpu-memory", 0, TEXT_OF("SIZES", NULL), ANYWHERE, PLAN,
                           "plan for GPUs of these memories, such as 8G,24G (default: what is free here)"},
    [OPTION_PRECISION] = {"precision", 0, CHOICE_OF("TYPE", "stored", precisions), ANYWHERE, PLAN,
                          "plan with the matrices in this precision"},
    [OPTION_SVG] = {"svg", 0, PATH_OF("FILE"), LINE_ONLY, PLAN | LOG,
                    "also draw memory over contexts into a file"},
    [OPTION_SINCE] = {"since", 0, TEXT_OF("WHEN", NULL), LINE_ONLY, LOG,
                      "only runs begun since a day such as 2026-11-30, or in the last 12h or 7d"},
    [OPTION_VERB] = {"verb", 0, CHOICE_OF("VERB", NULL, logged), LINE_ONLY, LOG, "only runs of this verb"},
    [OPTION_LAST] = {"last", 0, COUNT_OF(NULL, 1, 1e9), LINE_ONLY, LOG,
                     "only the newest N runs (default: 20 in a table, else all)"},
    [OPTION_CURVE] = {"curve", 0, FLAG, LINE_ONLY, LOG,
                      "draw the memory that runs of the model took over what was predicted"},
    [OPTION_COMPARE] = {"compare", 0, FLAG, LINE_ONLY, LOG, "set the runs A and B side by side"},
    [OPTION_SET_META] = {"set-meta", 0, OPTION_IS_LIST, "KEY=TYPE:VALUE", NULL, NULL, 0, 0, LINE_ONLY,
                         COMPUTES | TOKENS | INFO,
                         "put this in place of the model file's own metadata; types are u32, i32, f32, "
                         "bool and str; may be given several times"},
    [OPTION_ROPE_SCALING] = {"rope-scaling", 0, CHOICE_OF("TYPE", NULL, scalings), ANYWHERE,
                             COMPUTES | TOKENS | INFO,
                             "scale rotary positions this way, whatever the model file says"},
    [OPTION_ROPE_FACTOR] = {"rope-factor", 0, NUMBER_OF(NULL, 0.001, 100000), ANYWHERE,
                            COMPUTES | TOKENS | INFO,
                            "how many times longer a context the rotary scaling is for"},
    [OPTION_ROPE_BASE] = {"rope-base", 0, NUMBER_OF(NULL, 1, 1e12), ANYWHERE, COMPUTES | TOKENS | INFO,
                          "the base of the rotary angles"},
    [OPTION_ROPE_ORIGINAL] = {"rope-original", 0, COUNT_OF(NULL, 1, 1e9), ANYWHERE, COMPUTES | TOKENS | INFO,
                              "tokens that the model was trained on before its positions were scaled"},
    [OPTION_ALIBI_MAX_BIAS] = {"alibi-max-bias", 0, NUMBER_OF(NULL, 0, 1024), ANYWHERE,
                               COMPUTES | TOKENS | INFO, "the bias that the slopes of ALiBi are made from"},
    [OPTION_ALIBI_STRETCH] = {"alibi-stretch", 0, NUMBER_OF(NULL, 0.001, 1000), ANYWHERE,
                              COMPUTES | TOKENS | INFO,
                              "divide the distances of ALiBi by this, so that a context so many times as "
                              "long looks like the trained one"},
    [OPTION_META] = {"meta", 0, FLAG, LINE_ONLY, INFO, "list the file's metadata"},
    [OPTION_TENSORS] = {"tensors", 0, FLAG, LINE_ONLY, INFO, "list the file's tensors"},
    [OPTION_CONFIG] = {"config", 0, FLAG, LINE_ONLY, INFO, "list all settings and where each comes from"},
    [OPTION_KIND] = {"kind", 0, CHOICE_OF("KIND", NULL, kinds), LINE_ONLY, READS,
                     "what the documents are (default: found out from their content)"},
    [OPTION_ENCODING] = {"encoding", 0, TEXT_OF("NAME", NULL), ANYWHERE, READS,
                         "the documents' character encoding (default: found out)"},
    [OPTION_OCR] = {"ocr", 0, TEXT_OF("LANGUAGE", NULL), ANYWHERE, READS,
                    "read pages that are pictures with tesseract, in this language (eng, deu+eng)"},
    [OPTION_PASSWORD_FILE] = {"password-file", 0, PATH_OF("FILE"), ANYWHERE, READS,
                              "a file whose first line opens a locked PDF"},
    [OPTION_IDLE] = {"idle", 0, OPTION_IS_NUMBER, "MINUTES", "30", NULL, 0, 1e6, ANYWHERE, CHAT,
                     "give the model's memory back after so long without a message; 0 never does"},
    [OPTION_KEYS] = {"keys", 0, CHOICE_OF("STYLE", "emacs", keys), ANYWHERE, CHAT,
                     "the keys that edit a line"},
    [OPTION_PRIVATE] = {"private", 0, FLAG, ANYWHERE, CHAT, "keep no history of what is typed"},
    [OPTION_FORMAT] =
        {"format", 0, CHOICE_OF("FORM", NULL, formats), LINE_ONLY, SUM,
         "the form of the summary (default: by the ending of --output, .md or .html, else text)"},
    [OPTION_JSON] = {"json", 0, FLAG, LINE_ONLY, ANSWERS | TOP, "print one JSON object"},
    [OPTION_CSV] = {"csv", 0, FLAG, LINE_ONLY, PLAN | LOG, "print comma-separated values"},
    [OPTION_NDJSON] = {"ndjson", 0, FLAG, LINE_ONLY, SUM | RUN,
                       "print one JSON object a line, as things happen"},
    [OPTION_OUTPUT] = {"output", 'o', PATH_OF("FILE"), LINE_ONLY, ANSWERS,
                       "write the answer to a file, whole or not at all"},
    [OPTION_PLAIN] = {"plain", 0, FLAG, ANYWHERE, ALL, "no line editing, no colour, no progress line"},
    [OPTION_QUIET] = {"quiet", 'q', FLAG, ANYWHERE, ALL, "no progress, no notes that change nothing"},
    [OPTION_VERBOSE] = {"verbose", 'v', FLAG, ANYWHERE, ALL, "show the engine's log and notes"},
    [OPTION_HELP] = {"help", 'h', FLAG, LINE_ONLY, ALL, "explain this verb"},
    [OPTION_VERSION] = {"version", 'V', FLAG, LINE_ONLY, ALL, "print the version"},
};

const struct option_row *option_row(enum option option)
{
    return &rows[option];
}

enum option option_find(const char *name)
{
    for (int i = 0; i < OPTION_COUNT; i++)
        if (strcmp(rows[i].name, name) == 0)
            return (enum option)i;
    return OPTION_COUNT;
}

static int count_verbs(unsigned verbs)
{
    return __builtin_popcount(verbs);
}

enum option option_find_letter(char letter, enum verb verb)
{
    enum option best = OPTION_COUNT;
    for (int i = 0; i < OPTION_COUNT; i++) {
        if (!letter || rows[i].letter != letter)
            continue;
        bool takes = verb < VERB_COUNT && option_applies((enum option)i, verb);
        bool best_takes = best != OPTION_COUNT && verb < VERB_COUNT && option_applies(best, verb);
        int difference =
            best == OPTION_COUNT ? 0 : count_verbs(rows[i].verbs) - count_verbs(rows[best].verbs);
        if (best == OPTION_COUNT || (takes && !best_takes) || (takes && best_takes && difference < 0) ||
            (!takes && !best_takes && difference > 0))
            best = (enum option)i;
    }
    return best;
}

bool option_applies(enum option option, enum verb verb)
{
    return (rows[option].verbs & VERB_BIT(verb)) != 0;
}
