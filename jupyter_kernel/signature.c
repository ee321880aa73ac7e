/* HMAC-SHA256 over frames, compared in constant time, and a memory of those seen.
 * SPDX-License-Identifier: Apache-2.0 */
#include "jupyter_kernel/signature.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>

bool signer_init(struct signer *signer, const char *key, size_t length)
{
    *signer = (struct signer){0};
    if (!length)
        return true;
    char name[] = "SHA256";
    OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, name, 0),
                               OSSL_PARAM_construct_end()};
    EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    EVP_MAC_CTX *keyed = mac ? EVP_MAC_CTX_new(mac) : NULL;
    EVP_MAC_free(mac);
    if (!keyed || EVP_MAC_init(keyed, (const unsigned char *)key, length, parameters) != 1) {
        EVP_MAC_CTX_free(keyed);
        signer->failed = true;
        return false;
    }
    signer->keyed = keyed;
    return true;
}

void signer_fini(struct signer *signer)
{
    EVP_MAC_CTX_free(signer->keyed);
    *signer = (struct signer){0};
}

bool signer_digest(const struct signer *signer, const struct frame *frames, size_t count,
                   unsigned char digest[SIGNATURE_BYTES])
{
    EVP_MAC_CTX *context = EVP_MAC_CTX_dup(signer->keyed);
    bool ok = context != NULL;
    for (size_t i = 0; i < count && ok; i++)
        ok = EVP_MAC_update(context, (const unsigned char *)frames[i].bytes, frames[i].length) == 1;
    size_t length = 0;
    ok = ok && EVP_MAC_final(context, digest, &length, SIGNATURE_BYTES) == 1 && length == SIGNATURE_BYTES;
    EVP_MAC_CTX_free(context);
    return ok;
}

static void spell(const unsigned char digest[SIGNATURE_BYTES], char out[SIGNATURE_DIGITS + 1])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < SIGNATURE_BYTES; i++) {
        out[2 * i] = digits[digest[i] >> 4];
        out[2 * i + 1] = digits[digest[i] & 15];
    }
    out[SIGNATURE_DIGITS] = '\0';
}

bool signer_sign(const struct signer *signer, const struct frame *frames, size_t count,
                 char out[SIGNATURE_DIGITS + 1])
{
    unsigned char digest[SIGNATURE_BYTES];
    out[0] = '\0';
    if (signer->failed)
        return false;
    if (!signer->keyed)
        return true;
    if (!signer_digest(signer, frames, count, digest))
        return false;
    spell(digest, out);
    return true;
}

bool signer_verify(const struct signer *signer, const struct frame *given, const struct frame *frames,
                   size_t count, unsigned char digest[SIGNATURE_BYTES])
{
    char wanted[SIGNATURE_DIGITS + 1];
    if (signer->failed)
        return false;
    if (!signer->keyed)
        return true;
    if (given->length != SIGNATURE_DIGITS || !signer_digest(signer, frames, count, digest))
        return false;
    spell(digest, wanted);
    return CRYPTO_memcmp(wanted, given->bytes, SIGNATURE_DIGITS) == 0;
}

/* ---- replay: a ring of digests, and an open table of their places ---- */

enum { REMEMBERED = 65536, SLOTS = 4 * REMEMBERED };

struct replay {
    pthread_mutex_t lock;
    unsigned char digests[REMEMBERED][SIGNATURE_BYTES];
    uint32_t slots[SLOTS]; /* place in digests + 1; 0: free */
    size_t added;
};

struct replay *replay_new(void)
{
    struct replay *replay = calloc(1, sizeof *replay);
    if (replay)
        pthread_mutex_init(&replay->lock, NULL);
    return replay;
}

void replay_free(struct replay *replay)
{
    if (!replay)
        return;
    pthread_mutex_destroy(&replay->lock);
    free(replay);
}

/* Digests are as good as random: their first bytes are the hash. */
static size_t home_slot(const unsigned char *digest)
{
    uint32_t hash;
    memcpy(&hash, digest, sizeof hash);
    return hash % SLOTS;
}

/* The slot that holds the digest, or the free one where it belongs. */
static size_t find_slot(const struct replay *replay, const unsigned char *digest)
{
    size_t slot = home_slot(digest);
    while (replay->slots[slot] &&
           memcmp(replay->digests[replay->slots[slot] - 1], digest, SIGNATURE_BYTES) != 0)
        slot = (slot + 1) % SLOTS;
    return slot;
}

/* Closes the gap that a removed entry leaves, so that no search ends too early. */
static void remove_slot(struct replay *replay, size_t gap)
{
    replay->slots[gap] = 0;
    for (size_t at = (gap + 1) % SLOTS; replay->slots[at]; at = (at + 1) % SLOTS) {
        size_t home = home_slot(replay->digests[replay->slots[at] - 1]);
        if ((at + SLOTS - home) % SLOTS < (at + SLOTS - gap) % SLOTS)
            continue;
        replay->slots[gap] = replay->slots[at];
        replay->slots[at] = 0;
        gap = at;
    }
}

bool replay_add(struct replay *replay, const unsigned char digest[SIGNATURE_BYTES])
{
    pthread_mutex_lock(&replay->lock);
    bool is_new = !replay->slots[find_slot(replay, digest)];
    if (is_new) {
        size_t place = replay->added++ % REMEMBERED;
        if (replay->added > REMEMBERED)
            remove_slot(replay, find_slot(replay, replay->digests[place]));
        memcpy(replay->digests[place], digest, SIGNATURE_BYTES);
        replay->slots[find_slot(replay, digest)] = (uint32_t)place + 1;
    }
    pthread_mutex_unlock(&replay->lock);
    return is_new;
}
