/* SHA-256 of model files, and what it should be.
 * SPDX-License-Identifier: Apache-2.0 */
#include "repl/checksum.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <openssl/evp.h>

#include "console/modelpath.h"
#include "repl/signals.h"

static bool feed_all(int fd, EVP_MD_CTX *context)
{
    static char block[1 << 18];
    for (;;) {
        ssize_t got = read(fd, block, sizeof block);
        if (got == 0)
            return true;
        if (signals_seen() || (got < 0 && errno != EINTR))
            return false;
        if (got > 0 && EVP_DigestUpdate(context, block, (size_t)got) != 1)
            return false;
    }
}

static bool digest(int fd, unsigned char *bytes, unsigned *length)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool ok = context && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1 && feed_all(fd, context) &&
              EVP_DigestFinal_ex(context, bytes, length) == 1;
    EVP_MD_CTX_free(context);
    return ok;
}

bool checksum_file(const char *path, char hash[CHECKSUM_LENGTH + 1], struct text *problem)
{
    unsigned char bytes[EVP_MAX_MD_SIZE];
    unsigned length = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool ok = fd >= 0 && digest(fd, bytes, &length) && length * 2 == CHECKSUM_LENGTH;
    if (!ok)
        text_printf(problem, "%s: %s", path, errno ? strerror(errno) : "its SHA-256 cannot be computed");
    if (fd >= 0)
        close(fd);
    for (unsigned i = 0; ok && i < length; i++)
        snprintf(hash + 2 * i, 3, "%02x", bytes[i]);
    return ok;
}

bool checksum_wanted(const char *path, char hash[CHECKSUM_LENGTH + 1])
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (strcmp(name, MODELPATH_DEFAULT) == 0) {
        memcpy(hash, MODELPATH_DEFAULT_SHA256, CHECKSUM_LENGTH + 1);
        return true;
    }
    struct text beside = {0};
    text_printf(&beside, "%s.sha256", path);
    FILE *file = fopen(text_string(&beside), "re");
    bool ok =
        file && fgets(hash, CHECKSUM_LENGTH + 1, file) && strspn(hash, "0123456789abcdef") == CHECKSUM_LENGTH;
    if (file)
        fclose(file);
    text_fini(&beside);
    return ok;
}
