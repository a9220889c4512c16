/* SPDX-License-Identifier: MIT */
/* Numbers for what is at addresses.
 *
 * The names are the study's, and files are read under its lock. What is where is each part's own: parts of a work are taken at the same time, one
 * may be ahead of another. Most questions are answered without the lock. */
#include "analyze/variables.h"
#include "analyze/blocks.h"
#include "analyze/sources.h"
#include "base/arena.h"
#include "image/data.h"
#include "translate/insn.h"
#include "wire/wire.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_ROOM = 512, SITES = 256, PLACES = 1024, STACK_SIZE = 8 << 20, STACK_ABOVE = 64 << 10 };

enum kind { KIND_other, KIND_static, KIND_section, KIND_heap, KIND_mapping, KIND_stack, KINDS };
static const char *const kind_names[KINDS] = {
    [KIND_other] = "other", [KIND_static] = "static", [KIND_section] = "section", [KIND_heap] = "heap", [KIND_mapping] = "mapping", [KIND_stack] = "stack"};

/* How many blocks there were, and of which sizes. */
struct sizes {
    u64 n, least, most;
};

struct variable {
    enum kind kind;
    u64 a, b;         /* what it is; of those that are known by their text: its hash */
    const char *text; /* of blocks, what comes behind their size */
    const char *type, *file;
    u32 line;
    struct sizes sizes; /* of blocks */
};

/* A file that modules are mapped from. */
struct variable_file {
    u32 number;
    char *path, *build_id;
    struct image *image;
    u64 start, end;          /* as image_span tells */
    struct image_data *data; /* NULL until it is asked for, atomic */
    bool is_known;
};

struct variables {
    pthread_mutex_t lock; /* guards all of it */
    VEC(struct variable) v;
    VEC(u32) slots; /* a hash table of them: numbers + 1 */
    VEC(struct variable_file *) files;
    struct arena texts;
    bool has_watches, has_heap;
};

/* Where a file is mapped. */
struct span {
    u64 start, end;
    u64 base; /* what addresses are more than those in the file */
    struct variable_file *file;
};

struct variable_thread {
    u32 thread;
    u64 top; /* the first stack pointer that was seen of it */
    struct allocating allocating;
};

struct cached {
    u64 a, b;
    u32 number; /* + 1; 0: free */
};

/* What is in a frame, from its CFA. */
struct local {
    s64 start, end;
    u32 number;
};

/* Of a reference: where the frame of its function is, from the stack pointer at the beginning of its unit; what of it was seen. */
struct ref_frame {
    bool is_known, has_cfa;
    s64 more;
    VEC(struct local) locals; /* ascending */
};

struct variable_part {
    struct variable_memory *memory;
    struct blocks blocks;
    struct blocks ever; /* what was allocated last, though it may be free by now */
    VEC(struct variable_thread) threads;
    size_t thread; /* whose work is being taken */
    const struct sightings *work;
    size_t next; /* of its sightings */
    u64 now;     /* the reference or instruction of it that was asked for last */
    size_t record; /* of the work's, which begins before it */
    bool by_insns;
    VEC(struct span) spans; /* in the order of time */
    size_t n_modules;
    VEC(u32) refs;              /* of the table: 0 not looked at, 1 it is not known to be on the stack, else number + 2 */
    VEC(struct ref_frame) frames;
    struct cached sites[SITES]; /* of calls */
    struct cached places[PLACES];
    u64 heap, heap_end; /* between these is what brk gave */
    bool has_heap;      /* somebody asked for something there, to the end */
    u64 changes;        /* of what is allocated */
    VEC(struct sizes) sizes; /* by number */
};

struct variable_memory {
    struct variables *variables;
    u32 process;
    const struct unit_table *table;
    const struct trace_mapped *mapped;
    struct variable_part *parts;
    u32 n_parts;
};

/* -- Numbers ------------------------------------------------------------------------------------ */

static u64 mix(u64 a, u64 b)
{
    u64 x = (a ^ b * 0x9e3779b97f4a7c15ull) * 0xff51afd7ed558ccdull;
    return x ^ x >> 32;
}

static const char *keep(struct variables *v, const char *text)
{
    if (!text)
        return NULL;
    size_t n = strlen(text) + 1;
    return memcpy(arena_alloc(&v->texts, n), text, n);
}

