/*
 * A target that asks for the time as fast as it can: it takes the kernel's code for user mode
 * (vdso(7)), and no system call. The clock is one that needs no hardware.
 */
#include "hot.h"
#include "slices.h"

__attribute__((noinline)) uint64_t ask_clock(uint64_t iterations)
{
    uint64_t sum = 0;
    struct timespec now;
    for (uint64_t i = 0; i < iterations; i++) {
        clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
        sum += (uint64_t)now.tv_nsec;
    }
    return sum;
}

int main(void)
{
    say_ready();
    const struct go go = wait_for_go();
    const uint64_t start_ns = process_ns();
    const struct usage start_usage = usage_now();
    const struct spin spins[] = {
        {"ask_clock", ask_clock, 60}, {"spin_alpha", spin_alpha, 40}, {NULL, NULL, 0},
    };
    struct burner burner = {.spins = spins};
    burn(&burner, go.budget_ns);
    say_account(spins, burner.ns, process_ns() - start_ns, usage_since(start_usage));
    hold_if(go.hold);
    return 0;
}
