/*
 * The instructions of a function that burns time in proportion to its argument and refers to
 * nothing outside itself, so that it can be put anywhere. It is a chain of dependent
 * multiplications, so that ticks meet it at many addresses. The jump is for emulators, which are
 * interrupted only where a straight piece of code begins.
 */
#ifndef LOOP_H
#define LOOP_H

#define TWICE(text) text text
#define SIXTEEN_TIMES(text) TWICE(TWICE(TWICE(TWICE(text))))

#if defined(__x86_64__)
#define LOOP                                                                                      \
    "mov %rdi, %rax\n"                                                                            \
    "1:\n" SIXTEEN_TIMES("imul $3, %rax, %rax\n")                                                 \
    "jmp 2f\n"                                                                                    \
    "2:\n" SIXTEEN_TIMES("imul $5, %rax, %rax\n")                                                 \
    "dec %rdi\n"                                                                                  \
    "jnz 1b\n"                                                                                    \
    "ret\n"
#elif defined(__aarch64__)
#define LOOP                                                                                      \
    "mov x1, x0\n"                                                                                \
    "1:\n" SIXTEEN_TIMES("mul x0, x0, x0\n")                                                      \
    "b 2f\n"                                                                                      \
    "2:\n" SIXTEEN_TIMES("mul x0, x0, x0\n")                                                      \
    "subs x1, x1, #1\n"                                                                           \
    "b.ne 1b\n"                                                                                   \
    "ret\n"
#else
#error "no loop for this processor yet"
#endif

#endif
