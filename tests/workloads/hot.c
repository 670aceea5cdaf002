/*
 * Three functions that burn time in loops of their own. No two are alike, so that no compiler
 * folds them into one, and the empty asm keeps it from working out the result.
 *
 * With HOT_SECTIONS each has a section of its own, which the linker can be told to place.
 */
#include "hot.h"

#ifdef HOT_SECTIONS
#define PLACED(name) __attribute__((noinline, section(name)))
#else
#define PLACED(name) __attribute__((noinline))
#endif

PLACED(".hot_alpha") uint64_t spin_alpha(uint64_t iterations)
{
    uint64_t x = iterations | 1;
    for (uint64_t i = 0; i < iterations; i++) {
        x = x * 6364136223846793005ULL + 1442695040888963407ULL;
        __asm__ volatile("" : "+r"(x));
    }
    return x;
}

PLACED(".hot_beta") uint64_t spin_beta(uint64_t iterations)
{
    uint64_t x = iterations | 1;
    for (uint64_t i = 0; i < iterations; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        __asm__ volatile("" : "+r"(x));
    }
    return x;
}

PLACED(".hot_gamma") uint64_t spin_gamma(uint64_t iterations)
{
    uint64_t x = iterations, sum = 0;
    for (uint64_t i = 0; i < iterations; i++) {
        x = (x >> 3) + 77;
        sum += x * x;
        __asm__ volatile("" : "+r"(x), "+r"(sum));
    }
    return sum;
}
