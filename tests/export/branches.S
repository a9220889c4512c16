/* SPDX-License-Identifier: MIT */
/* Every kind of branch, and some of what is none, as a reader of ChampSim's records must find them.
 *
 * `# KIND OUTCOMES | reads REGISTERS | writes REGISTERS` tells of the labelled instruction. The outcome of each of
 * its executions is + for taken, - for not. "target" is the register that stands for a target from memory; flags
 * and rip are registers. Registers that do not fit are not told. */
    .globl _start
    .text
_start:
jmp_rel:        jmp 1f                      # direct jump + | reads rip | writes rip
    ud2
1:  lea 1f(%rip), %rax
jmp_reg:        jmp *%rax                   # indirect + | reads rax | writes rip
    ud2
1:  mov $1, %ebx
jmp_indexed:    jmp *places(,%rbx,8)        # indirect + | reads rbx | writes rip
    ud2
place:
jmp_mem:        jmp *there(%rip)            # indirect + | reads target | writes rip
    ud2
after:
    push $1f
jmp_stack:      jmp *(%rsp)                 # indirect + | reads target | writes rip
    ud2
1:
pop_reg:        pop %rdx                    # none | reads rsp | writes rsp rdx
    mov $3, %ecx
1:  dec %ecx
jnz_back:       jnz 1b                      # conditional ++- | reads rip flags | writes rip
    cmp $1, %ecx
jz_not:         jz 1f                       # conditional - | reads rip flags | writes rip
jae_next:       jae 1f                      # conditional - | reads rip flags | writes rip
1:
jrcxz_yes:      jrcxz 1f                    # conditional + | reads rip rcx | writes rip
    ud2
1:  mov $2, %ecx
1:
loop_back:      loop 1b                     # conditional +- | reads rip rcx | writes rip rcx
    mov $2, %ecx
    cmp %ecx, %ecx
1:
loope_back:     loope 1b                    # conditional +- | reads rip rcx flags | writes rip rcx
call_rel:       call return                 # direct call + | reads rip rsp | writes rip rsp
    lea return(%rip), %r9
call_reg:       call *%r9                   # indirect call + | reads rip rsp r9 | writes rip rsp
call_mem:       call *back(%rip)            # indirect call + | reads rip rsp target | writes rip rsp
    push $return
call_stack:     call *(%rsp)                # indirect call + | reads rip rsp target | writes rip rsp
    push %rax
    call return_8

add_reg:        add %rbx, %rax              # none | reads rax rbx | writes rax flags
add_part:       add %bl, %ah                # none | reads rax rbx | writes rax flags
load_rip:       mov there(%rip), %r15       # none | reads | writes r15
load_indexed:   mov places(%rbx,%rbx,4), %r8d   # none | reads rbx | writes r8
lea_plain:      lea 8(%rbp,%rsi), %rdi      # none | reads rbp rsi | writes rdi
store_plain:    mov %r10, cell(%rip)        # none | reads r10 | writes
modify_plain:   addl $1, cell(%rip)         # none | reads | writes flags
cmov_plain:     cmovz %r11, %r12            # none | reads r11 r12 flags | writes r12
pushf_plain:    pushf                       # none | reads rsp flags | writes rsp
popf_plain:     popf                        # none | reads rsp flags | writes rsp flags
vector:         paddd %xmm3, %xmm15         # none | reads xmm3 xmm15 | writes xmm15
read_segment:   mov %fs, %eax               # none | reads fs | writes rax
multiply:       mul %r13                    # none | reads rax r13 | writes rax rdx
    mov $5, %ecx
    lea there(%rip), %rsi
    lea cell(%rip), %rdi
    rep movsb
    mov $39, %eax
system_call:    syscall                     # none | reads | writes rcx r11
    mov $60, %eax
    xor %edi, %edi
    syscall

return:
ret_plain:      ret                         # return ++++ | reads rsp | writes rip rsp
return_8:
ret_and_pop:    ret $8                      # return + | reads rsp | writes rip rsp

    .data
places: .quad 0, place
there:  .quad after
back:   .quad return
cell:   .quad 0, 0
