/* A program that profiles itself in the way of old: ITIMER_PROF at 100 Hz and a handler for
 * SIGPROF. After the CPU seconds in its argument it prints how many signals came and how much CPU
 * time it used, in nanoseconds.
 *
 * itimer SECONDS */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

#include "spin.h"

static volatile sig_atomic_t signals;

static void count(int number)
{
    (void)number;
    signals++;
}

static long long cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    struct sigaction action = {.sa_handler = count, .sa_flags = SA_RESTART};
    sigaction(SIGPROF, &action, NULL);
    const struct itimerval every = {{0, 10000}, {0, 10000}};
    const long long start = cpu_ns(), end = start + (long long)(atof(argv[1]) * 1e9);
    setitimer(ITIMER_PROF, &every, NULL);
    while (cpu_ns() < end)
        spin();
    const struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_PROF, &never, NULL);
    printf("%d %lld\n", (int)signals, cpu_ns() - start);
    return 0;
}
