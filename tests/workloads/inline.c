/*
 * A target whose hot loops are inlined: `mix` into two functions, `whirl` into `mill`, and that
 * into one more. Each loop is on a line of its own, marked at its end. The account is by the
 * functions that were inlined into.
 */
#include "slices.h"

#define INLINED static inline __attribute__((always_inline))

INLINED uint64_t mix(uint64_t n)
{
    uint64_t x = n | 1;
    for (; n > 0; n--) { x = x * 6364136223846793005ULL + n; __asm__ volatile("" : "+r"(x)); } /* mix */
    return x;
}

INLINED uint64_t whirl(uint64_t n)
{
    uint64_t x = n | 1;
    for (; n > 0; n--) { x ^= x << 13; x ^= x >> 7; __asm__ volatile("" : "+r"(x)); } /* whirl */
    return x;
}

INLINED uint64_t mill(uint64_t n)
{
    return whirl(n) + 1;
}

__attribute__((noinline)) uint64_t first(uint64_t iterations)
{
    return mix(iterations);
}

__attribute__((noinline)) uint64_t second(uint64_t iterations)
{
    return mix(iterations) + 2;
}

__attribute__((noinline)) uint64_t third(uint64_t iterations)
{
    return mill(iterations) + 3;
}

int main(void)
{
    say_ready();
    const struct go go = wait_for_go();
    const uint64_t start_ns = process_ns();
    const struct usage start_usage = usage_now();
    const struct spin spins[] = {
        {"first", first, 50}, {"second", second, 20}, {"third", third, 30}, {NULL, NULL, 0},
    };
    struct burner burner = {.spins = spins};
    burn(&burner, go.budget_ns);
    say_account(spins, burner.ns, process_ns() - start_ns, usage_since(start_usage));
    hold_if(go.hold);
    return 0;
}
