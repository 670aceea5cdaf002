/* x86 only: busy until it is killed, in a function at an odd address. */
        .text
        .globl main
        .type main, @function
main:   jmp inner
        .size main, . - main
        .balign 16
        .type before, @function
before: nop
        nop
        ret
        .size before, . - before
        .type inner, @function
inner:  jmp inner
        .size inner, . - inner
        .section .note.GNU-stack, "", @progbits
