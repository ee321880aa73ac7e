/* Messages of the Jupyter protocol as frames: read with suspicion, written signed.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Frames: identities, "<IDS|MSG>", signature, header, parent header, metadata, content, buffers. The
 * signature covers header to content, as they were received; it is checked before anything is parsed. */
#ifndef JUPYTER_KERNEL_WIRE_H
#define JUPYTER_KERNEL_WIRE_H

#include <stdatomic.h>

#include "console/text.h"
#include "jupyter_kernel/json.h"
#include "jupyter_kernel/signature.h"

#define WIRE_PROTOCOL "5.5"
#define WIRE_DELIMITER "<IDS|MSG>"

struct wire_shared {  /* one a process */
    char session[33]; /* random */
    struct text key;
    struct replay *replay;
    atomic_ullong written; /* messages so far: their ids */
};

struct wire { /* one a thread */
    struct wire_shared *shared;
    struct signer signer;
};

struct message {
    struct frame *identities; /* owned copies */
    size_t identity_count;
    struct text header; /* as received: the parent of every message that answers, byte for byte */
    json_t *head, *parent, *content;
    const char *type, *id; /* of head */
    bool has_metadata;     /* the client says more than the request needs: which cell it is, for one */
};

struct outgoing {
    char signature[SIGNATURE_DIGITS + 1];
    struct text parts[4]; /* header, parent header, metadata, content */
};

bool wire_shared_init(struct wire_shared *shared, const char *key, size_t length);
void wire_shared_fini(struct wire_shared *shared);
bool wire_init(struct wire *wire, struct wire_shared *shared);
void wire_fini(struct wire *wire);

/* NULL when the message is genuine, new and well formed; ret is then to be given back with message_fini.
 * Else why it was refused, in a few words. */
const char *wire_read(const struct wire *wire, const struct frame *frames, size_t count, struct message *ret);
void message_fini(struct message *message);

enum { WIRE_MOMENT = 48 };
void wire_moment(char out[WIRE_MOMENT]); /* now, as messages have it: ISO 8601 in UTC, with microseconds */

/* parent NULL: none. metadata NULL: {}. Neither is taken. False: no memory, and out is empty. */
bool wire_write(struct wire *wire, const char *type, const struct text *parent, const json_t *metadata,
                const json_t *content, struct outgoing *out);
void outgoing_fini(struct outgoing *out);

#endif
