/* SPDX-License-Identifier: MIT */
/* Who is who in the trace: every process and every thread gets its number here, and is written to the
 * file before anything of it is.
 *
 * The guest counts the threads of its pages from 0; the trace counts those of all processes. A task
 * that shares another's pages (vfork) is a process of its own in the trace. */
#include "host/process.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <x86intrin.h>

static bool is_writing(const struct run *r)
{
    return r->writer_open && !r->write_failed;
}

static u32 number_process(struct run *r, struct trace_process *x)
{
    x->began = __rdtsc();
    if (is_writing(r) && trace_write_process(&r->writer, x, &r->write_error) < 0)
        r->write_failed = true;
    x->number = r->n_processes++;
    r->result->stats.untraced += x->untraced != TRACE_UNTRACED_no;
    return x->number;
}

u32 tracks_process(struct run *r, struct trace_process *x)
{
    pthread_mutex_lock(&r->writer_lock);
    x->memory = r->n_processes;
    u32 n = number_process(r, x);
    pthread_mutex_unlock(&r->writer_lock);
    return n;
}

void tracks_end(struct run *r, u32 number, u32 ending, u32 status)
{
    struct trace_process x = {
        .number = number, .ending = ending, .status = status, .ended = __rdtsc()};
    pthread_mutex_lock(&r->writer_lock);
    if (is_writing(r) && trace_write_end(&r->writer, &x, &r->write_error) < 0)
        r->write_failed = true;
    pthread_mutex_unlock(&r->writer_lock);
}

/* -- Names -------------------------------------------------------------------------------------- */

/* Read all of a small file of /proc, and a zero behind it; what cannot be read is empty. */
static char *slurp(const char *path, size_t *size)
{
    VEC(char) b = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    for (ssize_t n = 1; fd >= 0 && n > 0;) {
        char *room = vec_grow(&b, 4096);
        n = read(fd, room, 4096);
        b.n -= 4096 - (size_t)MAX(n, 0);
    }
    if (fd >= 0)
        close(fd);
    *size = b.n;
    vec_push(&b, 0);
    return b.v;
}

/* Pointers to the strings of a command line as /proc gives it. */
static char **split(char *text, size_t size)
{
    VEC(char *) v = {0};
    for (size_t at = 0; at < size; at += strlen(text + at) + 1)
        vec_push(&v, text + at);
    vec_push(&v, NULL);
    return v.v;
}

u32 tracks_image(struct run *r, struct trace_process *x, pid_t pid)
{
    char path[64], exe[PATH_MAX] = "";
    size_t size;
    x->pid = (u32)pids_seen(pid);
    snprintf(path, sizeof path, "/proc/%d/exe", pid);
    if (readlink(path, exe, sizeof exe - 1) < 0)
        exe[0] = 0;
    snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
    char *line = slurp(path, &size);
    x->path = exe;
    x->argv = split(line, size);
    u32 n = tracks_process(r, x);
    free(x->argv);
    free(line);
    x->path = NULL;
    x->argv = NULL;
    return n;
}

/* -- Threads ------------------------------------------------------------------------------------ */

static u32 find_sharer(struct process *p, pid_t pid)
{
    for (size_t i = 0; i < p->sharers.n; i++)
        if (p->sharers.v[i].pid == pid)
            return p->sharers.v[i].number;
    struct trace_process x = {
        .pid = (u32)pid, .from = p->number, .how = TRACE_BY_vfork, .memory = p->number};
    struct sharer s = {pid, number_process(p->run, &x)};
    vec_push(&p->sharers, s);
    return s.number;
}

u32 tracks_sharer(struct process *p, pid_t pid)
{
    pthread_mutex_lock(&p->run->writer_lock);
    u32 n = find_sharer(p, pid);
    pthread_mutex_unlock(&p->run->writer_lock);
    return n;
}

static void read_name(u32 tid, char *name, size_t room)
{
    char path[64];
    ssize_t n = -1;
    snprintf(path, sizeof path, "/proc/%u/comm", tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        n = read(fd, name, room - 1);
        close(fd);
    }
    name[MAX(n, 0)] = 0;
    name[strcspn(name, "\n")] = 0;
}

struct track *tracks_thread(struct process *p, u32 local, u32 tid, u32 pid)
{
    struct run *r = p->run;
    /* The number comes out of pages that the program can write. */
    if (local >= TRACE_NUMBER_LIMIT) {
        err_set(&r->write_error, "the program says that it has a thread number %u", local);
        return NULL;
    }
    while (p->tracks.n <= local)
        vec_push(&p->tracks, (struct track){0});
    if (!p->tracks.v[local].known) {
        char name[32];
        read_name(tid, name, sizeof name);
        struct trace_thread x = {.process = find_sharer(p, (pid_t)pid), .tid = tid, .name = name};
        if (is_writing(r) && trace_write_thread(&r->writer, &x, &r->write_error) < 0)
            return NULL;
        p->tracks.v[local] =
            (struct track){.known = true, .thread = r->n_threads++, .process = x.process};
    }
    return &p->tracks.v[local];
}
