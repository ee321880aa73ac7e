/* What the parts of a packed document are called by: ids to member names.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* qsort_r */
#include "readers/relations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "readers/xml.h"

ll_status relation_add(const struct input *input, struct relation_list *list, const struct relation *relation)
{
    LL_TRY(allowance_enter(input->allowance, input->reading->name, input->error));
    if (!mem_grow((void **)&list->items, &list->capacity, list->count + 1, sizeof *list->items))
        return error_nomem(input->error, "document", list->count);
    list->items[list->count++] = *relation;
    return LL_OK;
}

static int compare_ids(const void *a, const void *b, void *user)
{
    const struct relation *items = user;
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    int order = strcmp(items[x].id, items[y].id);
    return order ? order : (x > y) - (x < y);
}

static bool set_index(struct relation_list *list)
{
    mem_free(list->by_id);
    list->by_id = mem_new(list->count, sizeof *list->by_id);
    list->indexed = list->by_id ? list->count : 0;
    for (size_t i = 0; i < list->indexed; i++)
        list->by_id[i] = i;
    if (list->indexed)
        qsort_r(list->by_id, list->indexed, sizeof *list->by_id, compare_ids, list->items);
    return list->by_id != NULL;
}

const struct relation *relation_find(struct relation_list *list, const char *id)
{
    if (list->count == 0 || (list->indexed != list->count && !set_index(list)))
        return NULL;
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(list->items[list->by_id[middle]].id, id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    const struct relation *found = low < list->count ? &list->items[list->by_id[low]] : NULL;
    return found && strcmp(found->id, id) == 0 ? found : NULL;
}

void relation_list_fini(struct relation_list *list)
{
    mem_free(list->items);
    mem_free(list->by_id);
    *list = (struct relation_list){0};
}

/* ---- names ----------------------------------------------------------------------------------- */

static size_t unescape(const char *text, char *out, size_t cap)
{
    size_t used = 0;
    for (size_t i = 0; text[i] && text[i] != '#' && used + 1 < cap; i++) {
        char pair[3] = {text[i], text[i] ? text[i + 1] : '\0', '\0'};
        if (text[i] == '%' && text[i + 1] && text[i + 2]) {
            char *end;
            pair[0] = text[i + 1];
            pair[1] = text[i + 2];
            long code = strtol(pair, &end, 16);
            if (end == pair + 2 && code > 0) {
                out[used++] = (char)code;
                i += 2;
                continue;
            }
        }
        out[used++] = text[i];
    }
    out[used] = '\0';
    return used;
}

void relation_resolve(const char *from, const char *target, char ret[RELATION_NAME])
{
    char plain[RELATION_NAME];
    unescape(target, plain, sizeof plain);
    const char *slash = strrchr(from, '/');
    size_t used = 0;
    if (plain[0] != '/' && slash)
        used = (size_t)(slash - from) < RELATION_NAME / 2 ? (size_t)(slash - from) : 0;
    memcpy(ret, from, used);
    ret[used] = '\0';
    for (const char *at = plain; *at;) {
        at += strspn(at, "/");
        size_t length = strcspn(at, "/");
        if (length == 2 && memcmp(at, "..", 2) == 0) {
            while (used > 0 && ret[--used] != '/')
                ;
        } else if (length > 0 && !(length == 1 && *at == '.') && used + length + 2 < RELATION_NAME) {
            if (used)
                ret[used++] = '/';
            memcpy(ret + used, at, length);
            used += length;
        }
        ret[used] = '\0';
        at += length;
    }
}

/* ---- .rels ----------------------------------------------------------------------------------- */

struct loading {
    const struct input *input;
    const char *part;
    struct relation_list *list;
    ll_status status;
};

static bool open_relation(void *user, const char *name, struct xml *xml)
{
    struct loading *loading = user;
    struct relation relation = {0};
    char target[RELATION_NAME], mode[16] = "";
    if (strcmp(name, "Relationship") != 0)
        return true;
    xml_attribute(xml, "TargetMode", mode, sizeof mode);
    if (strcmp(mode, "External") == 0 || !xml_attribute(xml, "Id", relation.id, sizeof relation.id) ||
        !xml_attribute(xml, "Target", target, sizeof target))
        return true;
    xml_attribute(xml, "Type", relation.type, sizeof relation.type);
    relation_resolve(loading->part, target, relation.name);
    if (loading->status == LL_OK)
        loading->status = relation_add(loading->input, loading->list, &relation);
    return true;
}

static void close_relation(void *user, const char *name)
{
    (void)user;
    (void)name;
}

static void text_relation(void *user, const char *text, size_t length)
{
    (void)user;
    (void)text;
    (void)length;
}

ll_status relations_read(const struct input *input, const struct package *package, const char *part,
                         struct relation_list *ret)
{
    static const struct xml_handler handler = {open_relation, close_relation, text_relation};
    char name[RELATION_NAME];
    const char *slash = strrchr(part, '/');
    int folder = slash ? (int)(slash - part) + 1 : 0;
    snprintf(name, sizeof name, "%.*s_rels/%s.rels", folder, part, part + folder);
    const struct package_member *member = package_find(package, name);
    struct loading loading = {input, part, ret, LL_OK};
    if (!member || member->broken)
        return LL_OK;
    LL_TRY(xml_walk(input, name, strbuf_text(&member->bytes), member->bytes.length, &handler, &loading));
    return loading.status;
}
