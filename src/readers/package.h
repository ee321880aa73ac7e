/* Members of an archive in memory, inflated within the allowance of the call.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Declared sizes are never trusted: each member is inflated block by block until it or the allowance
 * ends. Encrypted members are refused by name. */
#ifndef READERS_PACKAGE_H
#define READERS_PACKAGE_H

#include "base/strbuf.h"
#include "readers/reader.h"

struct package_member {
    char *name;
    struct strbuf bytes;
    bool broken;  /* its bytes could not be inflated; why stands in complaint */
    bool used;    /* set by whoever reads each member once */
    size_t place; /* in the file */
    char complaint[120];
};

struct package { /* zero-initialised storage is empty */
    struct package_member *members;
    size_t count, capacity;
};

/* Whether a member is wanted; user as given. */
typedef bool (*package_wants_fn)(void *user, const char *name);

/* Loads the wanted members of a ZIP file. */
ll_status package_load(const struct input *input, package_wants_fn wants, void *user, struct package *ret);
/* Calls visit for every member of any archive that libarchive knows (zip, tar, compressed), one after
 * another; a member larger than the limit comes with broken set. visit may take the bytes. */
typedef ll_status (*package_visit_fn)(void *user, struct package_member *member);
ll_status package_walk(const struct input *input, package_wants_fn wants, package_visit_fn visit, void *user);
/* What the ZIP file is, told by its members: DOCX, ODT, EPUB, PPTX, KIND_ARCHIVE, or KIND_OTHER (a format
 * that cannot be read, named in *ret_name). */
ll_status package_kind(const struct input *input, enum kind *ret, const char **ret_name);
/* Of several with one name the first; package_load has put the members in the order of their names. */
struct package_member *package_find(const struct package *package, const char *name);
void package_fini(struct package *package);

#endif
