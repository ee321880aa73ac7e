/* The verbs of the program: their names, arguments and one line of help each.
 * SPDX-License-Identifier: Apache-2.0 */
#include "console/verb.h"

#include <string.h>

static const struct verb_row rows[VERB_COUNT] = {
    [VERB_CHAT] = {"chat", "[FILE...]", "talk with the model, documents attached", 0, -1},
    [VERB_SUM] = {"sum", "FILE...", "summarise documents of any length", 1, -1},
    [VERB_ASK] = {"ask", "FILE...", "answer questions from documents, with the sentences that say so", 1, -1},
    [VERB_RUN] = {"run", "[-]", "answer one prompt", 0, 1},
    [VERB_TEXT] = {"text", "FILE...", "print exactly the text a model would be given", 1, -1},
    [VERB_TOKENS] = {"tokens", "FILE...", "count or list the tokens of documents", 1, -1},
    [VERB_INFO] = {"info", "[MODEL]", "say what a model file or an adapter is", 0, 1},
    [VERB_PLAN] = {"plan", "[MODEL...]", "say what memory models will need, before anything is loaded", 0,
                   -1},
    [VERB_PPL] = {"ppl", "FILE...", "measure a model's perplexity on documents", 1, -1},
    [VERB_BENCH] = {"bench", "", "measure prefill and decode speed at several depths", 0, 0},
    [VERB_MODELS] = {"models", "[list|fetch|verify|path]", "list, fetch and verify models", 0, 2},
    [VERB_CACHE] = {"cache", "[show|prune|clear]", "show and prune what is kept of the model's answers", 0,
                    1},
    [VERB_LOG] = {"log", "[A B]", "show what earlier runs took: time, tokens, memory", 0, 2},
    [VERB_TOP] = {"top", "[PID]", "watch running programs: memory over time, cache, windows, runs", 0, 1},
    [VERB_QUANTIZE] = {"quantize", "IN OUT TYPE",
                       "write a model file with its weights as Q8_0, Q6_K, Q5_K, "
                       "Q4_K, Q5_1, Q5_0, Q4_1, Q4_0, BF16, F16 or F32",
                       3, 3},
    [VERB_CONVERT] = {"convert", "FOLDER OUT [TYPE]", "write a Hugging Face folder as a GGUF file", 2, 3},
    [VERB_CHECK] = {"check", "FILE...", "say whether model files are sound, without loading them", 1, -1},
    [VERB_HELP] = {"help", "[TOPIC]", "explain a verb or a topic, or print lists for programs", 0, 2},
};

const struct verb_row *verb_row(enum verb verb)
{
    return &rows[verb];
}

enum verb verb_find(const char *name)
{
    for (int i = 0; i < VERB_COUNT; i++)
        if (strcmp(rows[i].name, name) == 0)
            return (enum verb)i;
    return VERB_COUNT;
}
