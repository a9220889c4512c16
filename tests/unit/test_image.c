/* SPDX-License-Identifier: MIT */
/* Code in a file has its function and its line; a file that is missing, another or none is told. */
#include "image/data.h"
#include "image/functions.h"
#include "image/image.h"
#include "test.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int counter;

enum { PLACE_LINE = __LINE__ + 1 };
static int the_place(void)
{
    return ++counter;
}

static int another_place(void)
{
    return --counter;
}

/* The offset in our own file of an address in our own code. */
static u64 offset_of(const void *address)
{
    unsigned long from, to, offset, wanted = (unsigned long)address;
    char line[500];
    FILE *f = fopen("/proc/self/maps", "r");
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "%lx-%lx %*s %lx", &from, &to, &offset) == 3 && wanted >= from &&
            wanted < to) {
            fclose(f);
            return wanted - from + offset;
        }
    }
    CHECK(!"the address is mapped");
    return 0;
}

static void code_has_its_function_and_line(void)
{
    struct image *m = image_open("/proc/self/exe", "");
    CHECK(!image_trouble(m));
    struct image_place p = image_find(m, offset_of(the_place));
    CHECK(p.function && !strcmp(p.function, "the_place"));
    CHECK(p.file && strstr(p.file, "tests/unit/test_image.c"));
    CHECK_CASE(p.line >= PLACE_LINE && p.line <= PLACE_LINE + 3, "it is %u", p.line);
    p = image_find(m, offset_of(another_place) + 1);
    CHECK(p.function && !strcmp(p.function, "another_place"));
    image_close(m);
}

static void what_is_no_code_has_no_place(void)
{
    struct image *m = image_open("/proc/self/exe", "");
    for (u64 offset = 1; offset; offset *= 3) {
        struct image_place p = image_find(m, 0x10000000000 + offset);
        CHECK(!p.function && !p.file && !p.line);
        if (offset > UINT64_MAX / 3)
            break;
    }
    image_close(m);
}

static bool is_in_trouble(const char *path, const char *build_id, const char *says)
{
    struct image *m = image_open(path, build_id);
    const char *trouble = image_trouble(m);
    struct image_place p = image_find(m, offset_of(the_place));
    bool good = trouble && strstr(trouble, says) && !p.function && !p.file;
    image_close(m);
    return good;
}

static void another_build_id_is_told(void)
{
    CHECK(is_in_trouble("/proc/self/exe", "00", "build id"));
    CHECK(is_in_trouble("/proc/self/exe", "0123456789abcdef0123456789abcdef01234567", "build id"));
    CHECK(is_in_trouble("/proc/self/exe", "no hexadecimal number", "build id"));
}

static void write_file(const char *path, const char *bytes, size_t n)
{
    FILE *f = fopen(path, "w");
    CHECK(f && fwrite(bytes, 1, n, f) == n);
    fclose(f);
}

static void what_is_no_image_is_told(void)
{
    char path[] = "/tmp/gait-image-XXXXXX", elf[100] = {0};
    close(mkstemp(path));
    CHECK(is_in_trouble(path, "", "no file that libdw can read"));
    write_file(path, "#!/bin/sh\n", 10);
    CHECK(is_in_trouble(path, "", "no file that libdw can read"));
    FILE *f = fopen("/proc/self/exe", "r");
    CHECK(f && fread(elf, 1, sizeof elf, f) == sizeof elf);
    fclose(f);
    write_file(path, elf, sizeof elf);
    struct image *m =
        image_open(path, ""); /* cut behind its header, it may be read, but has nothing */
    CHECK(!image_find(m, offset_of(the_place)).function);
    image_close(m);
    unlink(path);
    CHECK(is_in_trouble(path, "", "cannot be opened"));
    CHECK(mkfifo(path, 0600) == 0);
    CHECK(is_in_trouble(path, "", "cannot be opened"));
    unlink(path);
    CHECK(is_in_trouble("/tmp", "", "cannot be opened"));
    CHECK(is_in_trouble("/dev/zero", "", "cannot be opened"));
    CHECK(is_in_trouble("[vdso]", "", "cannot be opened"));
}

/* -- Data --------------------------------------------------------------------------------------- */

struct part {
    char tag;
    struct {
        short low, high;
    } range[3];
};
static volatile struct {
    int n;
    struct part parts[2][5];
    long sums[10];
} thing;

/* The name of an address of ours, and how many bytes from there on have it. */
static u64 name_of(struct image *m, const volatile void *address, char *text, size_t room)
{
    struct image_data *d = image_data(m);
    u64 code, before, behind;
    CHECK(d && image_vaddr(m, offset_of(the_place), &code));
    const u64 at = (u64)(uintptr_t)address - (u64)(uintptr_t)the_place + code;
    s64 datum = data_find(d, at);
    CHECK(datum >= 0);
    if (datum < 0)
        return 0;
    const u64 place = data_place(d, (u32)datum, at - data_get(d, (u32)datum)->start, &before, &behind);
    data_name(d, (u32)datum, place, text, room);
    return behind;
}

static void data_has_the_name_of_its_member(void)
{
    static volatile int inner[7];
    const struct {
        const volatile void *address;
        const char *name;
        u64 behind;
    } cases[] = {
        {&thing.n, "thing.n", 4},
        {(const volatile char *)&thing.n + 1, "thing.n", 3},
        {&thing.parts[1][3].tag, "thing.parts[..][..].tag", 1},
        {&thing.parts[0][4].range[2].high, "thing.parts[..][..].range[..].high", 2},
        {&thing.parts[1][0].range[1].low, "thing.parts[..][..].range[..].low", 2},
        {&thing.sums[4], "thing.sums", 48},
        {(const volatile char *)&thing.parts[1][3].tag + 1, "thing.parts[..][..]", 1}, /* nobody's */
        {&inner[2], "data_has_the_name_of_its_member::inner", 20},
        {&counter, "counter", 4},
    };
    struct image *m = image_open("/proc/self/exe", "");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[200] = "";
        u64 behind = name_of(m, cases[i].address, text, sizeof text);
        CHECK_CASE(!strcmp(text, cases[i].name), "it is %s, not %s", text, cases[i].name);
        CHECK_CASE(behind == cases[i].behind, "%s has %lu bytes", text, (unsigned long)behind);
    }
    char little[8];
    name_of(m, &thing.parts[0][0].range[0].low, little, sizeof little);
    CHECK(!strcmp(little, "thing.p"));
    image_close(m);
}

static void count_place(void *ctx, const char *name, u64 offset)
{
    u64 *found = ctx;
    if (!strcmp(name, "the_place"))
        *found = offset;
}

static void functions_are_where_they_are(void)
{
    u64 found = 0;
    image_functions("/proc/self/exe", count_place, &found);
    CHECK(found == offset_of(the_place));
    image_functions("/etc/passwd", count_place, &found);
    image_functions("/tmp", count_place, &found);
    image_functions("/nowhere", count_place, &found);
}

int main(void)
{
    data_has_the_name_of_its_member();
    functions_are_where_they_are();
    code_has_its_function_and_line();
    what_is_no_code_has_no_place();
    another_build_id_is_told();
    what_is_no_image_is_told();
    return test_end("image") + (the_place() + another_place()) % 1;
}
