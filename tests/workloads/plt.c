/*
 * A target that calls the same small function of a library as fast as it can, by way of the
 * procedure linkage table. The account is of the whole way.
 */
#include "hot.h"
#include "slices.h"

/* Of the library. */
uint64_t step(uint64_t x);

__attribute__((noinline)) uint64_t call_often(uint64_t iterations)
{
    uint64_t x = 1;
    for (uint64_t i = 0; i < iterations; i++)
        x = step(x);
    return x;
}

int main(void)
{
    say_ready();
    const struct go go = wait_for_go();
    const uint64_t start_ns = process_ns();
    const struct usage start_usage = usage_now();
    const struct spin spins[] = {
        {"call_often", call_often, 60}, {"spin_alpha", spin_alpha, 40}, {NULL, NULL, 0},
    };
    struct burner burner = {.spins = spins};
    burn(&burner, go.budget_ns);
    say_account(spins, burner.ns, process_ns() - start_ns, usage_since(start_usage));
    hold_if(go.hold);
    return 0;
}
