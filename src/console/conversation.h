/* A conversation: its messages, what undo and marks return to, and its forms on disk.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Messages never change once they are said; a state is a list of them. Every turn, fusion or return keeps
 * the state before it, so that undo takes back any of them, and a mark is a state with a name. A session
 * that is made equal to a state's tokens keeps what two states have in common: going back computes
 * nothing anew. One thread at a time. */
#ifndef CONSOLE_CONVERSATION_H
#define CONSOLE_CONVERSATION_H

#include "console/text.h"
#include "longleaf.h"

struct conversation_message {
    char role[16]; /* "user", "assistant" */
    char *text;    /* as the model is given it; prefix, then what was typed */
    size_t length;
    size_t prefix;  /* bytes of documents or of an older part's summary that go before */
    bool partial;   /* an answer that was stopped */
    bool fused;     /* its prefix holds the summary of an older part */
    size_t holders; /* states that it is part of */
};

struct conversation_state {
    struct conversation_message **messages; /* owned list of shared messages */
    size_t count;
};

struct conversation_mark {
    char *name;
    struct conversation_state state;
};

struct conversation {
    char *system; /* NULL: the model's own */
    struct conversation_state now;
    struct conversation_state *past; /* what undo returns to, newest last */
    size_t past_count;
    struct conversation_mark *marks;
    size_t mark_count;
};

/* Zero-initialised storage is an empty conversation. Functions that give bool: false is no memory, and
 * the conversation is as it was. */
void conversation_fini(struct conversation *conversation);
bool conversation_set_system(struct conversation *conversation, const char *text); /* NULL: the model's */
/* Keeps the present state for undo; call before the first message of a turn. */
bool conversation_keep(struct conversation *conversation);
/* Adds a message whose first prefix bytes were not typed. */
bool conversation_add(struct conversation *conversation, const char *role, const char *text, size_t length,
                      size_t prefix, bool partial);
/* Takes back what came since the last kept state. False: nothing was kept. */
bool conversation_undo(struct conversation *conversation);
void conversation_drop_last(struct conversation *conversation); /* the last message; none is no matter */
/* Forgets all messages, and undo brings them back. Marks stay. */
bool conversation_reset(struct conversation *conversation);
/* In place of the first count messages stands their summary, before the next message (one must follow).
 * Keep the state before it, so that undo brings them back. */
bool conversation_fuse(struct conversation *conversation, size_t count, const char *summary);
/* The last message of that role, or NULL. */
const struct conversation_message *conversation_last(const struct conversation *conversation,
                                                     const char *role);
/* The part that was typed, or generated. */
const char *conversation_typed(const struct conversation_message *message, size_t *ret_length);

/* A mark of that name is replaced. */
bool conversation_mark(struct conversation *conversation, const char *name);
const struct conversation_mark *conversation_find_mark(const struct conversation *conversation,
                                                       const char *name);
/* Returns to the mark; undo brings the present state back. */
bool conversation_back(struct conversation *conversation, const struct conversation_mark *mark);

/* The first count messages as the model is given them; open: an answer's turn begins at the end. The
 * result is the caller's, by free. Without a chat template: LL_UNSUPPORTED. */
ll_status conversation_tokens(const struct conversation *conversation, const ll_model *model, size_t count,
                              bool open, ll_token **ret_tokens, size_t *ret_count, ll_error *error);
/* The same as text, control tokens spelt. */
ll_status conversation_render(const struct conversation *conversation, const ll_model *model, size_t count,
                              bool open, struct text *out, ll_error *error);

/* ---- forms on disk ---- */

enum conversation_form { FORM_MARKDOWN, FORM_HTML, FORM_JSON, FORM_UNKNOWN };
enum conversation_form conversation_form(const char *name, size_t length); /* "md", "html", "json" */
/* For people and other programs: a page, or a list of {role, content}. assistant: what answers are called. */
void conversation_export(const struct conversation *conversation, enum conversation_form form,
                         const char *assistant, struct text *out);
/* All of it, marks too, as JSON, with the paths of the documents that belong to it. */
void conversation_write(const struct conversation *conversation, const char *const *documents,
                        size_t document_count, struct text *out);
/* Reads what conversation_write wrote, into an empty conversation. `each` hears of every document. False:
 * problem holds the sentence. */
bool conversation_read(struct conversation *conversation, const char *bytes, size_t length,
                       void (*each)(void *user, const char *document), void *user, struct text *problem);

#endif
