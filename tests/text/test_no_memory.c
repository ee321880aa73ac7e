/* Refused memory at every allocation of the text room: LL_NOMEM, nothing half done, nothing lost.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The linker sends mem_new and mem_grow here (--wrap); the one whose turn it is refuses. */
#include "text/vectors.h"

#include "text/chat.h"
#include "text/stream.h"

void *__real_mem_new(size_t count, size_t size);
bool __real_mem_grow(void **items, size_t *capacity, size_t need, size_t size);
void *__wrap_mem_new(size_t count, size_t size);
bool __wrap_mem_grow(void **items, size_t *capacity, size_t need, size_t size);

static long until_refusal = -1; /* allocations still granted; -1: all */

static bool refused(void)
{
    if (until_refusal < 0)
        return false;
    return until_refusal-- == 0;
}

void *__wrap_mem_new(size_t count, size_t size)
{
    return refused() ? NULL : __real_mem_new(count, size);
}

bool __wrap_mem_grow(void **items, size_t *capacity, size_t need, size_t size)
{
    if (need > *capacity && refused())
        return false;
    return __real_mem_grow(items, capacity, need, size);
}

/* Opens, encodes with every flag and renders; true once nothing was refused. */
static bool survives(const struct gguf *gguf, long granted, unsigned flags)
{
    static const char text[] = "It's <tag> 12 e\xCC\x81 \xFF <|im_end|>  \n"
                               "________________________________________________________________________";
    struct tokenizer *tokenizer = NULL;
    struct token_list ids = {0};
    ll_error error = {.status = LL_OK};
    until_refusal = granted;
    ll_status status = tokenizer_open(gguf, &tokenizer, &error);
    if (status == LL_OK)
        status = tokenizer_encode(tokenizer, text, sizeof text - 1, flags, &ids, &error);
    bool untouched = until_refusal >= 0;
    until_refusal = -1;
    assert_int_equal(status, untouched ? LL_OK : LL_NOMEM);
    assert_int_equal(error.status, status);
    if (status != LL_OK)
        assert_int_equal(ids.count, 0);
    token_list_fini(&ids);
    tokenizer_close(tokenizer);
    return untouched;
}

static void check_file(const char *name)
{
    struct strbuf bytes = vectors_bytes(name);
    struct gguf *gguf;
    assert_int_equal(gguf_open_memory(bytes.text, bytes.length, &gguf, NULL), LL_OK);
    for (unsigned flags = 0; flags < 4; flags++) {
        long granted = 0;
        while (!survives(gguf, granted, flags))
            granted++;
        assert_true(granted > 8);
    }
    gguf_close(gguf);
    strbuf_fini(&bytes);
}

static void byte_level_tokenizers_report_refused_memory(void **state)
{
    (void)state;
    check_file("bpe.gguf");
}

static void sentencepiece_tokenizers_report_refused_memory(void **state)
{
    (void)state;
    check_file("spm-bytes.gguf");
    check_file("spm-unknown.gguf");
    check_file("spm-across.gguf");
    check_file("unigram-bytes.gguf");
    check_file("unigram-table.gguf");
}

static void chats_report_refused_memory(void **state)
{
    (void)state;
    struct strbuf bytes = vectors_bytes("bpe.gguf");
    struct gguf *gguf;
    struct tokenizer *tokenizer;
    static const char template[] = "{% for m in messages %}<|im_start|>{{ m.role + '\n' + m.content | trim }}"
                                   "<|im_end|>{% endfor %}{{ messages | tojson }}";
    ll_message messages[] = {{"user", "hello", 5}, {"assistant", "yes", 3}};
    assert_int_equal(gguf_open_memory(bytes.text, bytes.length, &gguf, NULL), LL_OK);
    assert_int_equal(tokenizer_open(gguf, &tokenizer, NULL), LL_OK);
    for (bool done = false; !done;) {
        static long granted;
        struct token_list ids = {0};
        struct strbuf text = {0};
        until_refusal = granted++;
        struct chat chat = {.name = "chatml"};
        ll_status encoded = template_open(template, strlen(template), &chat.template, NULL);
        ll_status rendered = encoded;
        if (encoded == LL_OK) {
            encoded = chat_encode(&chat, tokenizer, messages, 2, true, &ids, NULL);
            rendered = chat_render(&chat, messages, 2, true, &text, NULL);
        }
        done = until_refusal >= 0;
        until_refusal = -1;
        assert_true(done ? encoded == LL_OK && rendered == LL_OK
                         : encoded == LL_NOMEM || rendered == LL_NOMEM);
        assert_true(encoded == LL_OK ? ids.count > 0 : ids.count == 0);
        token_list_fini(&ids);
        strbuf_fini(&text);
        chat_close(&chat);
    }
    tokenizer_close(tokenizer);
    gguf_close(gguf);
    strbuf_fini(&bytes);
}

static void a_stream_without_memory_says_so(void **state)
{
    (void)state;
    static const char *const stop[] = {"end"};
    struct text_stream stream;
    text_stream_init(&stream, stop, 1);
    until_refusal = 0;
    text_stream_push(&stream, "hello", 5);
    until_refusal = -1;
    assert_true(stream.held.failed || stream.out.failed);
    text_stream_finish(&stream);
    text_stream_fini(&stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(byte_level_tokenizers_report_refused_memory),
        cmocka_unit_test(sentencepiece_tokenizers_report_refused_memory),
        cmocka_unit_test(chats_report_refused_memory),
        cmocka_unit_test(a_stream_without_memory_says_so),
    };
    return cmocka_run_group_tests_name("text without memory", tests, NULL, NULL);
}
