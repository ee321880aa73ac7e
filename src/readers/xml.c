/* XML of packed documents read as a stream of events by libxml2: no network, no DTD, no entities.
 * SPDX-License-Identifier: Apache-2.0 */
#include "readers/xml.h"

#include <libxml/xmlreader.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

enum { DEEPEST = 250 /* libxml2 itself stops at 256 */, CHECK_EVERY = 4096 };

struct xml {
    xmlTextReader *reader;
    char *reason;
    size_t reason_cap;
};

bool xml_attribute_in(struct xml *xml, const char *name, const char *space, char *ret, size_t cap)
{
    bool found = false;
    while (!found && xmlTextReaderMoveToNextAttribute(xml->reader) == 1) {
        const xmlChar *local = xmlTextReaderConstLocalName(xml->reader);
        const xmlChar *value = xmlTextReaderConstValue(xml->reader);
        const char *uri = (const char *)xmlTextReaderConstNamespaceUri(xml->reader);
        found = local && value && strcmp((const char *)local, name) == 0 &&
                (!space || (uri && strstr(uri, space)));
        if (found)
            snprintf(ret, cap, "%s", (const char *)value);
    }
    xmlTextReaderMoveToElement(xml->reader);
    return found;
}

bool xml_attribute(struct xml *xml, const char *name, char *ret, size_t cap)
{
    return xml_attribute_in(xml, name, NULL, ret, cap);
}

static void keep_reason(void *user, const xmlError *error)
{
    struct xml *xml = user;
    if (xml->reason[0] || !error || !error->message || error->level < XML_ERR_ERROR)
        return;
    snprintf(xml->reason, xml->reason_cap, "line %d: %s", error->line, error->message);
    xml->reason[strcspn(xml->reason, "\n")] = '\0';
}

static void on_error(void *user, xmlErrorPtr error)
{
    keep_reason(user, error);
}

/* Packed documents need no entities of their own; whoever declares some is up to something. The zero bytes
 * of UTF-16 are passed over. */
static bool declares_entities(const char *bytes, size_t length)
{
    static const char sign[] = "<!ENTITY";
    size_t met = 0;
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] == '\0')
            continue;
        met = bytes[i] == sign[met] ? met + 1 : bytes[i] == sign[0];
        if (met == sizeof sign - 1)
            return true;
    }
    return false;
}

static ll_status walk(const struct input *input, struct xml *xml, const struct xml_handler *handler,
                      void *user, int *ret_end)
{
    size_t events = 0;
    int got = xmlTextReaderRead(xml->reader);
    while (got == 1) {
        if (++events % CHECK_EVERY == 0)
            LL_TRY(input_check(input));
        int type = xmlTextReaderNodeType(xml->reader);
        const char *name = (const char *)xmlTextReaderConstLocalName(xml->reader);
        bool passed = false;
        if (xmlTextReaderDepth(xml->reader) > DEEPEST) {
            got = -1;
            break;
        }
        if (type == XML_READER_TYPE_ELEMENT) {
            bool empty = xmlTextReaderIsEmptyElement(xml->reader) == 1;
            passed = !handler->open(user, name, xml);
            if (!passed && empty)
                handler->close(user, name);
        } else if (type == XML_READER_TYPE_END_ELEMENT) {
            handler->close(user, name);
        } else if (type == XML_READER_TYPE_TEXT || type == XML_READER_TYPE_CDATA ||
                   type == XML_READER_TYPE_SIGNIFICANT_WHITESPACE) {
            const char *value = (const char *)xmlTextReaderConstValue(xml->reader);
            if (value)
                handler->text(user, value, strlen(value));
        }
        got = passed ? xmlTextReaderNext(xml->reader) : xmlTextReaderRead(xml->reader);
    }
    *ret_end = got;
    return LL_OK;
}

ll_status xml_walk(const struct input *input, const char *member, const char *bytes, size_t length,
                   const struct xml_handler *handler, void *user)
{
    char reason[160] = "";
    const char *name = input->reading->name;
    int end = 0;
    if (declares_entities(bytes, length))
        return error_set(input->error, LL_UNREADABLE, "xml",
                         "%s: %s declares entities of its own, which documents of this kind never need", name,
                         member);
    if (length > INT32_MAX)
        return error_set(input->error, LL_UNSUPPORTED, "xml", "%s: %s is larger than 2 GiB", name, member);
    struct xml xml = {NULL, reason, sizeof reason};
    xml.reader =
        xmlReaderForMemory(bytes, (int)length, NULL, NULL,
                           XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING | XML_PARSE_COMPACT);
    if (!xml.reader)
        return error_nomem(input->error, "xml", length);
    /* Faults of the encoding go past the reader's handler to this thread's, which would print them. */
    xmlStructuredErrorFunc before = xmlStructuredError;
    void *before_user = xmlStructuredErrorContext;
    xmlSetStructuredErrorFunc(&xml, on_error);
    xmlTextReaderSetStructuredErrorHandler(xml.reader, on_error, &xml);
    ll_status status = walk(input, &xml, handler, user, &end);
    xmlFreeTextReader(xml.reader);
    xmlSetStructuredErrorFunc(before_user, before);
    if (status == LL_OK && end != 0)
        return error_set(input->error, LL_UNREADABLE, "xml", "%s: %s is damaged (%s)", name, member,
                         reason[0] ? reason : "elements nested too deeply");
    return status;
}
