/*
 * The smallest hot spot: one instruction that jumps to itself. A timer on the thread's own CPU
 * clock ends it.
 */
#include <setjmp.h>

#include "target.h"

void spin_one(void);

#if defined(__x86_64__)
#define JUMP_TO_ITSELF "1: jmp 1b\n"
#elif defined(__aarch64__)
#define JUMP_TO_ITSELF "1: b 1b\n"
#else
#error "no jump to itself for this processor yet"
#endif

__asm__(".text\n"
        ".globl spin_one\n"
        ".type spin_one, %function\n"
        ".balign 64\n"
        "spin_one:\n" JUMP_TO_ITSELF
        ".size spin_one, . - spin_one\n");

static sigjmp_buf out;

static void leave(int signal)
{
    siglongjmp(out, signal);
}

int main(void)
{
    if (signal(SIGALRM, leave) == SIG_ERR)
        die("signal");
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    timer_t timer;
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) != 0)
        die("timer_create");

    say_ready();
    const struct go go = wait_for_go();
    const uint64_t start_ns = process_ns();
    const struct usage start_usage = usage_now();
    const struct itimerspec end = {.it_value = {
        .tv_sec = (time_t)(go.budget_ns / NANOSECONDS),
        .tv_nsec = (long)(go.budget_ns % NANOSECONDS),
    }};
    const volatile uint64_t before = thread_ns();
    if (sigsetjmp(out, 1) == 0) {
        if (timer_settime(timer, 0, &end, NULL) != 0)
            die("timer_settime");
        spin_one();
    }
    const uint64_t spun_ns = thread_ns() - before;

    say_split("spin_one", spun_ns);
    say_totals(spun_ns, process_ns() - start_ns, usage_since(start_usage));
    hold_if(go.hold);
    return 0;
}