static u32 *slot_of(struct variables *v, enum kind kind, u64 a, u64 b, const char *text)
{
    for (u64 i = mix(a, b) + kind;; i++) {
        u32 *slot = &v->slots.v[i & (v->slots.n - 1)];
        const struct variable *x = *slot ? &v->v.v[*slot - 1] : NULL;
        if (!x || (x->kind == kind && x->a == a && x->b == b && (!text || !strcmp(x->text, text))))
            return slot;
    }
}

static void rehash(struct variables *v)
{
    size_t n = MAX(2 * v->slots.n, 1024ul);
    v->slots.n = 0;
    memset(vec_grow(&v->slots, n), 0, n * sizeof *v->slots.v);
    for (u32 i = 0; i < v->v.n; i++)
        *slot_of(v, v->v.v[i].kind, v->v.v[i].a, v->v.v[i].b, v->v.v[i].text) = i + 1;
}

/* With the lock: the number of what is this, or 0 and where it is to be entered. */
static u32 known(struct variables *v, enum kind kind, u64 a, u64 b, const char *text, u32 **slot)
{
    if (2 * (v->v.n + 1) > v->slots.n)
        rehash(v);
    *slot = slot_of(v, kind, a, b, text);
    return **slot;
}

static u32 enter(struct variables *v, u32 *slot, struct variable x)
{
    x.text = keep(v, x.text);
    x.type = keep(v, x.type);
    x.file = keep(v, x.file);
    vec_push(&v->v, x);
    *slot = (u32)v->v.n;
    return *slot - 1;
}

/* With the lock: of what is known by its text. */
static u32 number_of_text(struct variables *v, enum kind kind, const char *text)
{
    u32 *slot;
    u64 h = 0;
    for (const char *c = text; *c; c++)
        h = (h ^ (u8)*c) * 0x100000001b3ull;
    u32 number = known(v, kind, h, 1, text, &slot);
    return number ? number - 1 : enter(v, slot, (struct variable){.kind = kind, .a = h, .b = 1, .text = text});
}

struct variables *variables_new(void)
{
    struct variables *v = zeros(1, sizeof *v);
    check(pthread_mutex_init(&v->lock, NULL) == 0);
    number_of_text(v, KIND_other, "other memory"); /* VARIABLE_OTHER */
    return v;
}

void variables_free(struct variables *v)
{
    for (size_t i = 0; i < v->files.n; i++) {
        struct variable_file *f = v->files.v[i];
        image_close(f->image);
        free(f->path);
        free(f->build_id);
        free(f);
    }
    vec_fini(&v->files);
    vec_fini(&v->v);
    vec_fini(&v->slots);
    arena_fini(&v->texts);
    pthread_mutex_destroy(&v->lock);
    free(v);
}

u32 variables_count(const struct variables *v)
{
    return (u32)v->v.n;
}

/* -- Files -------------------------------------------------------------------------------------- */

static char *copy(const char *s)
{
    char *c = strdup(s);
    check(c != NULL);
    return c;
}

/* With the lock. */
static struct variable_file *file_of(struct variables *v, const struct trace_module *m)
{
    for (u32 i = 0; i < v->files.n; i++)
        if (!strcmp(v->files.v[i]->path, m->path) && !strcmp(v->files.v[i]->build_id, m->build_id))
            return v->files.v[i];
    struct variable_file *f = zeros(1, sizeof *f);
    f->number = (u32)v->files.n;
    f->path = copy(m->path);
    f->build_id = copy(m->build_id);
    f->image = image_open(f->path, f->build_id);
    f->is_known = m->path[0] == '/' && image_span(f->image, &f->start, &f->end);
    vec_push(&v->files, f);
    return f;
}

static const struct image_data *data_of(struct variables *v, struct variable_file *f)
{
    struct image_data *d = load_acquire(&f->data);
    if (d || !f->is_known)
        return d;
    pthread_mutex_lock(&v->lock);
    store_release(&f->data, image_data(f->image));
    pthread_mutex_unlock(&v->lock);
    return f->data;
}

static void add_span(struct variable_part *p, const struct trace_module *m)
{
    struct variable_file *f = file_of(p->memory->variables, m);
    struct span s = {m->start, m->end, 0, f};
    u64 address;
    if (f->is_known && image_vaddr(f->image, m->offset, &address)) {
        s.base = m->start - address;
        s.start = f->start + s.base;
        s.end = f->end + s.base;
    }
    for (size_t i = 0; i < p->spans.n; i++)
        if (p->spans.v[i].start == s.start && p->spans.v[i].end == s.end && p->spans.v[i].file == f)
            return;
    vec_push(&p->spans, s);
}

