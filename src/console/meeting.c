/* The folder where the running programs of one user meet: private, checked before every use.
 * SPDX-License-Identifier: Apache-2.0 */
#include "console/meeting.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_ours(const char *path)
{
    struct stat about;
    return lstat(path, &about) == 0 && S_ISDIR(about.st_mode) && about.st_uid == geteuid();
}

static void find_path(struct text *path)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR"), *temporary = getenv("TMPDIR");
    char usual[64];
    snprintf(usual, sizeof usual, "/run/user/%ld", (long)geteuid());
    if (runtime && runtime[0] == '/')
        text_printf(path, "%s/longleaf", runtime);
    else if (is_ours(usual))
        text_printf(path, "%s/longleaf", usual);
    else
        text_printf(path, "%s/longleaf-%ld", temporary && temporary[0] == '/' ? temporary : "/tmp",
                    (long)geteuid());
}

int meeting_open(bool make, struct text *problem)
{
    struct text path = {0};
    struct stat about;
    find_path(&path);
    if (make)
        mkdir(text_string(&path), 0700);
    int folder = path.failed ? -1 : open(text_string(&path), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int failure = path.failed ? ENOMEM : errno;
    if (folder < 0) {
        text_printf(problem, "%s: %s", text_string(&path), strerror(failure));
    } else if (fstat(folder, &about) != 0 || about.st_uid != geteuid() || (about.st_mode & 077)) {
        text_printf(problem, "%s: the folder must be yours and closed to others (mode 0700)",
                    text_string(&path));
        close(folder);
        folder = -1;
        failure = EPERM;
    }
    text_fini(&path);
    errno = failure;
    return folder;
}

/* By the descriptor: no other folder can take the place of the one that was checked, and the address, which
 * has room for 107 bytes, is short. */
bool meeting_address(int folder, const char *name, struct sockaddr_un *ret)
{
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    int length = snprintf(ret->sun_path, sizeof ret->sun_path, "/proc/self/fd/%d/%s", folder, name);
    return length > 0 && (size_t)length < sizeof ret->sun_path;
}
