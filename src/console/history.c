/* What was typed in earlier conversations: one private file, appended to at once.
 * SPDX-License-Identifier: Apache-2.0 */
#include "console/history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool history_path(struct text *path)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (state && state[0] == '/')
        text_printf(path, "%s/longleaf/history", state);
    else if (home && *home)
        text_printf(path, "%s/.local/state/longleaf/history", home);
    return path->length && !path->failed;
}

/* Makes the folders above a file, private ones. */
static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
}

bool history_folder(struct text *path)
{
    struct text file = {0};
    bool known = history_path(&file);
    if (known) {
        make_folders(file.bytes);
        text_append(path, file.bytes, (size_t)(strrchr(file.bytes, '/') - file.bytes));
    }
    text_fini(&file);
    return known && !path->failed;
}

static void write_entry(struct text *out, const char *entry)
{
    for (; *entry; entry++)
        if (*entry == '\n')
            text_puts(out, "\\n");
        else if (*entry == '\\')
            text_puts(out, "\\\\");
        else
            text_putc(out, *entry);
    text_putc(out, '\n');
}

static void read_entry(char *line)
{
    char *out = line;
    for (char *in = line; *in && *in != '\n'; in++) {
        if (*in == '\\' && in[1] == 'n') {
            *out++ = '\n';
            in++;
        } else if (*in == '\\' && in[1] == '\\') {
            *out++ = '\\';
            in++;
        } else {
            *out++ = *in;
        }
    }
    *out = '\0';
}

static size_t count_lines(FILE *file)
{
    size_t lines = 0;
    char block[1 << 12];
    size_t got;
    while ((got = fread(block, 1, sizeof block, file)) > 0)
        for (size_t i = 0; i < got; i++)
            lines += block[i] == '\n';
    rewind(file);
    return lines;
}

void history_load(history_fn each, void *user)
{
    struct text path = {0};
    FILE *file = history_path(&path) ? fopen(text_string(&path), "re") : NULL;
    text_fini(&path);
    if (!file)
        return;
    size_t lines = count_lines(file), skip = lines > HISTORY_ENTRIES ? lines - HISTORY_ENTRIES : 0;
    char *line = NULL;
    size_t capacity = 0;
    while (getline(&line, &capacity, file) >= 0) {
        if (skip) {
            skip--;
            continue;
        }
        read_entry(line);
        if (*line)
            each(user, line);
    }
    free(line);
    fclose(file);
}

bool history_append(const char *entry)
{
    struct text path = {0}, line = {0};
    bool ok = history_path(&path);
    if (ok)
        make_folders(path.bytes);
    int fd = ok ? open(text_string(&path), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
    write_entry(&line, entry);
    /* One write, so that two conversations do not mix their entries. */
    ok = fd >= 0 && !line.failed && write(fd, line.bytes, line.length) == (ssize_t)line.length;
    int failure = errno;
    if (fd >= 0)
        close(fd);
    text_fini(&path);
    text_fini(&line);
    errno = failure;
    return ok;
}
