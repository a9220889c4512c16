/* SPDX-License-Identifier: MIT */
/* The analyses by name. */
#include "analyze/analysis.h"

#include <string.h>

#define ANALYSIS(name, what) extern const struct analysis analysis_##name;
#include "analyze/analyses.def"
#undef ANALYSIS

const struct analysis *const analyses[] = {
#define ANALYSIS(name, what) &analysis_##name,
#include "analyze/analyses.def"
#undef ANALYSIS
    NULL,
};

const struct analysis *analysis_find(const char *name)
{
    for (u32 i = 0; analyses[i]; i++)
        if (!strcmp(analyses[i]->name, name))
            return analyses[i];
    return NULL;
}
