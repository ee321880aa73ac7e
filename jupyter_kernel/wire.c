/* Messages of the Jupyter protocol as frames: read with suspicion, written signed.
 * SPDX-License-Identifier: Apache-2.0 */
#include "jupyter_kernel/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <openssl/rand.h>

enum { MOST_IDENTITIES = 32 };

bool wire_shared_init(struct wire_shared *shared, const char *key, size_t length)
{
    unsigned char random[16];
    *shared = (struct wire_shared){.replay = replay_new()};
    text_append(&shared->key, key, length);
    bool ok = shared->replay && !shared->key.failed && RAND_bytes(random, sizeof random) == 1;
    for (size_t i = 0; ok && i < sizeof random; i++)
        snprintf(shared->session + 2 * i, 3, "%02x", random[i]);
    if (!ok)
        wire_shared_fini(shared);
    return ok;
}

void wire_shared_fini(struct wire_shared *shared)
{
    text_fini(&shared->key);
    replay_free(shared->replay);
    shared->replay = NULL;
}

bool wire_init(struct wire *wire, struct wire_shared *shared)
{
    wire->shared = shared;
    return signer_init(&wire->signer, text_string(&shared->key), shared->key.length);
}

void wire_fini(struct wire *wire)
{
    signer_fini(&wire->signer);
}

/* ---- reading ---- */

static bool is_delimiter(const struct frame *frame)
{
    return frame->length == sizeof WIRE_DELIMITER - 1 &&
           memcmp(frame->bytes, WIRE_DELIMITER, frame->length) == 0;
}

static bool keep_identities(struct message *message, const struct frame *frames, size_t count)
{
    message->identities = calloc(count + 1, sizeof *message->identities);
    for (size_t i = 0; message->identities && i < count; i++) {
        char *copy = malloc(frames[i].length + 1);
        if (!copy)
            return false;
        if (frames[i].length)
            memcpy(copy, frames[i].bytes, frames[i].length);
        message->identities[message->identity_count++] = (struct frame){copy, frames[i].length};
    }
    return message->identities != NULL;
}

static const char *parse(struct message *message, const struct frame parts[4])
{
    message->head = json_read_object(parts[0].bytes, parts[0].length);
    message->parent = json_read_object(parts[1].bytes, parts[1].length);
    json_t *metadata = json_read_object(parts[2].bytes, parts[2].length);
    bool sound = metadata != NULL;
    message->has_metadata = json_object_size(metadata) > 0;
    json_decref(metadata);
    message->content = json_read_object(parts[3].bytes, parts[3].length);
    if (!message->head || !message->parent || !sound || !message->content)
        return "a part is no JSON object";
    message->type = json_get_string(message->head, "msg_type", NULL);
    message->id = json_get_string(message->head, "msg_id", NULL);
    if (!message->type || !message->id)
        return "the header names no msg_type or no msg_id";
    text_append(&message->header, parts[0].bytes, parts[0].length);
    return message->header.failed ? "no memory" : NULL;
}

const char *wire_read(const struct wire *wire, const struct frame *frames, size_t count, struct message *ret)
{
    unsigned char digest[SIGNATURE_BYTES];
    size_t at = 0;
    while (at < count && at <= MOST_IDENTITIES && !is_delimiter(&frames[at]))
        at++;
    if (at == count || !is_delimiter(&frames[at]))
        return "the delimiter is missing";
    if (count - at < 6)
        return "parts are missing";
    const struct frame *parts = frames + at + 2;
    if (!signer_verify(&wire->signer, &frames[at + 1], parts, 4, digest))
        return "the signature is wrong";
    if (wire->signer.keyed && !replay_add(wire->shared->replay, digest))
        return "it was sent before";
    *ret = (struct message){0};
    const char *reason = keep_identities(ret, frames, at) ? parse(ret, parts) : "no memory";
    if (reason)
        message_fini(ret);
    return reason;
}

void message_fini(struct message *message)
{
    for (size_t i = 0; i < message->identity_count; i++)
        free((char *)(uintptr_t)message->identities[i].bytes);
    free(message->identities);
    text_fini(&message->header);
    json_decref(message->head);
    json_decref(message->parent);
    json_decref(message->content);
    *message = (struct message){0};
}

/* ---- writing ---- */

void wire_moment(char out[WIRE_MOMENT])
{
    struct timespec now;
    struct tm parts;
    char second[32];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    strftime(second, sizeof second, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(out, WIRE_MOMENT, "%s.%06ldZ", second, now.tv_nsec / 1000 % 1000000);
}

static json_t *new_header(struct wire *wire, const char *type)
{
    char date[WIRE_MOMENT], id[64];
    wire_moment(date);
    snprintf(id, sizeof id, "%s_%llu", wire->shared->session, atomic_fetch_add(&wire->shared->written, 1ull));
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "msg_id", id, "session", wire->shared->session,
                     "username", "longleaf", "date", date, "msg_type", type, "version", WIRE_PROTOCOL);
}

bool wire_write(struct wire *wire, const char *type, const struct text *parent, const json_t *metadata,
                const json_t *content, struct outgoing *out)
{
    struct frame frames[4];
    bool ok = true;
    *out = (struct outgoing){0};
    json_t *header = new_header(wire, type);
    json_write(&out->parts[0], header);
    json_decref(header);
    if (parent && parent->length)
        text_append(&out->parts[1], parent->bytes, parent->length);
    else
        text_puts(&out->parts[1], "{}");
    if (metadata)
        json_write(&out->parts[2], metadata);
    else
        text_puts(&out->parts[2], "{}");
    json_write(&out->parts[3], content);
    for (size_t i = 0; i < 4; i++) {
        ok = ok && !out->parts[i].failed;
        frames[i] = (struct frame){text_string(&out->parts[i]), out->parts[i].length};
    }
    ok = ok && signer_sign(&wire->signer, frames, 4, out->signature);
    if (!ok)
        outgoing_fini(out);
    return ok;
}

void outgoing_fini(struct outgoing *out)
{
    for (size_t i = 0; i < 4; i++)
        text_fini(&out->parts[i]);
}
