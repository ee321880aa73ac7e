/* Runs a fuzz harness without libFuzzer: all its seeds, then mutations of them; speaks TAP.
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: fuzz_NOUN [FILE…]   Without files: the seeds under tests/fuzz/corpus/NOUN of $top_srcdir.
 * LL_FUZZ_ROUNDS (3000; twenty times that with LL_LONG) is the number of mutations, LL_FUZZ_SEED makes a
 * run repeatable. The input that brings the harness down is left as fuzz-NOUN.crash. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fuzz/fuzz.h"

enum { MAX_SEEDS = 512, MAX_BYTES = 1 << 20, MAX_EDITS = 8 };

struct input {
    uint8_t *bytes;
    size_t size;
};

static struct input seeds[MAX_SEEDS];
static size_t seed_count;
static struct input current; /* what the handler of a crash writes down */
static char crash_path[256];
static uint64_t random_state;

static uint64_t random_next(void) /* splitmix64 */
{
    uint64_t z = random_state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static size_t random_below(size_t limit)
{
    return limit ? (size_t)(random_next() % limit) : 0;
}

static void write_crash(int signal_number)
{
    int fd = open(crash_path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd >= 0) {
        ssize_t wrote = write(fd, current.bytes, current.size);
        (void)wrote;
        close(fd);
    }
    static const char text[] = "# the harness fell; its input is in fuzz-NOUN.crash\n";
    ssize_t wrote = write(STDOUT_FILENO, text, sizeof text - 1);
    (void)wrote;
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void watch_for_crashes(void)
{
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM};
    for (size_t i = 0; i < sizeof fatal / sizeof fatal[0]; i++)
        signal(fatal[i], write_crash);
}

/* The harness gets an allocation of exactly the input's size, so that a sanitizer sees one byte too far.
 * A run of more than 20 s counts as a fall. */
static void feed(const uint8_t *bytes, size_t size)
{
    current.bytes = malloc(size ? size : 1);
    if (!current.bytes)
        abort();
    if (size)
        memcpy(current.bytes, bytes, size);
    current.size = size;
    alarm(20);
    LLVMFuzzerTestOneInput(current.bytes, size);
    alarm(0);
    free(current.bytes);
    current = (struct input){0};
}

static int read_seed(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file || seed_count == MAX_SEEDS) {
        if (file)
            fclose(file);
        return 0;
    }
    struct input *seed = &seeds[seed_count];
    seed->bytes = malloc(MAX_BYTES);
    seed->size = seed->bytes ? fread(seed->bytes, 1, MAX_BYTES, file) : 0;
    fclose(file);
    seed_count += seed->bytes != NULL;
    return seed->bytes != NULL;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void read_folder(const char *folder)
{
    struct dirent **names;
    int count = scandir(folder, &names, NULL, by_name);
    for (int i = 0; i < count; i++) {
        char path[8192];
        int length = snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
        if (names[i]->d_name[0] != '.' && length > 0 && (size_t)length < sizeof path)
            read_seed(path);
        free(names[i]);
    }
    if (count >= 0)
        free(names);
}

/* Numbers that parsers trip over, written little-endian over any place. */
static void write_number(uint8_t *bytes, size_t size)
{
    static const uint64_t hard[] = {0,
                                    1,
                                    0x7F,
                                    0x80,
                                    0xFF,
                                    0x7FFF,
                                    0xFFFF,
                                    0x7FFFFFFF,
                                    0x80000000u,
                                    0xFFFFFFFFu,
                                    0x7FFFFFFFFFFFFFFFu,
                                    0x8000000000000000u,
                                    0xFFFFFFFFFFFFFFFFu,
                                    0x4000000000000001u};
    uint64_t value = hard[random_below(sizeof hard / sizeof hard[0])];
    size_t width = (size_t)1 << random_below(4);
    if (width > size)
        return;
    memcpy(bytes + random_below(size - width + 1), &value, width);
}

static size_t move_range(uint8_t *bytes, size_t size)
{
    size_t from = random_below(size), length = random_below(size - from) + 1,
           to = random_below(size - length + 1);
    memmove(bytes + to, bytes + from, length);
    return size;
}

static size_t cut_range(uint8_t *bytes, size_t size)
{
    size_t from = random_below(size), length = random_below(size - from) + 1;
    memmove(bytes + from, bytes + from + length, size - from - length);
    return size - length;
}

static size_t insert_range(uint8_t *bytes, size_t size)
{
    size_t length = random_below(32) + 1, at = random_below(size + 1);
    if (size + length > MAX_BYTES)
        return size;
    memmove(bytes + at + length, bytes + at, size - at);
    for (size_t i = 0; i < length; i++)
        bytes[at + i] = (uint8_t)random_next();
    return size + length;
}

static size_t blend(uint8_t *bytes, size_t size)
{
    const struct input *other = &seeds[random_below(seed_count)];
    size_t from = random_below(other->size), length = random_below(other->size - from + 1);
    size_t at = random_below(size + 1);
    if (at + length > MAX_BYTES)
        return size;
    memcpy(bytes + at, other->bytes + from, length);
    return at + length > size ? at + length : size;
}

static size_t edit(uint8_t *bytes, size_t size)
{
    unsigned kind = (unsigned)random_below(size ? 8 : 2);
    switch (kind) {
    case 0:
        return insert_range(bytes, size);
    case 1:
        return blend(bytes, size);
    case 2:
        bytes[random_below(size)] ^= (uint8_t)(1u << random_below(8));
        return size;
    case 3:
        bytes[random_below(size)] = (uint8_t)random_next();
        return size;
    case 4:
        return random_below(size + 1);
    case 5:
        return cut_range(bytes, size);
    case 6:
        return move_range(bytes, size);
    default:
        write_number(bytes, size);
        return size;
    }
}

static void mutate_rounds(long rounds)
{
    uint8_t *bytes = malloc(MAX_BYTES);
    if (!bytes)
        abort();
    for (long round = 0; round < rounds; round++) {
        const struct input *seed = &seeds[random_below(seed_count)];
        size_t size = seed->size;
        if (size)
            memcpy(bytes, seed->bytes, size);
        for (size_t edits = random_below(MAX_EDITS) + 1; edits > 0; edits--)
            size = edit(bytes, size);
        feed(bytes, size);
    }
    free(bytes);
}

static long number_from(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtol(text, NULL, 10) : otherwise;
}

static const char *noun_of(char *program)
{
    const char *name = basename(program), *noun = strstr(name, "fuzz_");
    return noun ? noun + strlen("fuzz_") : name;
}

int main(int argc, char **argv)
{
    const char *noun = noun_of(argv[0]), *top = getenv("top_srcdir");
    snprintf(crash_path, sizeof crash_path, "fuzz-%s.crash", noun);
    for (int i = 1; i < argc; i++)
        read_seed(argv[i]);
    if (argc == 1) {
        char folder[4096];
        snprintf(folder, sizeof folder, "%s/tests/fuzz/corpus/%s", top ? top : ".", noun);
        read_folder(folder);
    }
    long rounds = number_from("LL_FUZZ_ROUNDS", getenv("LL_LONG") ? 60000 : 3000);
    random_state = (uint64_t)number_from("LL_FUZZ_SEED", (long)time(NULL));
    printf("1..2\n# LL_FUZZ_SEED=%llu\n", (unsigned long long)random_state);
    fflush(stdout);
    watch_for_crashes();
    for (size_t i = 0; i < seed_count; i++)
        feed(seeds[i].bytes, seeds[i].size);
    printf("%sok 1 - the %s harness stands on its %zu seeds\n", seed_count ? "" : "not ", noun, seed_count);
    fflush(stdout);
    if (seed_count == 0)
        return 1;
    mutate_rounds(rounds);
    printf("ok 2 - the %s harness stands on %ld mutations of its seeds\n", noun, rounds);
    for (size_t i = 0; i < seed_count; i++)
        free(seeds[i].bytes);
    return 0;
}
