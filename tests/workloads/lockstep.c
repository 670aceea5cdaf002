/*
 * A target in step with a timer: it wakes every 10 ms by the wall clock and burns 2 ms of its own
 * CPU time in spin_alpha, then 1 ms in spin_beta. A clock of the same beat sees it always at the
 * same place, or never. It stays on one CPU, so that a clock of that CPU has one phase.
 */
#include <sched.h>

#include "hot.h"
#include "slices.h"

#define CYCLE_NS 10000000
/* Less than this is not worth a call: the reading of the clock would be most of it. */
#define LEAST_NS 2000

static const struct spin spins[] = {
    {"spin_alpha", spin_alpha, 2},
    {"spin_beta", spin_beta, 1},
    {NULL, NULL, 0},
};

/* Iterations that take about a millisecond, for each spin. */
static uint64_t millisecond[2];

static void calibrate(int spin)
{
    const uint64_t iterations = 1000000;
    const uint64_t before = thread_ns();
    spins[spin].run(iterations);
    const uint64_t took_ns = thread_ns() - before;
    millisecond[spin] = iterations * 1000000 / (took_ns > 0 ? took_ns : 1);
}

/* Burns very nearly as much as it is told, and returns how much that was. */
static uint64_t burn_exactly(int spin, uint64_t budget_ns)
{
    const uint64_t start = thread_ns();
    uint64_t used_ns = 0;
    while (used_ns + LEAST_NS < budget_ns) {
        spins[spin].run((budget_ns - used_ns) * millisecond[spin] / 1000000 + 1);
        used_ns = thread_ns() - start;
    }
    return used_ns;
}

static void stay_on_one_cpu(void)
{
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET((size_t)sched_getcpu(), &here);
    if (sched_setaffinity(0, sizeof here, &here) != 0)
        die("sched_setaffinity");
}

int main(void)
{
    stay_on_one_cpu();
    calibrate(0);
    calibrate(1);
    say_ready();
    const struct go go = wait_for_go();
    const uint64_t start_ns = process_ns();
    const struct usage start_usage = usage_now();
    uint64_t burnt_ns[MAX_SPINS] = {0};
    uint64_t wake_ns = clock_ns(CLOCK_MONOTONIC);
    while (process_ns() - start_ns < go.budget_ns) {
        /* The next multiple of the cycle, also after the machine was busy elsewhere. */
        wake_ns += CYCLE_NS;
        const uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
        if (wake_ns < now_ns)
            wake_ns += (now_ns - wake_ns) / CYCLE_NS * CYCLE_NS + CYCLE_NS;
        const struct timespec wake = {
            .tv_sec = (time_t)(wake_ns / NANOSECONDS),
            .tv_nsec = (long)(wake_ns % NANOSECONDS),
        };
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL);
        burnt_ns[0] += burn_exactly(0, 2000000);
        burnt_ns[1] += burn_exactly(1, 1000000);
    }
    say_account(spins, burnt_ns, process_ns() - start_ns, usage_since(start_usage));
    hold_if(go.hold);
    return 0;
}
