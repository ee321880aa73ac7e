/* The one table of options: parsing, --help, completion and the man page all read it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CONSOLE_OPTION_H
#define CONSOLE_OPTION_H

#include <stdbool.h>

#include "console/verb.h"

enum option {
    OPTION_MODEL,
    OPTION_ADAPTER,
    OPTION_CONTEXT,
    OPTION_KV,
    OPTION_DEVICE,
    OPTION_THREADS,
    OPTION_MEMORY,
    OPTION_GPU_LAYERS,
    OPTION_MAX_TOKENS,
    OPTION_TEMP,
    OPTION_TOP_K,
    OPTION_TOP_P,
    OPTION_MIN_P,
    OPTION_REPEAT_PENALTY,
    OPTION_PRESENCE_PENALTY,
    OPTION_FREQUENCY_PENALTY,
    OPTION_PENALTY_WINDOW,
    OPTION_DRY_MULTIPLIER,
    OPTION_DRY_BASE,
    OPTION_DRY_LENGTH,
    OPTION_DRY_WINDOW,
    OPTION_DRY_BREAKER,
    OPTION_TYPICAL,
    OPTION_XTC_PROBABILITY,
    OPTION_XTC_THRESHOLD,
    OPTION_MIROSTAT,
    OPTION_MIROSTAT_TAU,
    OPTION_MIROSTAT_ETA,
    OPTION_LOGIT_BIAS,
    OPTION_NO_LOOP_GUARD,
    OPTION_GRAMMAR,
    OPTION_JSON_SCHEMA,
    OPTION_SEED,
    OPTION_STOP,
    OPTION_LOOKUP,
    OPTION_SYSTEM,
    OPTION_PROMPT,
    OPTION_FILE,
    OPTION_TOKENS,
    OPTION_RAW,
    OPTION_IGNORE_EOS,
    OPTION_LOGPROBS,
    OPTION_QUESTION,
    OPTION_WINDOWS,
    OPTION_EXHAUSTIVE,
    OPTION_LENGTH,
    OPTION_FOCUS,
    OPTION_LANGUAGE,
    OPTION_METHOD,
    OPTION_WINDOW,
    OPTION_OVERLAP,
    OPTION_WIDTH,
    OPTION_NO_CACHE,
    OPTION_CACHE_LIMIT,
    OPTION_NO_LOG,
    OPTION_PLAN,
    OPTION_TRACE,
    OPTION_IDS,
    OPTION_SPECIAL,
    OPTION_STRIDE,
    OPTION_BUCKETS,
    OPTION_DEPTHS,
    OPTION_PREFILL,
    OPTION_REPEAT,
    OPTION_GPU_MEMORY,
    OPTION_PRECISION,
    OPTION_SVG,
    OPTION_SINCE,
    OPTION_VERB,
    OPTION_LAST,
    OPTION_CURVE,
    OPTION_COMPARE,
    OPTION_SET_META,
    OPTION_ROPE_SCALING,
    OPTION_ROPE_FACTOR,
    OPTION_ROPE_BASE,
    OPTION_ROPE_ORIGINAL,
    OPTION_ALIBI_MAX_BIAS,
    OPTION_ALIBI_STRETCH,
    OPTION_META,
    OPTION_TENSORS,
    OPTION_CONFIG,
    OPTION_KIND,
    OPTION_ENCODING,
    OPTION_OCR,
    OPTION_PASSWORD_FILE,
    OPTION_IDLE,
    OPTION_KEYS,
    OPTION_PRIVATE,
    OPTION_FORMAT,
    OPTION_JSON,
    OPTION_CSV,
    OPTION_NDJSON,
    OPTION_OUTPUT,
    OPTION_PLAIN,
    OPTION_QUIET,
    OPTION_VERBOSE,
    OPTION_HELP,
    OPTION_VERSION,
    OPTION_COUNT
};

enum option_kind {
    OPTION_IS_FLAG,
    OPTION_IS_TEXT,
    OPTION_IS_LIST,   /* text, may be given several times */
    OPTION_IS_PATH,   /* a file name, for completion */
    OPTION_IS_CHOICE, /* one of choices */
    OPTION_IS_COUNT,  /* a whole number; k, M, G multiply by 1024 */
    OPTION_IS_NUMBER  /* a decimal number */
};

struct option_row {
    const char *name; /* long name, without dashes; the config key and, in capitals, the variable */
    char letter;      /* 0: none */
    enum option_kind kind;
    const char *argument;       /* "MODEL"; NULL for flags */
    const char *fallback;       /* built-in value as text; NULL: none */
    const char *const *choices; /* NULL-terminated; words a count takes as well, for --length */
    double least, most;         /* of counts and numbers, both included */
    bool line_only;             /* makes no sense in a config file or the environment */
    unsigned verbs;             /* VERB_BIT of each verb that takes it */
    const char *help;           /* lower case, no full stop */
};

const struct option_row *option_row(enum option option);
enum option option_find(const char *name); /* OPTION_COUNT: none */
/* The one that fewest verbs take, `verb` among them; else the one that most verbs take. OPTION_COUNT: none.
 */
enum option option_find_letter(char letter, enum verb verb);
bool option_applies(enum option option, enum verb verb);

#endif
