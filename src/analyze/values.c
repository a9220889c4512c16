/* SPDX-License-Identifier: MIT */
/* Texts to numbers. */
#include "analyze/values.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

bool value_size(const char **text, u64 *size)
{
    static const char units[] = "KMG";
    char *end;
    if (!isdigit((unsigned char)**text))
        return false;
    *size = strtoull(*text, &end, 10);
    const char *unit = *end ? strchr(units, *end) : NULL;
    u32 shift = unit ? 10 * (u32)(unit - units + 1) : 0;
    bool fits = *size <= UINT64_MAX >> 16 >> shift;
    *size <<= shift;
    *text = end + (unit ? 1 : 0);
    return fits;
}

bool value_power_of_two(const char *text, u64 *n)
{
    return value_size(&text, n) && !*text && *n && !(*n & (*n - 1));
}

int value_accessed(enum accessed *of, const char *text, struct err *e)
{
    static const char *const words[] = {
        [ACCESSED_data] = "data", [ACCESSED_code] = "code", [ACCESSED_both] = "both"};
    for (u32 i = ACCESSED_data; i <= ACCESSED_both; i++)
        if (!strcmp(words[i], text)) {
            *of = i;
            return 0;
        }
    return err_set(e, "is one of data, code, both, not %s", text);
}
