/* A temporary file without a name, for programs that must read at random.
 * SPDX-License-Identifier: Apache-2.0 */
#include "readers/temporary.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/strbuf.h"

ll_status temporary_make(const char *bytes, size_t length, int *ret, ll_error *error)
{
    const char *folder = getenv("TMPDIR");
    struct strbuf name = {0};
    strbuf_printf(&name, "%s/longleaf.XXXXXX", folder && *folder ? folder : "/tmp");
    int fd = name.failed ? -1 : mkstemp(name.text);
    if (fd < 0) {
        ll_status status = error_errno(error, "document", strbuf_text(&name), name.failed ? ENOMEM : errno);
        strbuf_fini(&name);
        return status;
    }
    unlink(name.text);
    strbuf_fini(&name);
    for (size_t done = 0; done < length;) {
        ssize_t wrote = write(fd, bytes + done, length - done);
        if (wrote < 0 && errno != EINTR) {
            ll_status status = error_errno(error, "document", "the temporary file", errno);
            close(fd);
            return status;
        }
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    *ret = fd;
    return LL_OK;
}