/* Take in the modules that have come since the last time. */
static void look_at_modules(struct variable_part *p)
{
    struct trace_module m[16];
    const struct trace_mapped *from = p->memory->mapped;
    for (size_t n; from && (n = from->read(from->ctx, p->n_modules, m, ARRAY_LEN(m)));) {
        pthread_mutex_lock(&p->memory->variables->lock);
        for (size_t i = 0; i < n; i++)
            add_span(p, &m[i]);
        pthread_mutex_unlock(&p->memory->variables->lock);
        p->n_modules += n;
        p->changes++;
        memset(p->sites, 0, sizeof p->sites);
        memset(p->places, 0, sizeof p->places);
    }
}

static const struct span *span_at(const struct variable_part *p, u64 address)
{
    for (size_t i = p->spans.n; i-- > 0;)
        if (address - p->spans.v[i].start < p->spans.v[i].end - p->spans.v[i].start)
            return &p->spans.v[i];
    return NULL;
}

/* -- Variables of files ------------------------------------------------------------------------- */

static u32 number_of_datum(struct variables *v, u32 file, const struct image_data *d, u32 datum, u64 place)
{
    char text[TEXT_ROOM];
    u32 *slot;
    const struct datum *x = data_get(d, datum);
    struct variable new = {.kind = x->is_section ? KIND_section : KIND_static,
                           .a = (u64)file << 32 | datum,
                           .b = place << 1,
                           .text = text,
                           .file = x->file,
                           .line = x->line};
    pthread_mutex_lock(&v->lock);
    u32 number = known(v, new.kind, new.a, new.b, NULL, &slot);
    if (!number) {
        new.type = data_name(d, datum, place, text, sizeof text);
        number = enter(v, slot, new) + 1;
    }
    pthread_mutex_unlock(&v->lock);
    return number - 1;
}

/* A cached number: *of is filled in if it is another's. */
static struct cached *cached(struct cached *in, u32 n, u64 a, u64 b)
{
    struct cached *c = &in[mix(a, b) % n];
    if (c->a != a || c->b != b)
        *c = (struct cached){.a = a, .b = b};
    return c;
}

/* What a file has at an address. */
static struct variable_stretch static_at(struct variable_part *p, u64 address)
{
    const struct span *s = span_at(p, address);
    struct variables *v = p->memory->variables;
    struct variable_stretch r = {VARIABLE_OTHER, address, address + 1, false};
    if (!s)
        return r;
    struct variable_file *f = s->file;
    const struct image_data *d = data_of(v, f);
    const s64 datum = d ? data_find(d, address - s->base) : -1;
    if (datum < 0) {
        struct cached *file = cached(p->places, PLACES, (u64)f->number << 32 | UINT32_MAX, 0);
        if (!file->number) {
            pthread_mutex_lock(&v->lock);
            file->number = number_of_text(v, KIND_section, source_name(f->path)) + 1;
            pthread_mutex_unlock(&v->lock);
        }
        r.number = file->number - 1;
        return r;
    }
    const struct datum *x = data_get(d, (u32)datum);
    u64 before, behind, place = data_place(d, (u32)datum, address - s->base - x->start, &before, &behind);
    struct cached *c = cached(p->places, PLACES, (u64)f->number << 32 | (u32)datum, place);
    if (!c->number)
        c->number = number_of_datum(v, f->number, d, (u32)datum, place) + 1;
    return (struct variable_stretch){c->number - 1, address - before, MIN(address + behind, x->end + s->base), false};
}

/* -- Blocks ------------------------------------------------------------------------------------- */

/* With the lock: where a call returns to, as people say it. */
static void print_site(const struct variable_file *f, u64 offset, const struct image_place *at, char *text)
{
    const char *file = source_name(f->path);
    if (at->function && at->file)
        snprintf(text, TEXT_ROOM, "%s at %s:%u", at->function, source_name(at->file), at->line);
    else if (at->function)
        snprintf(text, TEXT_ROOM, "%s in %s", at->function, file);
    else
        snprintf(text, TEXT_ROOM, "%s+0x%llx", file, (unsigned long long)offset);
}

/* With the lock. */
static u32 enter_site(struct variables *v, const struct span *s, u64 site, enum kind kind)
{
    char text[TEXT_ROOM];
    u32 *slot;
    const struct variable_file *f = s->file;
    struct variable x = {.kind = kind, .a = (u64)f->number << 32, .b = (site - s->base) << 1, .text = text};
    const u32 number = known(v, kind, x.a, x.b, NULL, &slot);
    if (number)
        return number - 1;
    const struct image_place at = image_place(f->image, site - s->base - 1); /* within the call */
    print_site(f, site - s->base, &at, text);
    x.file = at.file;
    x.line = at.line;
    return enter(v, slot, x);
}

