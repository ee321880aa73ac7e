/* Prompts through a model, side by side, answers kept in the journal: what all steps of a task share.
 * SPDX-License-Identifier: Apache-2.0
 *
 * An answer that the journal holds is not computed again; one that is computed is stored as soon as it
 * is finished, so that an interrupted task loses only what was running. */
#ifndef DOCUMENT_CALLS_H
#define DOCUMENT_CALLS_H

#include "base/strbuf.h"
#include "document/journal.h"
#include "document/llm.h"

struct calls {
    const struct llm *llm;
    struct journal *journal;             /* NULL: nothing is kept */
    ll_error unkept;                     /* why the journal was let go; status LL_OK: it was not */
    unsigned char identity[JOURNAL_KEY]; /* of the model, where there is a journal */
    size_t context;                      /* no prompt with its answer may be longer */
    size_t width;                        /* side by side; 0: chosen */
    ll_dtype cache_type;
    const ll_sampling *sampling;
    const ll_run *run;
    /* After each finished answer, and after each step of the model with the tokens computed; may be NULL. */
    void (*on_done)(void *user);
    void (*on_step)(void *user, size_t tokens);
    void *user;
    ll_error *error;
    /* What it cost so far. */
    size_t made, reused, prompt_tokens, generated_tokens, looped;
    double seconds; /* inside the model */
};

struct call {
    struct token_list prompt; /* in */
    struct strbuf output;     /* out */
    size_t kept;              /* in: leading tokens that other prompts will begin with; 0: none */
    bool looped, ended;       /* stopped by the guard; ended by the model itself */
};

/* Opens the journal at path (NULL: none) and learns the model's identity. llm, run, error must be set.
 * A journal that fails, now or later, is let go: it spares work, and no work is lost for its sake. */
ll_status calls_open_journal(struct calls *calls, const char *path, uint64_t limit);
void calls_close(struct calls *calls);
/* At most max_tokens of answer each. Equal prompts are computed once. */
ll_status calls_run(struct calls *calls, struct call *items, size_t count, size_t max_tokens);
void call_fini(struct call *call);

#endif
