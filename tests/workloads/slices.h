/*
 * Burns CPU time in slices of 0.3 to 1 ms. What runs in a slice, and for how long, is drawn at
 * random, so that no sampling clock can beat with it; how long it really took is measured.
 */
#ifndef SLICES_H
#define SLICES_H

#include "target.h"

#define MAX_SPINS 4
#define SLICE_MIN_NS 300000
#define SLICE_MAX_NS 1000000

/* A function that burns time in proportion to its argument, in its own instructions alone. */
typedef uint64_t (*spin_function)(uint64_t iterations);

/* A function to burn time in. */
struct spin {
    const char *name;
    spin_function run;
    unsigned weight; /* chance to be drawn, as a part of the sum of the weights */
};

/* What a thread burns and has burnt. Zero all but `spins`. */
struct burner {
    const struct spin *spins; /* ended by a name of NULL */
    uint64_t ns[MAX_SPINS];   /* burnt so far, by spin */
    uint64_t random;
};

/* What one iteration of each spin takes, as last seen by any thread; 0 is not known yet. */
static uint64_t iteration_ps[MAX_SPINS];

/* How many iterations should fill a slice. The first is a guess on the short side. */
static inline uint64_t iterations_for(int spin, uint64_t slice_ns)
{
    const uint64_t each_ps = __atomic_load_n(&iteration_ps[spin], __ATOMIC_RELAXED);
    const uint64_t iterations = each_ps > 0 ? slice_ns * 1000 / each_ps : 1;
    return iterations > 0 ? iterations : 1;
}

/* Learns from a slice. Halves the estimate at most, so that a reading of almost nothing does
 * not lead to a huge slice. */
static inline void learn(int spin, uint64_t iterations, uint64_t took_ns)
{
    const uint64_t each_ps = __atomic_load_n(&iteration_ps[spin], __ATOMIC_RELAXED);
    uint64_t seen_ps = took_ns * 1000 / iterations;
    if (seen_ps < each_ps / 2)
        seen_ps = each_ps / 2;
    __atomic_store_n(&iteration_ps[spin], seen_ps > 0 ? seen_ps : 1, __ATOMIC_RELAXED);
}

/* xorshift64*: good enough to be incommensurate with a clock. */
static inline uint64_t draw(struct burner *burner)
{
    uint64_t x = burner->random;
    if (x == 0) {
        x = clock_ns(CLOCK_MONOTONIC) * 0x9e3779b97f4a7c15ULL ^ (uint64_t)(uintptr_t)burner;
        x ^= (uint64_t)getpid() << 32;
        x |= 1;
    }
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    burner->random = x;
    return (x * 0x2545f4914f6cdd1dULL) >> 16;
}

static inline int draw_spin(struct burner *burner)
{
    unsigned sum = 0;
    for (const struct spin *spin = burner->spins; spin->name != NULL; spin++)
        sum += spin->weight;
    unsigned at = (unsigned)(draw(burner) % sum);
    int chosen = 0;
    while (at >= burner->spins[chosen].weight)
        at -= burner->spins[chosen++].weight;
    return chosen;
}

/* Burns about `budget_ns` of the calling thread's CPU time. */
static inline void burn(struct burner *burner, uint64_t budget_ns)
{
    const uint64_t start = thread_ns();
    uint64_t after = start;
    while (after - start < budget_ns) {
        const int chosen = draw_spin(burner);
        const uint64_t slice_ns = SLICE_MIN_NS + draw(burner) % (SLICE_MAX_NS - SLICE_MIN_NS);
        const uint64_t iterations = iterations_for(chosen, slice_ns);

        const uint64_t before = thread_ns();
        burner->spins[chosen].run(iterations);
        after = thread_ns();

        burner->ns[chosen] += after - before;
        learn(chosen, iterations, after - before);
    }
}

/* Adds what one thread burnt to another account of the same spins. */
static inline void add_burnt(uint64_t sum[MAX_SPINS], const struct burner *burner)
{
    for (int i = 0; i < MAX_SPINS; i++)
        __atomic_fetch_add(&sum[i], burner->ns[i], __ATOMIC_RELAXED);
}

/* Prints the account of a window. */
static inline void say_account(const struct spin *spins, const uint64_t ns[MAX_SPINS],
                               uint64_t total_ns, struct usage usage)
{
    uint64_t named_ns = 0;
    for (int i = 0; spins[i].name != NULL; i++) {
        say_split(spins[i].name, ns[i]);
        named_ns += ns[i];
    }
    say_totals(named_ns, total_ns, usage);
}

#endif
