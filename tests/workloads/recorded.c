/* For `-pg`: two thirds of its time in one function, one third in another, both of them long, so that no
 * single bin of the profile matters. Runs for as many hundredths of a second as it is told. */

#include <stdlib.h>
#include <time.h>

#define TWICE(work) work work
#define MANY(work) TWICE(TWICE(TWICE(TWICE(TWICE(TWICE(work))))))

volatile unsigned long sink;

void spin_alpha(long rounds)
{
    while (rounds-- > 0) {
        MANY(sink = sink * 3 + 1;)
    }
}

/* A local name, which gprof knows too. */
static void __attribute__((noinline, noclone)) spin_beta(long rounds)
{
    while (rounds-- > 0) {
        MANY(sink = sink * 5 + 1;)
    }
}

int main(int argc, char **argv)
{
    clock_t end = (argc > 1 ? atol(argv[1]) : 100) * (CLOCKS_PER_SEC / 100);
    while (clock() < end) {
        spin_alpha(2000);
        spin_beta(1000);
    }
    return 0;
}
