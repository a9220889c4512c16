/* SPDX-License-Identifier: MIT */
/* Much memory of which perhaps little is used, all zeros at first: address space only, until then. What grows long is in huge pages: by small
 * ones, a good part of the time that the units of a large program take would be the kernel's. */
#ifndef VAST_H
#define VAST_H

#include "base/base.h"

#include <stddef.h>

void *vast_new(size_t size);
/* So much of it is used, or was made ready before: let there be more soon, in one go instead of by a fault for each page. Nothing where pages are huge. */
void vast_ready(void *p, size_t size, size_t used, size_t *ready);
/* All of it is ready, but for what is in huge pages. */
void *vast_new_ready(size_t size);
void vast_free(void *p, size_t size);

#endif
