/* Tests when an adapter stands for a model: its base beside it, and in no other case.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <unistd.h>

#include "console/adapters.h"
#include "formats/gguf_write.h"
#include "unit.h"

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/longleaf-adapters.XXXXXX");
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int drop_folder(void **state)
{
    (void)state;
    char command[96];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static void write_adapter(const char *name, const char *base_file)
{
    struct gguf_writer *writer = gguf_writer_new();
    struct strbuf bytes = {0};
    gguf_writer_text(writer, "general.type", "adapter");
    gguf_writer_text(writer, "general.architecture", "llama");
    gguf_writer_text(writer, "adapter.type", "lora");
    if (base_file)
        gguf_writer_text(writer, "adapter.base_file", base_file);
    gguf_writer_finish(writer, &bytes);
    assert_false(bytes.failed);
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes.text, 1, bytes.length, file), bytes.length);
    assert_int_equal(fclose(file), 0);
    strbuf_fini(&bytes);
    gguf_writer_free(writer);
}

/* Where the name leads; NULL wanted: it is refused with this fragment. */
static void expect(const char *name, const char *wanted, size_t adapters, const char *fragment)
{
    struct text path = {0}, problem = {0};
    struct adapter_list list = {0};
    text_puts(&path, name);
    bool good = adapters_resolve(&path, &list, &problem);
    assert_int_equal(good, wanted != NULL);
    if (wanted)
        assert_string_equal(text_string(&path), wanted);
    else
        assert_non_null(strstr(text_string(&problem), fragment));
    assert_int_equal(list.count, adapters);
    if (adapters)
        assert_string_equal(list.items[0].path, name);
    adapters_fini(&list);
    text_fini(&path);
    text_fini(&problem);
}

static void an_adapter_stands_for_the_base_beside_it(void **state)
{
    (void)state;
    char wanted[128], given[128];
    write_adapter("student.gguf", "base.gguf");
    write_adapter("base.gguf", NULL);
    expect("student.gguf", "base.gguf", 1, NULL);
    snprintf(given, sizeof given, "%s/student.gguf", folder);
    snprintf(wanted, sizeof wanted, "%s/base.gguf", folder);
    expect(given, wanted, 1, NULL);
}

static void an_adapter_without_its_base_is_refused_in_a_sentence(void **state)
{
    (void)state;
    write_adapter("silent.gguf", NULL);
    expect("silent.gguf", NULL, 0, "name its base with -m");
    write_adapter("alone.gguf", "absent.gguf");
    expect("alone.gguf", NULL, 0, "absent.gguf is not beside it");
    write_adapter("sly.gguf", "../base.gguf");
    expect("sly.gguf", NULL, 0, "name its base with -m");
}

static void what_is_no_adapter_stays(void **state)
{
    (void)state;
    expect("nothing.gguf", "nothing.gguf", 0, NULL);
    expect("", "", 0, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_adapter_stands_for_the_base_beside_it),
        cmocka_unit_test(an_adapter_without_its_base_is_refused_in_a_sentence),
        cmocka_unit_test(what_is_no_adapter_stays),
    };
    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
