/* Folders: their files in sorted order, .gitignore honoured, binaries and what nobody wrote left out.
 * SPDX-License-Identifier: Apache-2.0 */
#include "readers/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "readers/ignore.h"

enum { LONGEST_RULES = 1 << 20 };

struct tree {
    struct source_call *call;
    const char *shown; /* the folder, made printable */
    struct sieve sieve;
    struct strbuf path; /* of the entry looked at, with the folder in front */
    size_t root;        /* bytes of the folder and its slash */
    ll_error *error;
};

struct names { /* zero-initialised storage is empty */
    char **items;
    size_t count, capacity;
};

static void names_fini(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        mem_free(names->items[i]);
    mem_free(names->items);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static ll_status list_names(struct tree *tree, int fd, struct names *ret)
{
    DIR *folder = fdopendir(fd);
    if (!folder) {
        close(fd);
        return error_errno(tree->error, "document", strbuf_text(&tree->path), errno);
    }
    ll_status status = LL_OK;
    for (struct dirent *entry; status == LL_OK && (entry = readdir(folder));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        status = allowance_enter(&tree->call->allowance, tree->shown, tree->error);
        char *name = status == LL_OK ? mem_copy_text(entry->d_name, strlen(entry->d_name)) : NULL;
        if (status == LL_OK &&
            (!name || !mem_grow((void **)&ret->items, &ret->capacity, ret->count + 1, sizeof *ret->items))) {
            mem_free(name);
            status = error_nomem(tree->error, "document", ret->count);
        } else if (name) {
            ret->items[ret->count++] = name;
        }
    }
    closedir(folder);
    if (ret->count)
        qsort(ret->items, ret->count, sizeof *ret->items, compare_names);
    return status;
}

/* The folder's .gitignore, if it has one that can be read. */
static bool load_rules(int fd, struct ignore *rules)
{
    int file = openat(fd, ".gitignore", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat info;
    if (file < 0)
        return true;
    bool good = true;
    char *text = fstat(file, &info) == 0 && S_ISREG(info.st_mode) && info.st_size < LONGEST_RULES
                     ? mem_new((size_t)info.st_size + 1, 1)
                     : NULL;
    ssize_t got = text ? read(file, text, (size_t)info.st_size) : -1;
    if (got > 0)
        good = ignore_load(rules, text, (size_t)got);
    mem_free(text);
    close(file);
    return good;
}

static ll_status skip(struct tree *tree, const char *reason)
{
    char name[256];
    utf8_printable(strbuf_text(&tree->path), tree->path.length, name, sizeof name);
    sieve_skip(&tree->sieve, name, reason, tree->call->notes);
    tree->call->skipped++;
    return LL_OK;
}

static ll_status read_folder(struct tree *tree, int fd, const struct ignore *above, size_t depth);

static ll_status read_entry(struct tree *tree, int folder, const char *name, const struct ignore *rules,
                            size_t depth)
{
    struct stat info;
    if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0)
        return skip(tree, strerror(errno));
    bool directory = S_ISDIR(info.st_mode);
    if (S_ISLNK(info.st_mode) || (!directory && !S_ISREG(info.st_mode))) {
        *(S_ISLNK(info.st_mode) ? &tree->sieve.links : &tree->sieve.others) += 1;
        return LL_OK;
    }
    if (directory && (strcmp(name, ".git") == 0 || strcmp(name, ".hg") == 0 || strcmp(name, ".svn") == 0))
        return LL_OK;
    if (ignore_matches(rules, strbuf_text(&tree->path) + tree->root, directory)) {
        tree->sieve.ignored++;
        return LL_OK;
    }
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &info) != 0) {
        int reason = errno;
        if (fd >= 0)
            close(fd);
        return skip(tree, strerror(reason));
    }
    if (directory && S_ISDIR(info.st_mode))
        return read_folder(tree, fd, rules, depth + 1); /* closes fd */
    ll_status status = LL_OK;
    if (S_ISREG(info.st_mode)) {
        struct source_member one = {strbuf_text(&tree->path), fd, &info, NULL, 0, &tree->sieve};
        status = source_read_member(tree->call, &one, tree->error);
    }
    close(fd);
    return status;
}

static ll_status read_entries(struct tree *tree, int fd, const struct names *names,
                              const struct ignore *rules, size_t depth)
{
    const ll_cancel *cancel = tree->call->run ? tree->call->run->cancel : NULL;
    size_t length = tree->path.length;
    for (size_t i = 0; i < names->count; i++) {
        if (cancel_requested(cancel))
            return error_set(tree->error, LL_CANCELLED, "document", "reading %s was cancelled", tree->shown);
        strbuf_puts(&tree->path, names->items[i]);
        if (tree->path.failed)
            return error_nomem(tree->error, "document", length);
        LL_TRY(read_entry(tree, fd, names->items[i], rules, depth));
        strbuf_truncate(&tree->path, length);
    }
    return LL_OK;
}

/* Closes fd. The path of the tree is that of the folder. */
static ll_status read_folder(struct tree *tree, int fd, const struct ignore *above, size_t depth)
{
    struct ignore rules = {.above = above};
    struct names names = {0};
    size_t length = tree->path.length;
    if (depth > tree->call->allowance.limits.depth) {
        close(fd);
        return skip(tree, "folders are nested too deeply");
    }
    if (length && tree->path.text[length - 1] != '/')
        strbuf_putc(&tree->path, '/');
    tree->root = tree->root ? tree->root : tree->path.length;
    rules.base = tree->path.length - tree->root;
    int listing = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    ll_status status = listing < 0               ? error_errno(tree->error, "document", tree->shown, errno)
                       : !load_rules(fd, &rules) ? error_nomem(tree->error, "document", 0)
                                                 : LL_OK;
    if (status == LL_OK)
        status = list_names(tree, listing, &names);
    else if (listing >= 0)
        close(listing);
    if (status == LL_OK)
        status = read_entries(tree, fd, &names, &rules, depth);
    strbuf_truncate(&tree->path, length);
    ignore_fini(&rules);
    names_fini(&names);
    close(fd);
    return status;
}

ll_status tree_read(struct source_call *call, int fd, const char *path, ll_error *error)
{
    char shown[256];
    struct tree tree = {.call = call, .shown = shown, .error = error};
    size_t before = call->taken;
    utf8_printable(path, strlen(path), shown, sizeof shown);
    strbuf_puts(&tree.path, path);
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    ll_status status =
        own < 0 ? error_errno(error, "document", path, errno) : read_folder(&tree, own, NULL, 0);
    sieve_report(&tree.sieve, shown, call->notes);
    strbuf_fini(&tree.path);
    if (status != LL_OK || call->taken > before)
        return status;
    char why[300];
    sieve_explain(&tree.sieve, why, sizeof why);
    return error_set(error, LL_UNREADABLE, "document", "%s holds no file that can be read%s", shown, why);
}
