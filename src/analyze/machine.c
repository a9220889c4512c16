/* SPDX-License-Identifier: MIT */
/* What the kernel tells of the first processor's caches. */
#include "analyze/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD = sizeof((struct machine_cache *)NULL)->users };

/* A word or number of its description of a cache; 0 and "" if there is none. */
static u64 read_sys(u32 index, const char *name, char text[WORD])
{
    char path[128];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%u/%s", index, name);
    FILE *f = fopen(path, "r");
    text[0] = 0;
    if (f && !fgets(text, WORD, f))
        text[0] = 0;
    if (f)
        fclose(f);
    text[strcspn(text, "\n")] = 0;
    u64 n = strtoull(text, NULL, 10);
    return strchr(text, 'K') ? n << 10 : strchr(text, 'M') ? n << 20 : n;
}

struct machine_cache machine_cache(u32 index)
{
    char type[WORD], ignored[WORD];
    read_sys(index, "type", type);
    struct machine_cache c = {.level = (u32)read_sys(index, "level", ignored),
                              .for_code = strncmp(type, "Data", 4) != 0,
                              .for_data = strncmp(type, "Instruction", 11) != 0,
                              .size = read_sys(index, "size", ignored),
                              .ways = (u32)read_sys(index, "ways_of_associativity", ignored),
                              .line = (u32)read_sys(index, "coherency_line_size", ignored)};
    read_sys(index, "shared_cpu_list", c.users);
    return c;
}
