/*
 * A text of 8 MiB that is used all over: 8,192 blocks, each with a short loop and a jump to the
 * next. Sooner or later a tick falls into every one, but into few instructions of each, as in
 * real programs.
 */
#include "target.h"

void walk_all_blocks(void);

#if defined(__x86_64__)
#define BLOCK "mov $2000, %ecx\n" \
              "1: dec %ecx\n" \
              "jnz 1b\n" \
              "jmp 2f\n"
#elif defined(__aarch64__)
#define BLOCK "mov w9, #2000\n" \
              "1: subs w9, w9, #1\n" \
              "b.ne 1b\n" \
              "b 2f\n"
#else
#error "no blocks for this processor yet"
#endif

__asm__(".text\n"
        ".balign 1024\n"
        ".globl walk_all_blocks\n"
        ".type walk_all_blocks, %function\n"
        "walk_all_blocks:\n"
        ".rept 8192\n" BLOCK ".balign 1024\n"
        "2:\n"
        ".endr\n"
        "ret\n"
        ".size walk_all_blocks, . - walk_all_blocks\n");

int main(void)
{
    say_ready();
    const struct go go = wait_for_go();
    const uint64_t start_ns = process_ns();
    const struct usage start_usage = usage_now();
    while (process_ns() - start_ns < go.budget_ns)
        walk_all_blocks();
    say_totals(0, process_ns() - start_ns, usage_since(start_usage));
    hold_if(go.hold);
    return 0;
}
