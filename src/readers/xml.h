/* XML of packed documents read as a stream of events by libxml2: no network, no DTD, no entities.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef READERS_XML_H
#define READERS_XML_H

#include "readers/reader.h"

struct xml; /* where the reading stands; gives attributes while `open` runs */

struct xml_handler {
    /* name: without prefix. false: the element and all in it are passed over, close is not called. */
    bool (*open)(void *user, const char *name, struct xml *xml);
    void (*close)(void *user, const char *name);
    void (*text)(void *user, const char *text, size_t length);
};

/* member: what to call the text in errors. LL_UNREADABLE for broken XML, for one that declares entities
 * and for elements nested deeper than the limits allow. */
ll_status xml_walk(const struct input *input, const char *member, const char *bytes, size_t length,
                   const struct xml_handler *handler, void *user);
/* The value of an attribute by its name without prefix, copied into ret; false when it is not there. */
bool xml_attribute(struct xml *xml, const char *name, char *ret, size_t cap);
/* The same for the attribute whose namespace holds the word `space`. */
bool xml_attribute_in(struct xml *xml, const char *name, const char *space, char *ret, size_t cap);

#endif
