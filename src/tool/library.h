/* SPDX-License-Identifier: MIT */
/* What is behind the names of gait.h. Private to this room. */
#ifndef LIBRARY_H
#define LIBRARY_H

#include "analyze/result.h"
#include "tool/names.h"

struct gait_result {
    struct result result;
    struct names names;
};

#endif