static u32 number_of_site(struct variable_part *p, u64 site, enum kind kind)
{
    struct variables *v = p->memory->variables;
    const struct span *s = span_at(p, site);
    pthread_mutex_lock(&v->lock);
    const u32 number = s ? enter_site(v, s, site, kind) : number_of_text(v, kind, "code that no file has");
    pthread_mutex_unlock(&v->lock);
    return number;
}

static void count_block(struct variable_part *p, u32 number, u64 size)
{
    vec_reach(&p->sizes, number);
    struct sizes *s = &p->sizes.v[number];
    s->least = s->n ? MIN(s->least, size) : size;
    s->most = MAX(s->most, size);
    s->n++;
}

static void allocate(struct variable_part *p, const struct allocation *x)
{
    const enum kind kind = x->kind == ALLOCATION_mapping ? KIND_mapping : KIND_heap;
    struct cached *c = cached(p->sites, SITES, x->site, kind);
    if (x->old_is_mapping)
        blocks_unmap(&p->blocks, x->old, x->old_end);
    else if (x->old)
        blocks_remove(&p->blocks, x->old);
    if (!c->number)
        c->number = number_of_site(p, x->site, kind) + 1;
    const struct block b = {x->start, x->end, c->number - 1, kind == KIND_mapping};
    blocks_add(&p->blocks, b);
    blocks_add(&p->ever, b);
    count_block(p, c->number - 1, x->end - x->start);
}

static void see(struct variable_part *p, const struct sighting *s)
{
    if (s->kind == SIGHTING_brk) {
        if (!p->heap)
            p->heap = s->value[0];
        p->heap_end = s->value[0];
        p->changes++;
        return;
    }
    const struct allocation x = allocating_see(&p->threads.v[p->thread].allocating, s);
    p->changes += x.kind != ALLOCATION_none;
    if (x.kind == ALLOCATION_block || x.kind == ALLOCATION_mapping)
        allocate(p, &x);
    else if (x.kind == ALLOCATION_free)
        blocks_remove(&p->blocks, x.start);
    else if (x.kind == ALLOCATION_unmap)
        blocks_unmap(&p->blocks, x.start, x.end);
}

/* -- The stack ---------------------------------------------------------------------------------- */

/* The unit that has this reference. */
static const struct unit *unit_of(const struct unit_table *t, u32 ref)
{
    size_t from = 0, to = load_acquire(&t->units.n);
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (t->units.v[middle].ref0 <= ref)
            from = middle + 1;
        else
            to = middle;
    }
    while (from && !t->units.v[from - 1].n_refs)
        from--;
    return from ? &t->units.v[from - 1] : NULL;
}

/* The memory operand that a reference stands for, and whether it is what a push, a call or the like does to the stack; false if it is none. */
static bool operand_of(const struct unit_table *t, u32 ref, struct access *operand, u64 *pc, bool *pushes)
{
    struct access a[ACCESS_LIMIT];
    struct insn in;
    const struct unit *u = unit_of(t, ref);
    if (!u || ref - u->ref0 >= u->n_refs)
        return false;
    const u32 insn = t->refs.v[ref].insn;
    u32 first = ref;
    while (first > u->ref0 && t->refs.v[first - 1].insn == insn)
        first--;
    const struct unit_insn *x = &t->insns.v[u->insn0 + insn];
    *pc = x->pc;
    if (!insn_decode(&in, x->pc, t->code.v + x->bytes, x->len) || insn_accesses(&in, a) <= (int)(ref - first))
        return false;
    *operand = a[ref - first];
    *pushes = insn_stack_step(&in) != 0;
    return true;
}

static struct image_place place_of(const struct span *s, u64 pc)
{
    return s->file->is_known ? image_place(s->file->image, pc - s->base) : (struct image_place){0};
}

static void print_frame(const struct span *s, u64 pc, char *text)
{
    const struct image_place at = place_of(s, pc);
    if (at.function)
        snprintf(text, TEXT_ROOM, "stack of %s", at.function);
    else
        snprintf(text, TEXT_ROOM, "stack of code in %s", source_name(s->file->path));
}

