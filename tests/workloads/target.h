/*
 * What every target shares: the handshake with the harness, and the clocks.
 *
 * A target prints "ready PID", waits for the line "go SECONDS" or "go SECONDS hold", does its
 * work, and prints what it measured: lines "split NAME NANOSECONDS", then "other NANOSECONDS",
 * "total NANOSECONDS" and "rusage USER_US SYSTEM_US". Then it exits with 0, or, told to hold,
 * sleeps until it is killed.
 */
#ifndef TARGET_H
#define TARGET_H

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <signal.h>

#define NANOSECONDS 1000000000ULL

/* What the harness asked for. */
struct go {
    uint64_t budget_ns; /* CPU time to burn */
    bool hold;          /* sleep afterwards, until killed */
};

/* CPU time of the process in both modes, by getrusage, in microseconds. */
struct usage {
    uint64_t user_us, system_us;
};

static inline void die(const char *what)
{
    fprintf(stderr, "target: %s: %s\n", what, strerror(errno));
    _exit(70);
}

static inline uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    if (clock_gettime(clock, &now) != 0)
        die("clock_gettime");
    return (uint64_t)now.tv_sec * NANOSECONDS + (uint64_t)now.tv_nsec;
}

/* CPU time of the calling thread. */
static inline uint64_t thread_ns(void)
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* CPU time of all threads of the process, dead ones included. */
static inline uint64_t process_ns(void)
{
    return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static inline struct usage usage_now(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0)
        die("getrusage");
    return (struct usage){
        .user_us = (uint64_t)usage.ru_utime.tv_sec * 1000000 + (uint64_t)usage.ru_utime.tv_usec,
        .system_us = (uint64_t)usage.ru_stime.tv_sec * 1000000 + (uint64_t)usage.ru_stime.tv_usec,
    };
}

static inline struct usage usage_since(struct usage start)
{
    struct usage now = usage_now();
    return (struct usage){now.user_us - start.user_us, now.system_us - start.system_us};
}

/* Says that everything is in place for the profiler to attach. */
static inline void say_ready(void)
{
    /* Nothing that the harness starts may outlive it. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
}

/* Waits for the harness. Ends the process quietly if the harness closed the pipe instead. */
static inline struct go wait_for_go(void)
{
    char line[128], word[16] = "";
    double seconds = 0;
    if (fgets(line, sizeof line, stdin) == NULL)
        _exit(0);
    if (sscanf(line, "go %lf %15s", &seconds, word) < 1) {
        fprintf(stderr, "target: not understood: %s", line);
        _exit(70);
    }
    return (struct go){
        .budget_ns = (uint64_t)(seconds * (double)NANOSECONDS),
        .hold = strcmp(word, "hold") == 0,
    };
}

static inline void say_split(const char *name, uint64_t ns)
{
    printf("split %s %" PRIu64 "\n", name, ns);
}

/* The end of the account. `named_ns` is the sum of the splits. */
static inline void say_totals(uint64_t named_ns, uint64_t total_ns, struct usage usage)
{
    printf("other %" PRIu64 "\n", total_ns > named_ns ? total_ns - named_ns : 0);
    printf("total %" PRIu64 "\n", total_ns);
    printf("rusage %" PRIu64 " %" PRIu64 "\n", usage.user_us, usage.system_us);
    fflush(stdout);
}

static inline void hold_if(bool hold)
{
    while (hold)
        pause();
}

#endif
