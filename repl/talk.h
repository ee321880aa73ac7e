/* A conversation with a model: documents attached, messages asked, one piece of work at a time.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Everything here runs on the engine's thread; only talk_gauge may be called from the screen's. */
#ifndef REPL_TALK_H
#define REPL_TALK_H

#include <pthread.h>

#include "console/conversation.h"
#include "repl/answer.h"
#include "repl/summing.h"

struct talk_document {
    char *name;
    ll_document *document;
    size_t tokens;
    bool fits;   /* its text is given to the model; else it is read in windows */
    bool sent;   /* it was given once */
};

struct talk {
    struct program *program;
    struct work *work;
    struct conversation conversation;
    struct talk_document *documents;
    size_t document_count;
    ll_document *together;  /* all of them, joined for questions; NULL: not yet */
    struct why why;         /* of the last answer */
    struct summing summing; /* the last summary, for its sources; its document is one of the above */
    ll_document *summed;    /* owned: a document that was summarised without being attached */
    struct text summed_name;
    uint64_t retries;      /* of the last message */
    bool warned;           /* that the context is nearly full */
    bool on_device;        /* the model is in a graphics card's memory */
    pthread_mutex_t gauge; /* held while the session is exchanged */
    size_t
        standing; /* tokens of the conversation where the session still holds others; SIZE_MAX: it does not */
    struct text saved; /* where the conversation is kept against a crash; empty: nowhere */
};

/* A message as it came: whole, and as it was typed, with notes in place of what was pasted. */
struct talk_message {
    struct text text, shown;
    bool fenced; /* stood between fences: never a command */
};

void talk_init(struct talk *talk, struct program *program, struct work *work);
void talk_fini(struct talk *talk);
/* LEAVE_OK or an exit code, said; the conversation is as it was then. */
int talk_attach(struct talk *talk, const char *path);
/* Attaches a text that was pasted, without a word about it. */
int talk_attach_text(struct talk *talk, const char *name, const char *text, size_t length);
/* Sends a message and streams the answer to the output. Interrupted answers are kept as far as they
 * came. What is too long is read in windows; what the context has no room for any more is summarised.
 * LEAVE_OK, an exit code that was said, or program_interrupted(). */
int talk_ask(struct talk *talk, const struct talk_message *message);
/* The next message as the model would be given it: the texts of documents that it was not given yet, then
 * what was typed, since small models follow best what stands last. Gives the bytes before the latter. */
size_t talk_compose(const struct talk *talk, const char *text, size_t length, struct text *out);
int talk_retry(struct talk *talk, const char *changed); /* NULL: the last message as it was */
int talk_continue(struct talk *talk);
/* Tokens that the next answer should find room for. */
size_t talk_room(const struct talk *talk);
bool talk_given(const struct talk *talk, size_t document); /* the conversation holds its text */
/* Another model for the same conversation; the old one stays when the new one fails. */
int talk_change_model(struct talk *talk, const char *name);
/* The conversation is another than before, and nothing was computed yet: the gauge tells what stands. */
void talk_settle(struct talk *talk);
void talk_compute(struct talk *talk); /* from here on the session has it */
/* What the gauge shows; false while there is nothing to show. Any thread. */
bool talk_gauge(struct talk *talk, ll_session_stats *stats, ll_memory *memory);

/* ---- summaries ---- */

/* Summarises one document with its name as the heading; focus NULL: the settings'. */
int talk_sum(struct talk *talk, const char *name, const ll_document *document, const char *focus);
int talk_sum_all(struct talk *talk, const char *path); /* what is attached, or a file */
/* Answers from the documents, the first-th and those after it, with the sentences that it rests on. */
int talk_question(struct talk *talk, const char *question, size_t first);
int talk_plan(struct talk *talk, const char *path);   /* what that would take */
int talk_cite(struct talk *talk, const char *number); /* the passage under a sentence of the last summary */
/* The oldest messages become a summary until so many tokens fit. LEAVE_OK also when nothing helped. */
int talk_make_room(struct talk *talk, size_t wanted);

/* ---- files ---- */

/* The conversation, its marks and its computed state in one file; nothing is computed again on opening. */
int talk_save(struct talk *talk, const char *path);
int talk_open(struct talk *talk, const char *path); /* "last": what a crash left */
int talk_export(struct talk *talk, const char *argument, size_t length);
/* Keeps the messages in the state folder, so that a crash loses none; removed when all ends well. */
void talk_keep_safe(struct talk *talk);
void talk_forget_safe(struct talk *talk);
/* Says when a conversation was cut off earlier and how it comes back. */
void talk_say_lost(struct talk *talk);

#endif
