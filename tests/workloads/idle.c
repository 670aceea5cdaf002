/* A target that uses no CPU time: after "go" it sleeps for the seconds that it was given. */
#include "target.h"

int main(void)
{
    say_ready();
    const struct go go = wait_for_go();
    const uint64_t start_ns = process_ns();
    const struct usage start_usage = usage_now();
    const struct timespec nap = {
        .tv_sec = (time_t)(go.budget_ns / NANOSECONDS),
        .tv_nsec = (long)(go.budget_ns % NANOSECONDS),
    };
    nanosleep(&nap, NULL);
    say_totals(0, process_ns() - start_ns, usage_since(start_usage));
    hold_if(go.hold);
    return 0;
}
