/*
 * A 32-bit program without a library, busy until it is killed: three parts of its time in
 * `three_parts`, one in `one_part`, which are alike.
 */
#define LOOP(iterations)                                                                          \
    unsigned x = seed | 1;                                                                        \
    for (unsigned i = 0; i < (iterations); i++) {                                                 \
        x ^= x << 13;                                                                             \
        x ^= x >> 17;                                                                             \
        x ^= x << 5;                                                                              \
        __asm__ volatile("" : "+r"(x));                                                           \
    }                                                                                             \
    return x

__attribute__((noinline)) unsigned three_parts(unsigned seed)
{
    LOOP(3 * (seed & 4095));
}

__attribute__((noinline)) unsigned one_part(unsigned seed)
{
    LOOP(seed & 4095);
}

__attribute__((noreturn)) void _start(void)
{
    /* For how long is drawn at random, for both, so that no clock can beat with it. */
    for (unsigned seed = 1;; seed = seed * 1664525 + 1013904223) {
        three_parts(seed >> 16);
        one_part(seed >> 16);
    }
}