/* With the lock: what an instruction reaches with an offset from a register; false if that is not known to be on the stack. */
static bool print_local(const struct span *s, u64 pc, const struct access *operand, bool pushes, char *text)
{
    struct variable_file *f = s->file;
    struct image_data *d = f->is_known ? image_data(f->image) : NULL;
    struct image_frame frame = {0};
    const bool framed = d && data_frame(d, pc - s->base, &frame);
    const u8 reg = operand->base == RSP ? 7 : 6; /* as DWARF counts */
    if (reg == 6 && (!framed || frame.reg != reg))
        return false;
    s64 start, end;
    if (pushes || !framed || frame.reg != reg ||
        !data_local(d, pc - s->base, operand->disp - frame.offset, text, TEXT_ROOM, &start, &end))
        print_frame(s, pc, text);
    return true;
}

/* The number of what a reference finds on the stack, + 2; 1 if it is not known to be there. */
static u32 look_at_ref(struct variable_part *p, u32 ref)
{
    struct variables *v = p->memory->variables;
    struct access operand;
    char text[TEXT_ROOM];
    bool pushes;
    u64 pc;
    if (!operand_of(p->memory->table, ref, &operand, &pc, &pushes) || operand.seg != TERM_NONE ||
        (operand.base != RSP && operand.base != RBP))
        return 1;
    const struct span *s = span_at(p, pc);
    u32 number = 1;
    pthread_mutex_lock(&v->lock);
    if (s && print_local(s, pc, &operand, pushes, text))
        number = number_of_text(v, KIND_stack, text) + 2;
    pthread_mutex_unlock(&v->lock);
    return number;
}

static u32 number_of_ref(struct variable_part *p, u32 ref)
{
    vec_reach(&p->refs, ref);
    if (!p->refs.v[ref])
        p->refs.v[ref] = look_at_ref(p, ref);
    return p->refs.v[ref];
}

/* How far an instruction moves the stack pointer; false if that is not known. */
static bool stack_step(const struct insn *in, s64 *step)
{
    const ZydisDecodedOperand *o = in->op;
    *step = insn_stack_step(in);
    if (*step || !(in->changes & LIVE_REG(RSP)))
        return true;
    if (o[0].type != ZYDIS_OPERAND_TYPE_REGISTER || o[0].size != 64 || insn_gpr(o[0].reg.value) != RSP)
        return false;
    switch (in->z.mnemonic) {
    case ZYDIS_MNEMONIC_ADD:
    case ZYDIS_MNEMONIC_SUB:
        *step = in->z.mnemonic == ZYDIS_MNEMONIC_ADD ? o[1].imm.value.s : -o[1].imm.value.s;
        return o[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
    case ZYDIS_MNEMONIC_LEA:
        *step = o[1].mem.disp.value;
        return insn_gpr(o[1].mem.base) == RSP && o[1].mem.index == ZYDIS_REGISTER_NONE;
    default:
        return false;
    }
}

/* How much more the CFA of the function that makes a reference is than the stack pointer at the beginning of its unit; false if that is not known. */
static bool look_at_frame(struct variable_part *p, u32 ref, s64 *more)
{
    const struct unit_table *t = p->memory->table;
    const struct unit *u = unit_of(t, ref);
    struct image_frame frame;
    struct insn in;
    s64 moved = 0, step;
    for (u32 i = 0; i < t->refs.v[ref].insn; i++) {
        const struct unit_insn *x = &t->insns.v[u->insn0 + i];
        if (!insn_decode(&in, x->pc, t->code.v + x->bytes, x->len) || !stack_step(&in, &step))
            return false;
        moved += step;
    }
    const u64 pc = t->insns.v[u->insn0 + t->refs.v[ref].insn].pc;
    const struct span *s = span_at(p, pc);
    pthread_mutex_lock(&p->memory->variables->lock);
    struct image_data *d = s && s->file->is_known ? image_data(s->file->image) : NULL;
    const bool known = d && data_frame(d, pc - s->base, &frame) && frame.reg == 7;
    pthread_mutex_unlock(&p->memory->variables->lock);
    *more = known ? moved + frame.offset : 0;
    return known;
}

/* Whether a record of the work begins before what is asked for. */
static inline bool has_begun(const struct variable_part *p, size_t record)
{
    const struct beginning *x = &p->work->records.v[record];
    return (p->by_insns ? x->insns : x->refs) <= p->now;
}

/* The stack pointer at the beginning of the unit that is being run; 0: not known. Most are asked for in order. */
static u64 rsp_now(struct variable_part *p)
{
    size_t n = p->work ? p->work->records.n : 0, from = p->record, to = n;
    if (from < n && has_begun(p, from) && (from + 1 == n || !has_begun(p, from + 1)))
        return p->work->records.v[from].rsp;
    if (from >= n || !has_begun(p, from)) {
        to = MIN(from, n);
        from = 0;
    }
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (has_begun(p, middle))
            from = middle + 1;
        else
            to = middle;
    }
    p->record = from ? from - 1 : 0;
    return from ? p->work->records.v[from - 1].rsp : 0;
}

