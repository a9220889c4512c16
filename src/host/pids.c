/* SPDX-License-Identifier: MIT */
/* The same task under two numbers: a task in another pid namespace knows itself by another number than
 * we do. What the guest says is the task's own view. */
#include "host/process.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool pids_status(pid_t pid, const char *name, char *value, size_t room)
{
    char path[64], line[256];
    size_t n = strlen(name);
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    FILE *f = fopen(path, "re");
    while (f && !found && fgets(line, sizeof line, f))
        if (!strncmp(line, name, n) && line[n] == ':') {
            snprintf(value, room, "%s", line + n + 1 + strspn(line + n + 1, " \t"));
            value[strcspn(value, "\n")] = 0;
            found = true;
        }
    if (f)
        fclose(f);
    return found;
}

pid_t pids_seen(pid_t pid)
{
    char path[64], line[256];
    pid_t seen = pid;
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, "NSpid:", 6)) {
            const char *last = strrchr(line, '\t');
            seen = last ? (pid_t)atoi(last + 1) : pid;
            break;
        }
    if (f)
        fclose(f);
    return seen;
}

/* The children of one thread that see themselves as `seen`. */
static void add_children(pid_t tid, pid_t seen, struct pids *found)
{
    char path[64];
    int child;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", tid, tid);
    FILE *f = fopen(path, "re");
    while (f && fscanf(f, "%d", &child) == 1)
        if (pids_seen(child) == seen)
            vec_push(found, child);
    if (f)
        fclose(f);
}

void pids_find(pid_t pid, pid_t seen, struct pids *found)
{
    char path[64];
    vec_push(found, seen);
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        pid_t tid = isdigit((unsigned char)e->d_name[0]) ? (pid_t)atoi(e->d_name) : 0;
        if (!tid)
            continue;
        if (pids_seen(tid) == seen)
            vec_push(found, tid);
        add_children(tid, seen, found);
    }
    if (d)
        closedir(d);
}

pid_t pids_of_thread(const struct process *p, const struct thread *t)
{
    struct pids found = {0};
    pid_t tid = (pid_t)load_relaxed(&t->tid);
    if (p->pid != p->seen) {
        pids_find(p->pid, tid, &found);
        tid = found.n > 1 ? found.v[1] : 0;
        vec_fini(&found);
    }
    return tid;
}
