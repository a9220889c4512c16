/* SPDX-License-Identifier: MIT */
/* A rewritten instruction is the same instruction with another register: same mnemonic, same operands otherwise.
 *
 * First a list, with r11 in every field of every encoding; then random bytes, for the list may have forgotten one. */
#include "translate/rewrite.h"
#include "base/err.h"
#include "test.h"

#include <string.h>

#define CODE(name, text)                                                                           \
    extern const u8 code_##name[] __attribute__((visibility("hidden")));                           \
    extern const u8 code_##name##_end[] __attribute__((visibility("hidden")));                     \
    __asm__(".pushsection .rodata\n.intel_syntax noprefix\ncode_" #name ":\n" text                 \
            "\ncode_" #name "_end:\n.byte 0\n.att_syntax\n.popsection\n");

/* Where the program's instruction is, and where its copy goes: in reach of each other. */
#define PC   0x555560000000ul
#define HERE 0x555508000000ul

static const u8 stand_ins[] = {RBX, RAX, RCX, RDX, RSI, RDI};

struct copy {
    u8 bytes[64];
    size_t size;
    struct insn in; /* decoded at HERE */
};

static bool copy_insn(const struct insn *in, struct rewrite rw, struct copy *c)
{
    struct emit e = {.p = c->bytes, .end = c->bytes + sizeof c->bytes, .to_app = (s64)(HERE - (u64)(uintptr_t)c->bytes)};
    if (!rewrite_insn(&e, in, rw))
        return false;
    c->size = (size_t)(e.p - c->bytes);
    return !e.full;
}

/* -- Comparing -------------------------------------------------------------------------------- */

/* What a register must have become. */
static ZydisRegister replaced(ZydisRegister r, u8 r11_as)
{
    if (r11_as == REG_NONE || insn_gpr(r) != R11)
        return r;
    ZydisRegisterClass c = ZydisRegisterGetClass(r);
    /* Among bytes, numbers 4 to 7 are spl, bpl, sil and dil once there is a REX prefix. */
    static const ZydisRegister bytes[] = {ZYDIS_REGISTER_AL,  ZYDIS_REGISTER_CL,  ZYDIS_REGISTER_DL,
                                          ZYDIS_REGISTER_BL,  ZYDIS_REGISTER_SPL, ZYDIS_REGISTER_BPL,
                                          ZYDIS_REGISTER_SIL, ZYDIS_REGISTER_DIL};
    return c == ZYDIS_REGCLASS_GPR8 ? bytes[r11_as] : ZydisRegisterEncode(c, r11_as);
}

static bool same_memory(const struct insn *in, const ZydisDecodedOperandMem *a, const struct insn *out,
                        const ZydisDecodedOperandMem *b, struct rewrite rw)
{
    if (a->type != b->type || a->segment != b->segment || a->scale != b->scale ||
        b->index != replaced(a->index, rw.r11_as))
        return false;
    bool from_rip = a->base == ZYDIS_REGISTER_RIP || a->base == ZYDIS_REGISTER_EIP;
    if (!from_rip)
        return b->base == replaced(a->base, rw.r11_as) && b->disp.value == a->disp.value;
    if (rw.rip_as != REG_NONE)
        return insn_gpr(b->base) == rw.rip_as && b->disp.value == 0 && in->z.address_width == out->z.address_width;
    u64 target = in->pc + in->len + (u64)a->disp.value, now = out->pc + out->len + (u64)b->disp.value;
    return a->base == b->base && (a->base == ZYDIS_REGISTER_EIP ? (u32)target == (u32)now : target == now);
}

static bool same_operand(const struct insn *in, const struct insn *out, int i, struct rewrite rw)
{
    const ZydisDecodedOperand *a = &in->op[i], *b = &out->op[i];
    if (a->type != b->type || a->size != b->size || a->actions != b->actions || a->encoding != b->encoding ||
        a->visibility != b->visibility || a->element_count != b->element_count)
        return false;
    switch (a->type) {
    case ZYDIS_OPERAND_TYPE_REGISTER:
        return b->reg.value == replaced(a->reg.value, rw.r11_as);
    case ZYDIS_OPERAND_TYPE_MEMORY:
        return same_memory(in, &a->mem, out, &b->mem, rw);
    case ZYDIS_OPERAND_TYPE_IMMEDIATE:
        return a->imm.value.u == b->imm.value.u;
    default:
        return true;
    }
}

static bool same_insn(const struct insn *in, const struct insn *out, struct rewrite rw)
{
    const ZydisDecodedInstruction *a = &in->z, *b = &out->z;
    ZydisInstructionAttributes changed = a->attributes ^ b->attributes;
    if (rw.rip_as != REG_NONE)
        changed &= ~ZYDIS_ATTRIB_IS_RELATIVE;
    if (a->mnemonic != b->mnemonic || a->operand_count != b->operand_count || a->operand_width != b->operand_width ||
        a->address_width != b->address_width || changed || a->encoding != b->encoding ||
        a->avx.mask.reg != b->avx.mask.reg || a->avx.mask.mode != b->avx.mask.mode ||
        a->avx.vector_length != b->avx.vector_length || a->avx.broadcast.mode != b->avx.broadcast.mode ||
        a->avx.rounding.mode != b->avx.rounding.mode || a->avx.has_sae != b->avx.has_sae)
        return false;
    for (int i = 0; i < a->operand_count; i++)
        if (!same_operand(in, out, i, rw))
            return false;
    return true;
}

/* Rewrite, decode again, compare. */
static bool rewrites(const struct insn *in, struct rewrite rw)
{
    struct copy c;
    if (!copy_insn(in, rw, &c) || c.size != in->len - (rw.rip_as != REG_NONE ? 4u : 0u))
        return false;
    return insn_decode(&c.in, HERE, c.bytes, c.size) && c.in.len == c.size && same_insn(in, &c.in, rw);
}

#define CHECK_REWRITES(in, rw)                                                                        \
    CHECK_CASE(rewrites(in, rw), "%s, bytes %02x %02x %02x %02x %02x %02x %02x %02x, r11 as %u, rip as %u",     \
               ZydisMnemonicGetString((in)->z.mnemonic), (in)->bytes[0], (in)->bytes[1], (in)->bytes[2],      \
               (in)->bytes[3], (in)->bytes[4], (in)->bytes[5], (in)->bytes[6], (in)->bytes[7], (rw).r11_as, (rw).rip_as)

/* Does the rip-relative operand stay in reach of the copy? */
static bool stays_near(const struct insn *in, struct rewrite rw)
{
    u64 target;
    if (rw.rip_as != REG_NONE || !insn_rip_target(in, &target))
        return true;
    s64 d = (s64)(target - HERE);
    return d > -0x7ff00000ll && d < 0x7ff00000ll;
}

/* -- The list --------------------------------------------------------------------------------- */

CODE(r11_legacy,
     "mov r11, rax; mov rax, r11; mov r11d, eax; mov ax, r11w; mov r11b, cl; mov dil, r11b; mov r11, r11\n"
     "mov r11d, 5; mov r11b, 5; mov r11w, 5; movabs r11, 0x123456789abcdef; mov r11, -5; push r11; pop r11\n"
     "push r11w; pop r11w; bswap r11; bswap r11d; xchg r11, rax; xchg r11d, ebp; inc r11; neg r11b; mul r11; div r11d\n"
     "add r11, 1000; cmp r11b, 3; test r11, r11; shl r11, 5; shr r11, cl; sar r11d; shld r11, rax, 3; shrd rax, r11, cl\n"
     "imul r11, r10, 5; imul r11, rax; lea r11, [r11 + r11 * 8 + 5]; lea rax, [r11d + 8]; movzx r11, al; movzx eax, r11b\n"
     "movsx r11, ax; movsxd r11, eax; cmovz r11, rax; cmovnz eax, r11d; setc r11b; bt r11, 3; bts r11, rax; btr rax, r11\n"
     "bsf r11, rax; popcnt r11, rax; lzcnt eax, r11d; tzcnt r11, r11; crc32 r11, rax; crc32 eax, r11b; movbe r11, [rax]\n"
     "adcx r11, rax; adox rax, r11; xadd r11, rax; cmpxchg r11, rbp; rdfsbase r11; wrfsbase r11; rdrand r11; rdseed r11w\n"
     "rdpid r11; mov r11d, fs; lar r11d, ax; lsl eax, r11d; smsw r11d; str r11d; sldt r11; verr r11w; umonitor r11\n"
     "umwait r11d; tpause r11d; ptwrite r11; rdsspq r11; incsspq r11; movq xmm0, r11; movq r11, xmm9; movd mm0, r11d\n"
     "pextrq r11, xmm11, 1; pinsrw xmm11, r11d, 3; pextrb r11d, xmm3, 5; cvtsi2sd xmm11, r11; cvttss2si r11, xmm1\n"
     "movmskpd r11d, xmm11; pmovmskb r11d, mm1; movnti [rax], r11; movdiri [rbp], r11; movdir64b r11, [rax]\n"
     "movdir64b rax, [r11]; enqcmd r11, [rax]; enqcmd rax, [r11 + 8]")
CODE(r11_memory,
     "add [r11], rax; add rax, [r11 + 8]; add rax, [r11 + 0x1234]; add rax, [rbp + r11]; add rax, [r13 + r11 * 8 + 1]\n"
     "add rax, [r11 + rbp * 2]; add rax, [r11 + r11]; add rax, [r11 + r11 * 4 - 8]; add rax, [r11 * 8 + 0x100]\n"
     "add r11, [r11]; add [r11 + r12], r11b; add fs:[r11], r11; add rax, [r11d]; add rax, [r11d + r11d]; push [r11]\n"
     "pop [r11 + 8]; inc byte ptr [r11]; mov dword ptr [r11 + 4], 0x12345678; mov byte ptr [r11 + r11], 7\n"
     "cmpxchg [r11], rbp; cmpxchg16b [r11]; lock xadd [r11], r11; lock inc qword ptr [r11]; xchg [r11], r11; bt [r11], r11\n"
     "fld qword ptr [r11]; fnstcw [r11]; fxsave [r11]; xsave [r11 + r11]; ldmxcsr [r11]; prefetcht0 [r11]; clflush [r11]\n"
     "nop dword ptr [r11 + r11]; movups xmm11, [r11]; movaps [r11 + 16], xmm3; aesenc xmm1, [r11]; pshufb xmm9, [r11 + r9]\n"
     "pcmpistri xmm11, [r11], 7; movntdqa xmm1, [r11]; insertps xmm1, [r11], 3; lddqu xmm8, [rbp + r11 * 4]\n"
     "bndmk bnd0, [r11 + rbp]; cvtsi2sd xmm0, qword ptr [r11]; sgdt [r11]; mov r11d, [r11d + 8]")
CODE(r11_vex,
     "andn r11, r10, r9; andn rbp, r11, r9; andn rbp, rbp, r11; andn r11, r11, r11; andn rbp, r11, [r11]; bextr r11, rbp, r9\n"
     "bextr rbp, r11, r9; bextr rbp, rbp, r11; blsi r11, rbp; blsr rbp, r11; blsmsk r11, r11; mulx r11, rbp, r9\n"
     "mulx rbp, r11, r9; mulx r8, r9, r11; mulx r8, r9, [r11 + 8]; pdep r11, rbp, r9; pext rbp, r11, [rbp + r11]\n"
     "shlx r11, r9, rbp; shlx rbp, r9, r11; sarx rbp, [r11], r11; rorx r11, rbp, 5; rorx rbp, [r11], 3; bzhi r11d, r9d, ebp\n"
     "vmovd xmm11, r11d; vmovq r11, xmm2; vpinsrd xmm1, xmm11, r11d, 3; vpextrb r11d, xmm1, 3; vmovmskps r11d, ymm11\n"
     "vcvtsi2sd xmm1, xmm11, r11; vcvttsd2si r11, xmm1; vmovups ymm1, [r11]; vmovups ymm11, [r11 + 32]\n"
     "vmovups [rbp + r11 * 2], ymm9; vpaddd ymm1, ymm11, [r11 + r11]; vpalignr xmm1, xmm2, [r11], 5\n"
     "vpgatherdd ymm1, [r11 + ymm11 * 4], ymm3; vgatherqpd xmm11, [r11 + xmm1 * 8 + 8], xmm9; vpmaskmovd [r11], ymm11, ymm9\n"
     "vfmadd132ps ymm1, ymm11, [r11]; vbroadcastss ymm11, [r11]; vldmxcsr [r11]; kmovq k1, r11; kmovd r11d, k3\n"
     "kmovw k2, [r11]; vpblendvb xmm1, xmm11, [r11], xmm11; vzeroupper; vpmovmskb r11d, ymm1; vptest xmm1, [r11]")
CODE(r11_evex,
     "vmovups zmm1, [r11]; vmovups zmm11, [r11 + 64]; vmovups zmm30, [r11 + 5]; vmovups [rbp + r11 * 8 + 64], zmm17\n"
     "vmovups [r11 + r11 * 2], zmm1; vpaddd zmm1{k1}{z}, zmm27, [r11]; vaddpd zmm1{k3}, zmm2, [r11]{1to8}\n"
     "vpbroadcastd zmm1, r11d; vpbroadcastq zmm27, r11; vpbroadcastb zmm11, r11d; vmovd xmm17, r11d; vmovq r11, xmm27\n"
     "vcvtsi2sd xmm20, xmm27, r11; vcvttss2si r11, xmm18; vcvtusi2ss xmm1, xmm11, r11, {rn-sae}; vcvtsd2usi r11, xmm27\n"
     "vpinsrq xmm20, xmm27, r11, 1; vpextrw r11d, xmm27, 3; vpgatherdd zmm1{k1}, [r11 + zmm27 * 4]\n"
     "vpgatherqq zmm17{k2}, [r11 + zmm11 * 8 + 8]; vpscatterdd [r11 + zmm2 * 4 + 4]{k7}, zmm27; vpcompressd [r11]{k1}, zmm3\n"
     "vpternlogd zmm1, zmm27, [r11], 0x55; vpermt2d zmm1, zmm2, [r11 + rbp]; vmovdqu8 zmm1{k1}, [r11 + 1]\n"
     "vextracti32x4 [r11 + 16], zmm27, 3; vpextrb r11d, xmm27, 1; vmovntdqa zmm1, [r11]")

static bool decode_next(struct insn *in, const u8 **code, const u8 *end)
{
    if (*code >= end)
        return false;
    check(insn_decode(in, PC, *code, (size_t)(end - *code)));
    *code += in->len;
    return true;
}

/* Every register that the instruction does not name stands in for r11. */
static u32 check_stand_ins(const struct insn *in)
{
    u32 n = 0;
    for (size_t i = 0; i < ARRAY_LEN(stand_ins); i++) {
        struct rewrite rw = {stand_ins[i], REG_NONE};
        if (in->names & LIVE_REG(stand_ins[i]))
            continue;
        CHECK_REWRITES(in, rw);
        n++;
    }
    return n;
}

static void check_list(const u8 *code, const u8 *end, ZydisInstructionEncoding encoding)
{
    struct insn in;
    u32 n = 0;
    while (decode_next(&in, &code, end)) {
        CHECK_CASE(in.z.encoding == encoding || in.z.mnemonic == ZYDIS_MNEMONIC_VZEROUPPER, "%s",
                   ZydisMnemonicGetString(in.z.mnemonic));
        n += check_stand_ins(&in);
    }
    CHECK(n > 80);
}

static void another_register_stands_in_for_r11(void)
{
    check_list(code_r11_legacy, code_r11_legacy_end, ZYDIS_INSTRUCTION_ENCODING_LEGACY);
    check_list(code_r11_memory, code_r11_memory_end, ZYDIS_INSTRUCTION_ENCODING_LEGACY);
    check_list(code_r11_vex, code_r11_vex_end, ZYDIS_INSTRUCTION_ENCODING_VEX);
    check_list(code_r11_evex, code_r11_evex_end, ZYDIS_INSTRUCTION_ENCODING_EVEX);
}

static void nothing_else_is_touched(void)
{
    const u8 *code[] = {code_r11_legacy, code_r11_memory, code_r11_vex, code_r11_evex};
    const u8 *end[] = {code_r11_legacy_end, code_r11_memory_end, code_r11_vex_end, code_r11_evex_end};
    struct insn in;
    struct copy c;
    for (size_t i = 0; i < ARRAY_LEN(code); i++)
        for (const u8 *p = code[i]; decode_next(&in, &p, end[i]);)
            CHECK(copy_insn(&in, (struct rewrite){REG_NONE, REG_NONE}, &c) && c.size == in.len &&
                  !memcmp(c.bytes, in.bytes, c.size));
}

CODE(rip, "mov eax, [rip + 0x1000]; mov r15, [rip - 0x1000]; lea rcx, [rip + 5]; mov byte ptr [rip + 0x1000], 5\n"
          "mov word ptr [rip + 0x1000], 0x1234; mov dword ptr [rip + 0x1000], 0x12345678; mov qword ptr [rip + 0x1000], -5\n"
          "cmp dword ptr [rip + 0x1000], 3; imul r9, [rip + 0x1000], 1000; imul eax, [rip + 0x1000], 3; test byte ptr [rip], 1\n"
          "shld [rip + 0x1000], eax, 3; add fs:[rip + 0x1000], r15; mov eax, [eip + 0x1000]; push [rip]; pop [rip + 1]\n"
          "lock cmpxchg16b [rip + 0x1000]; movups xmm9, [rip + 0x1000]; pshufd xmm1, [rip + 0x1000], 5; fld tbyte ptr [rip]\n"
          "vmovups ymm1, [rip + 0x1000]; vmovups ymm9, [rip - 1]; vpaddd ymm1, ymm11, [rip + 0x1000]; andn rax, rbp, [rip + 2]\n"
          "vpalignr xmm1, xmm2, [rip + 0x1000], 5; vpermq ymm1, [rip + 0x1000], 7; rorx rbp, [rip + 0x1000], 3\n"
          "pdep rax, rbp, [rip + 0x1000]; vpblendvb xmm1, xmm11, [rip + 0x1000], xmm12; kmovq k1, [rip + 0x1000]\n"
          "vmovups zmm1, [rip + 0x1000]; vmovups zmm30, [rip + 0x1000]; vaddpd zmm1{k3}, zmm2, [rip + 0x1000]{1to8}\n"
          "vpternlogd zmm1, zmm27, [rip + 0x1000], 0x55; vpshufd zmm17, [rip + 0x1000], 5; vcmpps k1, zmm1, [rip + 64], 3\n"
          "crc32 eax, byte ptr [rip + 0x1000]; pcmpistri xmm1, [rip + 0x1000], 9; nop dword ptr [rip + 0x1000]\n"
          "xsave [rip + 0x1000]; prefetcht0 [rip + 0x1000]; .byte 0x48, 0x8b, 0x05, 0xff, 0xff, 0xff, 0xff")
static void a_rip_relative_operand_goes_through_a_register(void)
{
    struct insn in;
    u32 n = 0;
    for (const u8 *p = code_rip; decode_next(&in, &p, code_rip_end);)
        for (size_t i = 0; i < ARRAY_LEN(stand_ins); i++) {
            struct rewrite rw = {REG_NONE, stand_ins[i]};
            if (in.names & LIVE_REG(stand_ins[i]))
                continue;
            CHECK_REWRITES(&in, rw);
            n++;
        }
    CHECK(n > 150);
}

static void a_rip_relative_operand_in_reach_keeps_its_target(void)
{
    struct insn in;
    for (const u8 *p = code_rip; decode_next(&in, &p, code_rip_end);) {
        u64 target;
        CHECK(insn_rip_target(&in, &target));
        struct rewrite rw = {REG_NONE, REG_NONE};
        if (stays_near(&in, rw))
            CHECK_REWRITES(&in, rw);
    }
}

CODE(rip_and_r11, "mov r11, [rip + 0x1000]; add [rip + 0x1000], r11d; imul r11, [rip + 0x1000], 1000; cmovz r11, [rip + 1]\n"
                  "andn r11, rbp, [rip + 0x1000]; andn rbp, r11, [rip + 0x1000]; rorx r11, [rip + 0x1000], 3\n"
                  "vcvttss2si r11, dword ptr [rip + 0x1000]; bt [rip + 0x1000], r11; lock xadd [rip + 0x1000], r11b\n"
                  "movbe r11, [rip + 0x1000]; pextrq [rip], xmm11, 1; vcvtss2usi r11, dword ptr [rip + 0x1000]\n"
                  "bextr rbp, [rip + 0x1000], r11; mulx r11, rbp, [rip + 0x1000]")
static void both_at_once(void)
{
    struct insn in;
    u32 n = 0;
    for (const u8 *p = code_rip_and_r11; decode_next(&in, &p, code_rip_and_r11_end);)
        for (size_t i = 0; i < ARRAY_LEN(stand_ins); i++)
            for (size_t k = 0; k < ARRAY_LEN(stand_ins); k++) {
                struct rewrite rw = {stand_ins[i], stand_ins[k]};
                if (i == k || in.names & (LIVE_REG(stand_ins[i]) | LIVE_REG(stand_ins[k])))
                    continue;
                CHECK_REWRITES(&in, rw);
                n++;
            }
    CHECK(n > 300);
}

CODE(not_rip, "mov eax, [rax]; mov eax, [0x1234]; mov eax, [r13]; push rax; ret; lea rax, [rbp + 5]")
static void only_rip_relative_operands_have_a_rip_target(void)
{
    struct insn in;
    u64 target;
    for (const u8 *p = code_not_rip; decode_next(&in, &p, code_not_rip_end);)
        CHECK(!insn_rip_target(&in, &target));
    static const u8 mov[] = {0x8b, 0x05, 0, 0x10, 0, 0}, eip[] = {0x67, 0x8b, 0x05, 0xff, 0xff, 0xff, 0xff};
    CHECK(insn_decode(&in, PC, mov, sizeof mov) && insn_rip_target(&in, &target) && target == PC + 6 + 0x1000);
    CHECK(insn_decode(&in, 0x5500000000, eip, sizeof eip) && insn_rip_target(&in, &target) && target == 6);
}

CODE(gs, "mov eax, gs:[rax]; gs movsb; gs lodsb; gs xlatb; push gs:[0x28]; jmp gs:[rax]; add gs:[rip + 5], eax\n"
         "vmovups ymm1, gs:[rax]; gs maskmovq mm0, mm1")
CODE(not_gs, "mov eax, fs:[rax]; mov eax, [rax]; .byte 0x65; lea rax, [rbx]; gs stosb; gs ret; push gs; .byte 0x65; nop\n"
             ".byte 0x65; push rax; .byte 0x65; je .")
static void what_goes_through_gs_is_recognised(void)
{
    struct insn in;
    for (const u8 *p = code_gs; decode_next(&in, &p, code_gs_end);)
        CHECK_CASE(insn_uses_gs(&in), "%s", ZydisMnemonicGetString(in.z.mnemonic));
    for (const u8 *p = code_not_gs; decode_next(&in, &p, code_not_gs_end);)
        CHECK_CASE(!insn_uses_gs(&in), "%s", ZydisMnemonicGetString(in.z.mnemonic));
}

/* -- Indirect branches ------------------------------------------------------------------------ */

CODE(targets, "jmp [rax]; call [rax + 8]; jmp [r11]; call [r11 + r11 * 8 + 0x1000]; jmp [r12]; jmp [r13]; call [rbp]\n"
              "call [rsp]; jmp [rsp + 8]; jmp [rax * 8 + 0x100]; jmp [r11 * 8 + 0x100]; call [0x1000]; jmp fs:[r11]\n"
              "call fs:[0x28]; jmp gs:[r10 + 8]; jmp [r10 + r10]; call [eax + 4]; jmp [r11d]; call [rip + 0x100]\n"
              "jmp fs:[rip + 0x200]; call [eip + 0x55555555]; notrack jmp [rax + r11]; bnd call [r11]\n"
              ".byte 0x66; call [rax]; .byte 0x48; jmp [r11 + rbp * 2]; .byte 0x2e; jmp [rbx]")
static void the_target_of_an_indirect_branch_is_loaded(void)
{
    struct insn in;
    u32 n = 0;
    for (const u8 *p = code_targets; decode_next(&in, &p, code_targets_end);)
        for (size_t i = 0; i < ARRAY_LEN(stand_ins); i++) {
            struct rewrite rw = {in.names & LIVE_REG(R11) ? stand_ins[i] : REG_NONE, REG_NONE};
            struct copy c;
            struct emit e = {.p = c.bytes, .end = c.bytes + sizeof c.bytes,
                             .to_app = (s64)(HERE - (u64)(uintptr_t)c.bytes)};
            if (in.names & LIVE_REG(stand_ins[i]))
                continue;
            rewrite_target_load(&e, &in, R10, rw);
            c.size = (size_t)(e.p - c.bytes);
            bool decodes = insn_decode(&c.in, HERE, c.bytes, c.size) && c.in.len == c.size;
            CHECK_CASE(decodes && c.in.z.mnemonic == ZYDIS_MNEMONIC_MOV &&
                           c.in.op[0].reg.value == ZYDIS_REGISTER_R10 && c.in.op[1].size == 64 &&
                           c.in.z.address_width == in.z.address_width &&
                           same_memory(&in, &in.op[0].mem, &c.in, &c.in.op[1].mem, rw),
                       "%s, bytes %02x %02x %02x %02x %02x", ZydisMnemonicGetString(in.z.mnemonic), in.bytes[0],
                       in.bytes[1], in.bytes[2], in.bytes[3], in.bytes[4]);
            n++;
        }
    CHECK(n > 100);
}

/* -- Any bytes -------------------------------------------------------------------------------- */

static u64 seed = 0x9e3779b97f4a7c15;

static u64 rnd(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed * 0x2545f4914f6cdd1d >> 24;
}

/* Random bytes that often begin with the prefixes of extended registers. */
static void random_bytes(u8 b[15])
{
    for (int i = 0; i < 15; i++)
        b[i] = (u8)rnd();
    size_t at = 0;
    if (rnd() % 4 == 0)
        b[at++] = (const u8[]){0x66, 0xf2, 0xf3, 0x67, 0x64, 0x65, 0xf0, 0x2e}[rnd() % 8];
    switch (rnd() % 8) {
    case 0:
        b[at] = 0xc5;
        break;
    case 1:
        b[at] = 0xc4;
        b[at + 1] = (u8)((b[at + 1] & 0xe0) | (1 + rnd() % 3));
        break;
    case 2:
    case 3:
        b[at] = 0x62;
        b[at + 1] = (u8)((b[at + 1] & 0xf0) | (1 + rnd() % 3));
        b[at + 2] |= 4;
        if (rnd() % 2) { /* no second source, no mask */
            b[at + 2] |= 0x78;
            b[at + 3] = (u8)((b[at + 3] & 0x70) | 8);
        }
        break;
    default:
        b[at] = 0x40 | (rnd() & 15);
        if (rnd() % 2)
            b[at + 1] = 0x0f;
        if (rnd() % 8 == 0)
            b[at + 2] = rnd() % 2 ? 0x38 : 0x3a;
    }
}

static bool names_rip(const struct insn *in)
{
    u64 target;
    return insn_rip_target(in, &target);
}

static bool is_rewritable(const struct insn *in)
{
    bool plain = in->z.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY || in->z.encoding == ZYDIS_INSTRUCTION_ENCODING_VEX ||
                 in->z.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX;
    return plain && in->class != INSN_REFUSED && in->class != INSN_SYSCALL && in->z.mnemonic != ZYDIS_MNEMONIC_SYSRET &&
           in->z.mnemonic != ZYDIS_MNEMONIC_NOP;
}

/* Of what decodes, that which names r11 or rip is of interest. Some reserved nops turn into cldemote, which is a nop as
 * well to everything but a cache. */
static void random_instructions_are_rewritten(void)
{
    u32 r11 = 0, rip = 0, both = 0, encodings[8] = {0};
    for (u32 i = 0; i < 3000000; i++) {
        u8 bytes[15];
        struct insn in;
        random_bytes(bytes);
        if (!insn_decode(&in, PC, bytes, sizeof bytes) || !is_rewritable(&in))
            continue;
        bool has_r11 = in.names & LIVE_REG(R11), has_rip = names_rip(&in);
        if (!has_r11 && !has_rip)
            continue;
        u8 free[2] = {REG_NONE, REG_NONE};
        for (size_t k = 0, n = 0, from = rnd() % 6; k < 6 && n < 2; k++)
            if (!(in.names & LIVE_REG(stand_ins[(from + k) % 6])))
                free[n++] = stand_ins[(from + k) % 6];
        struct rewrite rw = {has_r11 ? free[0] : REG_NONE, has_rip && rnd() % 4 ? free[1] : REG_NONE};
        if (free[1] == REG_NONE || !stays_near(&in, rw))
            continue;
        CHECK_REWRITES(&in, rw);
        r11 += has_r11;
        rip += has_rip;
        both += has_r11 && has_rip;
        encodings[in.z.encoding]++;
    }
    CHECK(r11 > 30000 && rip > 10000 && both > 100);
    CHECK(encodings[ZYDIS_INSTRUCTION_ENCODING_LEGACY] > 10000 && encodings[ZYDIS_INSTRUCTION_ENCODING_VEX] > 2000 &&
          encodings[ZYDIS_INSTRUCTION_ENCODING_EVEX] > 2000);
}

/* XOP and 3DNow! may be refused where r11 is to be replaced, but nothing may come out wrong. */
CODE(other, ".byte 0x8f, 0xe9, 0x78, 0x81, 0x05, 0, 0, 0, 0; .byte 0x8f, 0xc9, 0x78, 0x81, 0x05, 0, 0, 0, 0\n"
            ".byte 0x8f, 0xc9, 0x78, 0x81, 0x03; .byte 0x0f, 0x0f, 0x05, 0, 0, 0, 0, 0x9e; .byte 0x41, 0x0f, 0x0f, 0x03, 0x9e\n"
            ".byte 0x41, 0x0f, 0x0f, 0x05, 0, 0, 0, 0, 0x9e; .byte 0x8f, 0xc8, 0x78, 0xc0, 0x05, 0, 0, 0, 0, 3")
static void what_cannot_be_rewritten_is_refused_not_spoiled(void)
{
    struct insn in;
    struct copy c;
    for (const u8 *p = code_other; decode_next(&in, &p, code_other_end);) {
        struct rewrite rw = {in.names & LIVE_REG(R11) ? RBX : REG_NONE, names_rip(&in) ? RCX : REG_NONE};
        if (copy_insn(&in, rw, &c))
            CHECK_REWRITES(&in, rw);
    }
}

int main(void)
{
    another_register_stands_in_for_r11();
    nothing_else_is_touched();
    a_rip_relative_operand_goes_through_a_register();
    a_rip_relative_operand_in_reach_keeps_its_target();
    both_at_once();
    only_rip_relative_operands_have_a_rip_target();
    what_goes_through_gs_is_recognised();
    the_target_of_an_indirect_branch_is_loaded();
    random_instructions_are_rewritten();
    what_cannot_be_rewritten_is_refused_not_spoiled();
    return test_end("rewrite");
}