/* The CFA of the function that makes a reference now; 0: not known. */
static u64 frame_now(struct variable_part *p, u32 ref)
{
    vec_reach(&p->frames, ref);
    struct ref_frame *f = &p->frames.v[ref];
    if (!f->is_known) {
        f->is_known = true;
        f->has_cfa = look_at_frame(p, ref, &f->more);
    }
    const u64 rsp = f->has_cfa ? rsp_now(p) : 0;
    return rsp ? rsp + (u64)f->more : 0;
}

u64 variables_frame(struct variable_part *p, u32 ref, u64 place)
{
    p->now = place;
    p->by_insns = false;
    return frame_now(p, ref);
}

/* What is there, and as far as nothing else is. */
static struct local look_at_local(struct variable_part *p, u32 ref, s64 from_cfa)
{
    struct variables *v = p->memory->variables;
    const struct unit_table *t = p->memory->table;
    const u64 pc = t->insns.v[unit_of(t, ref)->insn0 + t->refs.v[ref].insn].pc;
    const struct span *s = span_at(p, pc);
    char text[TEXT_ROOM];
    struct local x;
    pthread_mutex_lock(&v->lock);
    if (!data_local(image_data(s->file->image), pc - s->base, from_cfa, text, sizeof text, &x.start, &x.end))
        print_frame(s, pc, text);
    x.number = number_of_text(v, KIND_stack, text);
    pthread_mutex_unlock(&v->lock);
    return x;
}

static const struct local *local_of(struct variable_part *p, u32 ref, s64 from_cfa)
{
    struct ref_frame *f = &p->frames.v[ref];
    size_t from = 0, to = f->locals.n;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (f->locals.v[middle].start <= from_cfa)
            from = middle + 1;
        else
            to = middle;
    }
    if (from && from_cfa < f->locals.v[from - 1].end)
        return &f->locals.v[from - 1];
    struct local new = look_at_local(p, ref, from_cfa);
    if (from) /* in several scopes, variables may lie in one another */
        new.start = MAX(new.start, f->locals.v[from - 1].end);
    if (from < f->locals.n)
        new.end = MIN(new.end, f->locals.v[from].start);
    vec_push(&f->locals, new);
    struct local *x = &f->locals.v[from];
    memmove(x + 1, x, (f->locals.n - 1 - from) * sizeof *x);
    *x = new;
    return x;
}

/* What a reference finds in its own function's frame, through any register; false if the address is not there, nor what is above *behind. */
static bool in_frame(struct variable_part *p, u64 address, u32 ref, struct variable_stretch *r, u64 *behind)
{
    const u64 cfa = frame_now(p, ref);
    *behind = cfa;
    if (!cfa || cfa - address - 1 >= STACK_SIZE)
        return false;
    const struct local *x = local_of(p, ref, (s64)(address - cfa));
    *r = (struct variable_stretch){x->number, cfa + (u64)MAX(x->start, -STACK_SIZE), cfa + (u64)MIN(x->end, 0), true};
    return true;
}

/* The thread whose stack an address is likely to be on: that which begins next above it. */
static const struct variable_thread *stack_at(const struct variable_part *p, u64 address)
{
    const struct variable_thread *best = NULL;
    for (size_t i = 0; i < p->threads.n; i++) {
        const struct variable_thread *t = &p->threads.v[i];
        if (t->top && t->top + STACK_ABOVE > address && (!best || t->top < best->top))
            best = t;
    }
    return best && best->top - MIN(address, best->top) < STACK_SIZE ? best : NULL;
}

static u32 number_of_stack(struct variable_part *p, const struct variable_thread *t)
{
    struct variables *v = p->memory->variables;
    char text[TEXT_ROOM];
    struct cached *c = cached(p->sites, SITES, t->thread, KIND_stack);
    if (!c->number) {
        snprintf(text, sizeof text, "stack of thread %u", t->thread);
        pthread_mutex_lock(&v->lock);
        c->number = number_of_text(v, KIND_stack, text) + 1;
        pthread_mutex_unlock(&v->lock);
    }
    return c->number - 1;
}

/* -- Addresses ---------------------------------------------------------------------------------- */

