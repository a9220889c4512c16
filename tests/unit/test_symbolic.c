/* SPDX-License-Identifier: MIT */
/* What symbolic execution calls known is what the processor computes; and it knows what it should.
 *
 * The second half needs no table of instructions: random ones are executed, one at a time, by the processor itself. */
#include "translate/symbolic.h"
#include "base/err.h"
#include "test.h"
#include "wire/wire.h"

#include <string.h>
#include <sys/mman.h>

#define CODE(name, text)                                                                           \
    extern const u8 code_##name[] __attribute__((visibility("hidden")));                           \
    extern const u8 code_##name##_end[] __attribute__((visibility("hidden")));                     \
    __asm__(".pushsection .rodata\n.intel_syntax noprefix\ncode_" #name ":\n" text                 \
            "\ncode_" #name "_end:\n.byte 0\n.att_syntax\n.popsection\n");

#define PC 0x555560000000ul

/* Apply all instructions of some code. */
static void steps(struct values *v, const u8 *code, const u8 *end)
{
    struct insn in;
    for (u64 pc = PC; code < end; pc += in.len, code += in.len) {
        check(insn_decode(&in, pc, code, (size_t)(end - code)));
        values_step(v, &in);
    }
}
#define STEPS(v, name) steps(v, code_##name, code_##name##_end)

/* Every register stored in the slot of its number; rsp as it was at entry. */
static void all_stored(struct values *v)
{
    values_enter(v);
    for (u8 r = 0; r < 16; r++)
        if (r != RSP)
            values_stored(v, r, r);
}

static bool is(const struct values *v, u8 reg, u8 term, s64 c)
{
    const struct value *x = &v->reg[reg];
    return x->known && x->a == term && x->b == TERM_NONE && x->c == c;
}

static bool is_sum(const struct values *v, u8 reg, u8 a, u8 b, u8 shift, s64 c)
{
    const struct value *x = &v->reg[reg];
    return x->known && x->a == a && x->b == b && x->shift == shift && x->c == c;
}

/* -- What is known ---------------------------------------------------------------------------- */

static void at_entry_only_rsp_is_known(void)
{
    struct values v;
    memset(&v, 0xff, sizeof v);
    values_enter(&v);
    for (u8 r = 0; r < 16; r++)
        CHECK(v.reg[r].known == (r == RSP));
    CHECK(is(&v, RSP, TERM_RSP, 0));
}

static void a_stored_register_is_its_slot(void)
{
    struct values v;
    values_enter(&v);
    values_stored(&v, RBX, 17);
    CHECK(is(&v, RBX, 17, 0) && !v.reg[RCX].known);
    values_stored(&v, RSP, 18);
    CHECK(is(&v, RSP, 18, 0));
}

CODE(mov, "mov rax, rbx; mov ecx, edx; mov si, di; mov r8b, r9b; mov r10, 0xfffffffffffffffe; mov r12d, 0xfffffffe\n"
          "mov r13w, 5; mov r14b, 5; movabs r15, 0x123456789abcdef; mov r11, rsp; mov rbp, [rbx]")
static void moves_of_whole_registers_are_known(void)
{
    struct values v;
    all_stored(&v);
    STEPS(&v, mov);
    CHECK(is(&v, RAX, RBX, 0) && is(&v, RBX, RBX, 0));
    CHECK(!v.reg[RCX].known && !v.reg[RSI].known && !v.reg[R8].known);
    CHECK(is(&v, R10, TERM_NONE, -2) && is(&v, R12, TERM_NONE, 0xfffffffe));
    CHECK(!v.reg[R13].known && !v.reg[R14].known && is(&v, R15, TERM_NONE, 0x123456789abcdef));
    CHECK(is(&v, R11, TERM_RSP, 0) && !v.reg[RBP].known);
}

CODE(arith, "add rax, 5; add rax, -7; sub rcx, 100000; sub rcx, -128; inc rdx; dec rbx; add esi, 1; inc edi; add r8, r9\n"
            "sub r10, r12; add r13, [rax]; dec r14b; adc r15, 1")
static void adding_a_constant_is_known(void)
{
    struct values v;
    all_stored(&v);
    STEPS(&v, arith);
    CHECK(is(&v, RAX, RAX, -2) && is(&v, RCX, RCX, -100000 + 128) && is(&v, RDX, RDX, 1) && is(&v, RBX, RBX, -1));
    for (u8 r = RSI; r <= R15; r++)
        CHECK_CASE(v.reg[r].known == (r == R9 || r == R11 || r == R12), "register %u", r);
}

CODE(wrap, "movabs rax, 0x7fffffffffffffff; inc rax; lea rcx, [rax * 8 + 0x10]; movabs rdx, 0x8000000000000000\n"
           "sub rdx, -0x80000000; dec rdx")
static void constants_wrap_at_64_bits(void)
{
    struct values v;
    values_enter(&v);
    STEPS(&v, wrap);
    CHECK(is(&v, RAX, TERM_NONE, INT64_MIN) && is(&v, RCX, TERM_NONE, 0x10));
    CHECK(is(&v, RDX, TERM_NONE, (s64)(0x8000000000000000ul + 0x7ffffffful)));
}

CODE(clear, "xor eax, eax; sub rcx, rcx; xor rdx, rdx; sub ebx, ebx; xor si, si; sub dil, dil; xor r8, r9; sub r10d, r11d\n"
            "sbb r12, r12; pxor xmm0, xmm0; xor r13b, r13b")
static void clearing_is_known(void)
{
    struct values v;
    values_enter(&v);
    STEPS(&v, clear);
    for (u8 r = 0; r < 16; r++)
        if (r != RSP)
            CHECK_CASE(v.reg[r].known == (r <= RBX), "register %u", r);
    for (u8 r = 0; r <= RBX; r++)
        CHECK(is(&v, r, TERM_NONE, 0));
}

CODE(lea, "lea rax, [rbx + 8]; lea rcx, [rbx + rdx * 4 - 1]; lea rsi, [rdi * 8 + 0x100]; lea r8, [rip + 0x200]\n"
          "lea r9d, [rbx]; lea r10w, [rbx]; lea r12, [ebx + 8]; lea r13, [rsp + rbx]\n"
          ".byte 0x64; lea r15, [rbx + 1]; lea rbp, [0x12345]")
static void lea_is_known(void)
{
    struct values v;
    all_stored(&v);
    STEPS(&v, lea);
    CHECK(is(&v, RAX, RBX, 8) && is_sum(&v, RCX, RBX, RDX, 2, -1) && is_sum(&v, RSI, TERM_NONE, RDI, 3, 0x100));
    CHECK(is(&v, R8, TERM_NONE, (s64)(PC + 4 + 5 + 8 + 7 + 0x200)));
    CHECK(!v.reg[R9].known && !v.reg[R10].known && !v.reg[R12].known);
    CHECK(is_sum(&v, R13, TERM_RSP, RBX, 0, 0));
    CHECK(is(&v, R15, RBX, 1) && is(&v, RBP, TERM_NONE, 0x12345));
}

CODE(lea_of_lea, "lea rax, [rbx + rcx * 2 + 1]; lea rdx, [rax + 7]; lea rsi, [rax + rdi]; lea r8, [rdi + rax]\n"
                 "lea r9, [rbx + 3]; lea r9, [rcx + r9 * 4 + 5]; lea r10, [rcx * 8]; lea r10, [r10 + rbx]")
static void sums_of_two_terms_are_known_and_of_three_are_not(void)
{
    struct values v;
    all_stored(&v);
    STEPS(&v, lea_of_lea);
    CHECK(is_sum(&v, RAX, RBX, RCX, 1, 1) && is_sum(&v, RDX, RBX, RCX, 1, 8));
    CHECK(!v.reg[RSI].known && !v.reg[R8].known);
    CHECK(is_sum(&v, R9, RCX, RBX, 2, 17) && is_sum(&v, R10, RBX, RCX, 3, 0));
}

CODE(lea_again, "lea rax, [rax * 8 + 1]")
static void a_term_shifted_too_far_is_not_known(void)
{
    struct values v;
    all_stored(&v);
    for (int i = 1; i <= 10; i++) {
        STEPS(&v, lea_again);
        CHECK(v.reg[RAX].known && v.reg[RAX].shift == 3 * i && v.reg[RAX].b == RAX && v.reg[RAX].a == TERM_NONE);
    }
    CHECK(v.reg[RAX].c == 0x9249249);
    STEPS(&v, lea_again);
    CHECK(!v.reg[RAX].known);
}

static void addresses_are_sums_of_known_registers(void)
{
    struct values v;
    struct value out;
    values_enter(&v);
    CHECK(values_address(&v, REG_NONE, REG_NONE, 0, -5, &out) && out.a == TERM_NONE && out.b == TERM_NONE && out.c == -5);
    CHECK(values_address(&v, RSP, REG_NONE, 0, 8, &out) && out.a == TERM_RSP && out.c == 8);
    CHECK(!values_address(&v, RAX, REG_NONE, 0, 8, &out) && !values_address(&v, RSP, RAX, 3, 8, &out));
    values_stored(&v, RAX, 3);
    CHECK(values_address(&v, RSP, RAX, 3, 8, &out) && out.a == TERM_RSP && out.b == 3 && out.shift == 3 && out.c == 8);
    CHECK(values_address(&v, RAX, RAX, 2, 0, &out) && out.a == 3 && out.b == 3 && out.shift == 2);
    CHECK(values_address(&v, REG_NONE, RAX, 0, 0, &out) && out.a == 3 && out.b == TERM_NONE);
}

/* -- The stack -------------------------------------------------------------------------------- */

#define CHECK_STACK(name, steps_by)                                                                \
    do {                                                                                           \
        struct values v;                                                                           \
        all_stored(&v);                                                                            \
        STEPS(&v, name);                                                                           \
        CHECK_CASE(is(&v, RSP, TERM_RSP, steps_by), "rsp%+ld", (long)v.reg[RSP].c);                \
    } while (0)

CODE(push, "push rax")
CODE(push_16, "push ax")
CODE(push_imm, "push 5")
CODE(push_mem, "push [rax]")
CODE(push_fs, "push fs")
CODE(pushf, "pushfq; pushf")
CODE(pop, "pop rax")
CODE(pop_16, "pop ax; pop word ptr [rbx]")
CODE(pop_mem, "pop [rsp + 8]")
CODE(popf, "popfq")
CODE(call, "call rax")
CODE(call_rel, ".byte 0xe8, 0, 0, 0, 0")
CODE(ret, "ret")
CODE(ret_n, "ret 0xfff8")
CODE(moved, "sub rsp, 128; add rsp, 8; lea rsp, [rsp + 16]; inc rsp; mov rbx, rsp; sub rsp, 8; mov rsp, rbx")
CODE(enter_0, "enter 16, 0")
CODE(enter_1, "enter 0xfff0, 1")
CODE(enter_4, "enter 16, 4")
CODE(frame, "push rbp; mov rbp, rsp; sub rsp, 100; leave")
static void stack_instructions_move_rsp(void)
{
    CHECK_STACK(push, -8);
    CHECK_STACK(push_16, -2);
    CHECK_STACK(push_imm, -8);
    CHECK_STACK(push_mem, -8);
    CHECK_STACK(push_fs, -8);
    CHECK_STACK(pushf, -16);
    CHECK_STACK(pop, 8);
    CHECK_STACK(pop_16, 4);
    CHECK_STACK(pop_mem, 8);
    CHECK_STACK(popf, 8);
    CHECK_STACK(call, -8);
    CHECK_STACK(call_rel, -8);
    CHECK_STACK(ret, 8);
    CHECK_STACK(ret_n, 8 + 0xfff8);
    CHECK_STACK(moved, -128 + 8 + 16 + 1);
    CHECK_STACK(enter_0, -8 - 16);
    CHECK_STACK(enter_1, -8 - 8 - 0xfff0);
    CHECK_STACK(enter_4, -8 - 32 - 16);
    CHECK_STACK(frame, 0);
}

CODE(pop_rsp, "pop rsp")
CODE(pop_sp, "pop sp")
CODE(and_rsp, "and rsp, -16")
CODE(mov_esp, "mov esp, eax")
CODE(leave_16, ".byte 0x66; leave")
CODE(add_rsp, "add rsp, rax")
static void rsp_becomes_unknown(void)
{
    const u8 *code[] = {code_pop_rsp, code_pop_sp, code_and_rsp, code_mov_esp, code_leave_16, code_add_rsp};
    const u8 *end[] = {code_pop_rsp_end, code_pop_sp_end,   code_and_rsp_end,
                       code_mov_esp_end, code_leave_16_end, code_add_rsp_end};
    for (size_t i = 0; i < ARRAY_LEN(code); i++) {
        struct values v;
        all_stored(&v);
        steps(&v, code[i], end[i]);
        CHECK_CASE(!v.reg[RSP].known, "case %zu", i);
    }
}

CODE(leave, "leave")
static void leave_takes_rsp_from_rbp(void)
{
    struct values v;
    all_stored(&v);
    STEPS(&v, leave);
    CHECK(is(&v, RSP, RBP, 8) && !v.reg[RBP].known);
    values_enter(&v);
    STEPS(&v, leave);
    CHECK(!v.reg[RSP].known && !v.reg[RBP].known);
}

static void enter_makes_a_frame_pointer(void)
{
    struct values v;
    values_enter(&v);
    STEPS(&v, enter_4);
    CHECK(is(&v, RBP, TERM_RSP, -8));
}

CODE(movs, "movsb")
CODE(cmps, "cmpsq")
CODE(scas, "scasd")
CODE(lods, "lodsb")
CODE(stos, "stosw")
CODE(rep_stos, "rep stosb")
static void strings_move_their_pointers(void)
{
    const struct {
        const u8 *code, *end;
        u32 changed;
    } cases[] = {
        {code_movs, code_movs_end, LIVE_REG(RSI) | LIVE_REG(RDI)},
        {code_cmps, code_cmps_end, LIVE_REG(RSI) | LIVE_REG(RDI)},
        {code_scas, code_scas_end, LIVE_REG(RDI)},
        {code_lods, code_lods_end, LIVE_REG(RSI) | LIVE_REG(RAX)},
        {code_stos, code_stos_end, LIVE_REG(RDI)},
        {code_rep_stos, code_rep_stos_end, LIVE_REG(RDI) | LIVE_REG(RCX)},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct values v;
        all_stored(&v);
        steps(&v, cases[i].code, cases[i].end);
        for (u8 r = 0; r < 16; r++)
            CHECK_CASE(v.reg[r].known == !(cases[i].changed & LIVE_REG(r)), "case %zu register %u", i, r);
    }
}

CODE(syscall, "syscall")
static void the_kernel_spoils_rcx_and_r11(void)
{
    struct values v;
    all_stored(&v);
    STEPS(&v, syscall);
    for (u8 r = RCX; r < 16; r++)
        CHECK_CASE(v.reg[r].known == (r != RCX && r != R11), "register %u", r);
}

/* -- Against the processor -------------------------------------------------------------------- */

/* A page that loads all registers, executes one instruction and stores all registers:
 *
 *   mov reg, [rip + from] ... ; the instruction ; mov [rip + to], reg ... ; jmp back
 *
 * rsp is a register like the others: nothing may interrupt this but the kernel, and it uses a stack of its own. */
struct machine {
    u8 *page;
    u64 *from, *to;
    u8 *body; /* where the instruction goes */
};
enum { PAGE = 4096, FROM_AT = 2048, TO_AT = 2048 + 128, SAVED_AT = 2048 + 256, STACK = 65536 };

static u8 *put_move(u8 *p, u8 opcode, u8 reg, const u8 *data)
{
    s32 rel = (s32)(data - (p + 7));
    *p++ = (u8)(0x48 | (reg >> 3) << 2);
    *p++ = opcode;
    *p++ = (u8)(0x05 | (reg & 7) << 3);
    memcpy(p, &rel, 4);
    return p + 4;
}

static void machine_make(struct machine *m)
{
    m->page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(m->page != MAP_FAILED);
    m->from = (u64 *)(void *)(m->page + FROM_AT);
    m->to = (u64 *)(void *)(m->page + TO_AT);
    u8 *p = m->page;
    for (u8 r = 0; r < 16; r++)
        p = put_move(p, 0x89, r, m->page + SAVED_AT + 8 * r);
    for (u8 r = 0; r < 16; r++)
        p = put_move(p, 0x8b, r, m->page + FROM_AT + 8 * r);
    m->body = p;
}

/* Execute one instruction: m->from to m->to. */
static void machine_run(struct machine *m, const u8 *insn, u8 len)
{
    u8 *p = m->body;
    memcpy(p, insn, len);
    p += len;
    for (u8 r = 0; r < 16; r++)
        p = put_move(p, 0x89, r, m->page + TO_AT + 8 * r);
    for (u8 r = 0; r < 16; r++)
        p = put_move(p, 0x8b, r, m->page + SAVED_AT + 8 * r);
    *p = 0xc3;
    ((void (*)(void))(uintptr_t)m->page)();
}

static u64 seed = 0x9e3779b97f4a7c15;

static u64 rnd(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed * 0x2545f4914f6cdd1d;
}

/* What may be executed without harm, whatever is in the registers. */
static bool is_harmless(const struct insn *in)
{
    if (in->class != INSN_PLAIN || in->z.attributes & ZYDIS_ATTRIB_HAS_LOCK)
        return false;
    switch (in->z.meta.category) {
    case ZYDIS_CATEGORY_BINARY:
    case ZYDIS_CATEGORY_LOGICAL:
    case ZYDIS_CATEGORY_SHIFT:
    case ZYDIS_CATEGORY_ROTATE:
    case ZYDIS_CATEGORY_CMOV:
    case ZYDIS_CATEGORY_SETCC:
    case ZYDIS_CATEGORY_BITBYTE:
    case ZYDIS_CATEGORY_CONVERT:
    case ZYDIS_CATEGORY_SEMAPHORE:
    case ZYDIS_CATEGORY_DATAXFER:
    case ZYDIS_CATEGORY_PUSH:
    case ZYDIS_CATEGORY_POP:
    case ZYDIS_CATEGORY_MISC:
    case ZYDIS_CATEGORY_BMI1:
    case ZYDIS_CATEGORY_BMI2:
        break;
    default:
        return false;
    }
    switch (in->z.mnemonic) {
    case ZYDIS_MNEMONIC_DIV: /* may trap */
    case ZYDIS_MNEMONIC_IDIV:
    case ZYDIS_MNEMONIC_POPF: /* may set the trap flag */
    case ZYDIS_MNEMONIC_POPFQ:
        return false;
    case ZYDIS_MNEMONIC_LEA:
    case ZYDIS_MNEMONIC_ENTER:
    case ZYDIS_MNEMONIC_LEAVE:
        return true;
    default:
        return in->z.meta.category != ZYDIS_CATEGORY_MISC;
    }
}

/* Does it touch nothing but the stack that rsp and rbp are in? */
static bool is_tame(const struct insn *in, const u64 *reg, const u8 *stack)
{
    u64 low = (u64)(uintptr_t)stack + 4096, high = low + STACK - 8192;
    bool on_stack = reg[RSP] >= low && reg[RSP] < high;
    for (int i = 0; i < in->z.operand_count; i++) {
        const ZydisDecodedOperand *o = &in->op[i];
        if (o->type == ZYDIS_OPERAND_TYPE_REGISTER) {
            ZydisRegisterClass c = ZydisRegisterGetClass(o->reg.value);
            if (c == ZYDIS_REGCLASS_SEGMENT || c == ZYDIS_REGCLASS_CONTROL || c == ZYDIS_REGCLASS_DEBUG)
                return false;
        }
        if (o->type != ZYDIS_OPERAND_TYPE_MEMORY || o->mem.type == ZYDIS_MEMOP_TYPE_AGEN)
            continue;
        bool hidden = o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;
        if (!hidden || !on_stack || (o->mem.base == ZYDIS_REGISTER_RBP && (reg[RBP] < low || reg[RBP] >= high)))
            return false;
    }
    if (in->z.mnemonic == ZYDIS_MNEMONIC_ENTER) /* it also probes where rsp ends */
        return (in->op[1].imm.value.u & 31) == 0 && in->op[0].imm.value.u < 2048;
    return true;
}

/* Random bytes that begin like an instruction we are after. */
static u8 random_insn(struct insn *in, u64 pc)
{
    for (;;) {
        u8 b[15];
        for (size_t i = 0; i < sizeof b; i++)
            b[i] = (u8)(rnd() >> 32);
        u64 how = rnd() >> 40;
        size_t at = 0;
        if (how % 8 == 0)
            b[at++] = 0x66;
        if (how % 4)
            b[at++] = (u8)(0x40 | (how >> 8 & 15) | (how & 0x100 ? 8 : 0));
        if (how % 3 == 0) {
            static const u8 likely[] = {0x8d, 0x89, 0x8b, 0x83, 0x81, 0xff, 0xc7, 0xb8, 0x50, 0x58, 0x31, 0x29,
                                        0x8d, 0x89, 0x8b, 0x83, 0xc9, 0x9c, 0xc8, 0x68, 0x6a, 0x87, 0x01, 0x63};
            b[at] = likely[(how >> 12) % sizeof likely];
        }
        if (insn_decode(in, pc, b, sizeof b) && is_harmless(in))
            return in->len;
    }
}

static u64 value_of(const struct value *v, const u64 *term)
{
    u64 a = v->a == TERM_NONE ? 0 : term[v->a == TERM_RSP ? RSP : v->a];
    u64 b = v->b == TERM_NONE ? 0 : term[v->b == TERM_RSP ? RSP : v->b];
    return a + (b << v->shift) + (u64)v->c;
}

static void what_is_known_is_what_the_processor_computes(void)
{
    struct machine m;
    u8 *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(stack != MAP_FAILED);
    machine_make(&m);
    u64 ran = 0, known = 0, kept = 0, computed[16] = {0};
    for (u32 path = 0; path < 3000; path++) {
        u64 term[16]; /* the slot of each register, and rsp at entry */
        struct values v;
        all_stored(&v);
        for (u8 r = 0; r < 16; r++)
            m.from[r] = term[r] = rnd() >> (rnd() % 40);
        m.from[RSP] = term[RSP] = (u64)(uintptr_t)stack + STACK / 2 + rnd() % 64;
        m.from[RBP] = term[RBP] = term[RSP] + rnd() % 256;
        for (u32 i = 0; i < 24; i++) {
            struct insn in;
            u8 len = random_insn(&in, (u64)(uintptr_t)m.body);
            if (!is_tame(&in, m.from, stack))
                continue;
            machine_run(&m, in.bytes, len);
            values_step(&v, &in);
            ran++;
            for (u8 r = 0; r < 16; r++) {
                kept += !v.reg[r].known;
                if (!v.reg[r].known)
                    continue;
                known++;
                computed[r] += m.to[r] != term[r];
                CHECK_CASE(value_of(&v.reg[r], term) == m.to[r], "after %s (%02x %02x %02x %02x %02x) register %u is 0x%lx",
                           ZydisMnemonicGetString(in.z.mnemonic), in.bytes[0], in.bytes[1], in.bytes[2], in.bytes[3],
                           in.bytes[4], r, (unsigned long)m.to[r]);
            }
            memcpy(m.from, m.to, 16 * sizeof m.from[0]);
        }
    }
    /* The comparison would be worth little if nearly nothing ran, or nearly nothing was known. */
    CHECK(ran > 10000 && known > 4 * ran && kept > ran);
    for (u8 r = 0; r < 16; r++)
        CHECK(computed[r] > 100);
    munmap(stack, STACK);
    munmap(m.page, PAGE);
}

int main(void)
{
    at_entry_only_rsp_is_known();
    a_stored_register_is_its_slot();
    moves_of_whole_registers_are_known();
    adding_a_constant_is_known();
    constants_wrap_at_64_bits();
    clearing_is_known();
    lea_is_known();
    sums_of_two_terms_are_known_and_of_three_are_not();
    a_term_shifted_too_far_is_not_known();
    addresses_are_sums_of_known_registers();
    stack_instructions_move_rsp();
    rsp_becomes_unknown();
    leave_takes_rsp_from_rbp();
    enter_makes_a_frame_pointer();
    strings_move_their_pointers();
    the_kernel_spoils_rcx_and_r11();
    what_is_known_is_what_the_processor_computes();
    return test_end("symbolic");
}
