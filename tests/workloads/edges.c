/*
 * A target whose symbols are as symbols sometimes are: one function with two names and a label,
 * code without any name between functions, a function whose symbol has no size, and one that is
 * chosen when the program starts (IFUNC).
 */
#include "loop.h"
#include "slices.h"

/* What has no name is reached by its address alone: a label of the assembler's own. */
extern const spin_function nameless;

__asm__(".text\n"
        ".balign 16\n"
        ".globl edge_two, edge_names\n"
        ".type edge_two, %function\n"
        ".type edge_names, %function\n"
        /* It has no size, but what begins with it does. */
        ".globl edge_label\n"
        "edge_label:\n"
        "edge_two:\n"
        "edge_names:\n" LOOP
        ".size edge_two, . - edge_two\n"
        ".size edge_names, . - edge_names\n"
        ".Lnameless:\n" LOOP
        ".balign 16\n"
        ".globl edge_sizeless\n"
        ".type edge_sizeless, %function\n"
        "edge_sizeless:\n" LOOP
        ".globl edge_after\n"
        ".type edge_after, %function\n"
        "edge_after: ret\n"
        ".size edge_after, . - edge_after\n"
        ".section .data.rel.ro, \"aw\"\n"
        ".balign 8\n"
        "nameless: .quad .Lnameless\n"
        ".text\n");

uint64_t edge_names(uint64_t iterations);
uint64_t edge_sizeless(uint64_t iterations);

__attribute__((noinline)) static uint64_t edge_chosen_here(uint64_t iterations)
{
    uint64_t x = iterations | 1;
    for (uint64_t i = 0; i < iterations; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        __asm__ volatile("" : "+r"(x));
    }
    return x;
}

static spin_function edge_choose(void)
{
    return edge_chosen_here;
}

uint64_t edge_chosen(uint64_t iterations) __attribute__((ifunc("edge_choose")));

int main(void)
{
    say_ready();
    const struct go go = wait_for_go();
    const uint64_t start_ns = process_ns();
    const struct usage start_usage = usage_now();
    const struct spin spins[] = {
        {"edge_names", edge_names, 30},
        {"nameless", nameless, 25},
        {"edge_sizeless", edge_sizeless, 25},
        {"edge_chosen", edge_chosen, 20},
        {NULL, NULL, 0},
    };
    _Static_assert(sizeof spins / sizeof *spins - 1 <= MAX_SPINS, "room for all");
    struct burner burner = {.spins = spins};
    burn(&burner, go.budget_ns);
    say_account(spins, burner.ns, process_ns() - start_ns, usage_since(start_usage));
    hold_if(go.hold);
    return 0;
}