static u32 number_of_heap(struct variable_part *p)
{
    struct variables *v = p->memory->variables;
    struct cached *c = cached(p->sites, SITES, 0, KIND_other);
    if (!c->number) {
        pthread_mutex_lock(&v->lock);
        c->number = number_of_text(v, KIND_other, "heap") + 1;
        pthread_mutex_unlock(&v->lock);
    }
    return c->number - 1;
}

/* The works of several threads do not come quite in the order of time: another may have freed a block too early. */
static const struct block *block_at(struct variable_part *p, u64 address)
{
    const struct block *b = blocks_find(&p->blocks, address);
    return b || p->threads.n == 1 ? b : blocks_find(&p->ever, address);
}

static bool is_heap(const struct variable_part *p, u64 address)
{
    return address >= p->heap && address < p->heap_end;
}

/* A stretch around an address ends where something else is. */
static void end_at(struct variable_stretch *r, u64 address, u64 start, u64 end)
{
    if (end <= address)
        r->start = MAX(r->start, end);
    if (start > address)
        r->end = MIN(r->end, start);
}

/* From where to where there is nothing of a file, of a stack, and if it is not the heap, of that; as long as no blocks are known. */
static struct variable_stretch nothing_around(const struct variable_part *p, u64 address, u32 number)
{
    struct variable_stretch r = {number, 0, UINT64_MAX, false};
    for (size_t i = 0; i < p->spans.n; i++)
        end_at(&r, address, p->spans.v[i].start, p->spans.v[i].end);
    for (size_t i = 0; i < p->threads.n; i++)
        if (p->threads.v[i].top)
            end_at(&r, address, p->threads.v[i].top - MIN(p->threads.v[i].top, (u64)STACK_SIZE), p->threads.v[i].top + STACK_ABOVE);
    if (is_heap(p, address)) {
        end_at(&r, address, p->heap_end, UINT64_MAX);
        end_at(&r, address, 0, p->heap);
    } else {
        end_at(&r, address, p->heap, p->heap_end);
    }
    return r;
}

static struct variable_stretch stretch_at(struct variable_part *p, u64 address, u32 ref)
{
    const u64 page = address & ~4095ull;
    const struct block *b = block_at(p, address);
    if (b && !b->is_mapping)
        return (struct variable_stretch){b->id, b->start, b->end, false};
    struct variable_stretch r = static_at(p, address);
    if (r.number != VARIABLE_OTHER)
        return r;
    const struct variable_thread *t = stack_at(p, address);
    if (t && (!b || (t->top >= b->start && t->top < b->end))) {
        u64 behind = 0;
        if (ref == VARIABLE_NO_REF || !in_frame(p, address, ref, &r, &behind))
            r = (struct variable_stretch){number_of_stack(p, t), address < behind ? address : MAX(page, behind), page + 4096, true};
    } else if (b) {
        r = (struct variable_stretch){b->id, b->start, b->end, false};
    } else {
        r.number = is_heap(p, address) ? number_of_heap(p) : VARIABLE_OTHER;
        if (!p->ever.n_grains && !p->ever.large.v.n)
            r = nothing_around(p, address, r.number);
    }
    return r;
}

struct variable_stretch variables_stretch(struct variable_part *p, u64 address, u32 ref)
{
    const u32 local = ref == VARIABLE_NO_REF ? 1 : number_of_ref(p, ref);
    return local > 1 ? (struct variable_stretch){local - 2, 0, UINT64_MAX, false} : stretch_at(p, address, ref);
}

u32 variables_at(struct variable_part *p, u64 address, u32 ref)
{
    return variables_stretch(p, address, ref).number;
}

const u64 *variables_change(const struct variable_part *p)
{
    return &p->changes;
}

bool variables_is_vague(struct variable_part *p, u32 number)
{
    return number == VARIABLE_OTHER || number == number_of_heap(p);
}

u32 variables_late(struct variable_part *p, u64 address)
{
    const struct block *b = p->threads.n > 1 ? blocks_find(&p->ever, address) : NULL;
    if (b)
        return b->id;
    p->has_heap |= is_heap(p, address);
    return is_heap(p, address) ? number_of_heap(p) : VARIABLE_OTHER;
}

void variables_until(struct variable_part *p, u64 ref)
{
    p->now = ref;
    p->by_insns = false;
    while (p->next < p->work->v.n && p->work->v.v[p->next].refs <= ref)
        see(p, &p->work->v.v[p->next++]);
}

void variables_until_insn(struct variable_part *p, u64 insn)
{
    p->now = insn;
    p->by_insns = true;
    while (p->next < p->work->v.n && p->work->v.v[p->next].insns <= insn)
        see(p, &p->work->v.v[p->next++]);
}

