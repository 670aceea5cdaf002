/* Two functions that burn CPU time, each in a section of its own so that its place is known. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef IN_TEXT
#define PLACE(name)
#else
#define PLACE(name) , section("hot_" #name)
#endif

#define SPIN(name)                                                                             \
    __attribute__((noinline PLACE(name))) void name(void)                           \
    {                                                                                          \
        for (volatile int i = 0; i < 200000; i++)                                              \
            ;                                                                                  \
    }                                                                                          \
    extern char __start_hot_##name[], __stop_hot_##name[];

SPIN(alpha)
SPIN(beta)

extern char __executable_start[], etext[];

static double cpu_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static inline double cpu(void) { return cpu_of(CLOCK_PROCESS_CPUTIME_ID); }

/* Burns that many seconds of this thread, by chance two thirds in alpha. Adds up what each took. */
static void burn(double seconds, double *in_alpha, double *in_beta)
{
    double now = cpu_of(CLOCK_THREAD_CPUTIME_ID), end = now + seconds;
    while (now < end) {
        int first = rand() % 3 != 0;
        (first ? alpha : beta)();
        double then = cpu_of(CLOCK_THREAD_CPUTIME_ID);
        *(first ? in_alpha : in_beta) += then - now;
        now = then;
    }
}

static void say(const char *key, double value)
{
    printf("%s %.6f\n", key, value);
    fflush(stdout);
}
