/* What the cells of a notebook share: model, session, conversation, documents, settings.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The model is opened by the first cell that needs it. Functions that give bool: false, and the cell's
 * output holds the failure. One thread. */
#ifndef JUPYTER_KERNEL_TALK_H
#define JUPYTER_KERNEL_TALK_H

#include "console/beacon.h"
#include "console/conversation.h"
#include "console/recorder.h"
#include "console/settings.h"
#include "jupyter_kernel/gauge.h"
#include "jupyter_kernel/output.h"

struct talk_document {
    char *path;
    ll_document *document;
    bool from_cell; /* it was a prompt that no context holds: path is only a name */
    bool sent;      /* the model was given its text once */
    bool told;      /* it was said that it is too long to be given */
};

struct talk {
    struct settings settings;
    bool gauge, markdown, ignore_end; /* what a notebook has beyond the settings */
    bool rests;                       /* the model was laid to rest and no cell has run since */
    double worked;                    /* when the last cell ended, by human_clock */
    ll_engine *engine;
    ll_model *model;
    ll_session *session;
    size_t context;                /* what the session was opened with: tokens wanted, */
    ll_dtype kv;                   /* type of keys and values */
    struct beacon *beacon;         /* what `longleaf top` sees */
    struct recorder *recorder;     /* the model's run in the run log */
    struct text model_path, label; /* label: the file's name, without .gguf */
    struct conversation conversation;
    struct talk_document *documents;
    size_t document_count;
    uint64_t retries; /* of the last prompt: each is drawn with another seed */
    bool warned;      /* that the context is nearly full */
    json_t *passages; /* what %cite shows: [{text, page, passage}] of the last summary or answer; owned */
};

struct turn { /* one cell at work: who hears of tokens and progress */
    struct talk *talk;
    struct output *output;
    struct gauge gauge;
    ll_cancel *cancel;
    bool streams;     /* tokens go out as they come */
    double asked;     /* when the prompt was given to the model; 0: it was not yet */
    double shown;     /* when an answer in Markdown was shown last; 0: never */
    struct text text; /* what was generated */
    size_t tokens;
};

bool talk_init(struct talk *talk, struct text *problem); /* settings from file and environment */
void talk_fini(struct talk *talk);
void turn_init(struct turn *turn, struct talk *talk, struct output *output, ll_cancel *cancel);
void turn_fini(struct turn *turn); /* ends the gauge */
ll_run turn_run(struct turn *turn);

bool talk_open_engine(struct turn *turn);
bool talk_open_model(struct turn *turn); /* and a session */
void talk_close_model(struct talk *talk);
/* Changes the model; the conversation goes on with it. False: the old one stays. */
bool talk_change_model(struct turn *turn, const char *name);
/* Milliseconds that the model may still be idle before it is to rest; -1: for ever, or it rests. */
long talk_idle(const struct talk *talk);
void talk_rest(struct talk *talk); /* gives the model's memory back; the next cell that needs it reads it */
ll_sampling talk_sampling(const struct talk *talk);
void talk_label(const char *path, struct text *label); /* a model's name for people */
size_t talk_capacity(const struct talk *talk);
/* The file that keeps what the model answered about documents, so that nothing is computed twice; NULL: the
 * settings want none. path is the caller's. */
const char *talk_journal(const struct talk *talk, struct text *path);

/* The cell's answer to a prompt, streamed. A prompt that no context holds becomes a document, and *ret what
 * is shown of it. */
bool talk_ask(struct turn *turn, const char *prompt, size_t length, json_t **ret);
bool talk_retry(struct turn *turn);
bool talk_continue(struct turn *turn);
/* The part of the answer that came last, as text or in the whole as Markdown. */
void turn_show(struct turn *turn, const char *bytes, size_t length);
/* The next turn as it would be: text and tokens. */
bool talk_preview(struct turn *turn, const char *prompt, size_t length, struct text *ret, size_t *ret_tokens);

ll_document *talk_read(struct turn *turn, const char *path);                           /* NULL: failed */
ll_document *talk_read_all(struct turn *turn, const char *const *paths, size_t count); /* as one */
bool talk_attach(struct turn *turn, const char *path);
/* Takes the document, also when it fails. */
bool talk_keep(struct turn *turn, const char *name, ll_document *document, bool from_cell);
/* The run log gets to know what the cell took. */
void talk_record(struct turn *turn);
/* Tokens of a document; the model must be open. */
bool talk_weigh(struct turn *turn, const ll_document *document, size_t *ret_tokens);

#endif