/* -- Works -------------------------------------------------------------------------------------- */

struct variable_memory *variables_memory(struct variables *v, u32 process, const struct unit_table *t,
                                         u32 parts)
{
    struct variable_memory *m = zeros(1, sizeof *m);
    *m = (struct variable_memory){.variables = v, .process = process, .table = t, .n_parts = parts};
    m->parts = zeros(parts, sizeof *m->parts);
    for (u32 i = 0; i < parts; i++)
        m->parts[i].memory = m;
    return m;
}

void variables_mapped(struct variable_memory *m, const struct trace_mapped *mapped)
{
    m->mapped = mapped;
}

void variables_open(struct variable_work *w, u32 thread)
{
    w->thread = thread;
    sightings_open(&w->sightings);
}

void variables_add(struct variable_work *w, const struct events *e)
{
    sightings_add(&w->sightings, e);
}

void variables_work_fini(struct variable_work *w)
{
    sightings_fini(&w->sightings);
}

struct variable_part *variables_take(struct variable_memory *m, u32 part, const struct variable_work *w)
{
    struct variable_part *p = &m->parts[part];
    look_at_modules(p);
    p->work = &w->sightings;
    p->next = p->record = 0;
    for (p->thread = 0; p->thread < p->threads.n; p->thread++)
        if (p->threads.v[p->thread].thread == w->thread)
            break;
    if (p->thread == p->threads.n)
        vec_push(&p->threads, ((struct variable_thread){.thread = w->thread}));
    struct variable_thread *t = &p->threads.v[p->thread];
    if (!t->top) {
        t->top = w->sightings.rsp;
        p->changes++;
    }
    return p;
}

struct variable_part *variables_part(struct variable_memory *m, u32 part)
{
    return &m->parts[part];
}

void variables_taken(struct variable_part *p)
{
    variables_until(p, UINT64_MAX);
    p->work = NULL;
}

/* Sizes are the same in all parts, so one is enough. */
static void add_sizes(struct variables *v, const struct variable_part *p)
{
    for (size_t i = 0; i < MIN(p->sizes.n, v->v.n); i++) {
        const struct sizes *from = &p->sizes.v[i];
        struct sizes *to = &v->v.v[i].sizes;
        if (!from->n)
            continue;
        to->least = to->n ? MIN(to->least, from->least) : from->least;
        to->most = MAX(to->most, from->most);
        to->n += from->n;
        v->has_watches = true;
    }
}

void variables_end(struct variable_memory *m)
{
    pthread_mutex_lock(&m->variables->lock);
    add_sizes(m->variables, &m->parts[0]);
    pthread_mutex_unlock(&m->variables->lock);
    for (u32 i = 0; i < m->n_parts; i++) {
        struct variable_part *p = &m->parts[i];
        m->variables->has_heap |= p->has_heap;
        blocks_fini(&p->blocks);
        blocks_fini(&p->ever);
        vec_fini(&p->threads);
        vec_fini(&p->spans);
        vec_fini(&p->refs);
        for (size_t k = 0; k < p->frames.n; k++)
            vec_fini(&p->frames.v[k].locals);
        vec_fini(&p->frames);
        vec_fini(&p->sizes);
    }
    free(m->parts);
    free(m);
}

/* -- Names -------------------------------------------------------------------------------------- */

static void print_block(const struct variable *x, char *text)
{
    const char *what = x->kind == KIND_heap ? "heap block" : "mapping";
    char size[64];
    if (x->sizes.least == x->sizes.most)
        snprintf(size, sizeof size, "%llu", (unsigned long long)x->sizes.least);
    else
        snprintf(size, sizeof size, "%llu to %llu", (unsigned long long)x->sizes.least,
                 (unsigned long long)x->sizes.most);
    snprintf(text, TEXT_ROOM, "%s%s of %s bytes from %s", what, x->sizes.n > 1 ? "s" : "", size, x->text);
}

struct variable_name variables_name(struct variables *v, u32 number)
{
    const struct variable *x = &v->v.v[number];
    char text[TEXT_ROOM];
    struct variable_name n = {x->text, kind_names[x->kind], x->type, x->file, x->line};
    if (x->kind == KIND_heap || x->kind == KIND_mapping) {
        print_block(x, text);
        n.text = keep(v, text);
    }
    return n;
}

const char *variables_trouble(const struct variables *v)
{
    return v->has_heap && !v->has_watches
               ? "where the heap's blocks were allocated was not recorded; record with --watch=alloc"
               : NULL;
}
