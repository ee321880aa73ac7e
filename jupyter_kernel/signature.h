/* HMAC-SHA256 over frames, compared in constant time, and a memory of those seen.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef JUPYTER_KERNEL_SIGNATURE_H
#define JUPYTER_KERNEL_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>

#define SIGNATURE_BYTES 32
#define SIGNATURE_DIGITS 64

struct frame { /* borrowed bytes of one part of a message */
    const char *bytes;
    size_t length;
};

/* One thread's signer; keyed once, used for every message. */
struct signer {
    void *keyed; /* NULL: the key is empty and signatures are empty, too */
    bool failed; /* libcrypto refused */
};

bool signer_init(struct signer *signer, const char *key, size_t length);
void signer_fini(struct signer *signer);
/* The digest of all frames, one after the other. False: libcrypto failed. */
bool signer_digest(const struct signer *signer, const struct frame *frames, size_t count,
                   unsigned char digest[SIGNATURE_BYTES]);
/* Lower-case hexadecimal with its NUL; "" without a key. */
bool signer_sign(const struct signer *signer, const struct frame *frames, size_t count,
                 char out[SIGNATURE_DIGITS + 1]);
/* True when given is the frames' signature; digest is then filled in. Always true without a key. */
bool signer_verify(const struct signer *signer, const struct frame *given, const struct frame *frames,
                   size_t count, unsigned char digest[SIGNATURE_BYTES]);

/* Digests seen, the last 65,536 of them. [any thread] */
struct replay;
struct replay *replay_new(void); /* NULL: no memory */
void replay_free(struct replay *replay);
/* Remembers the digest; false when it was there already. */
bool replay_add(struct replay *replay, const unsigned char digest[SIGNATURE_BYTES]);

#endif
