/*
 * The target that lives in system calls: part of its time is its own, part the kernel's.
 *
 * `read_zeros` is in the kernel almost all the time (a call fills a mebibyte); `ask_parent` goes
 * in and out as fast as it can. Both enter the kernel by an instruction of their own, so the
 * time that the kernel takes is theirs by address.
 */
#include <fcntl.h>
#include <sys/syscall.h>

#include "hot.h"
#include "slices.h"

static int zero;
static char buffer[1 << 20];

static inline __attribute__((always_inline)) long enter_kernel(long call, long a, long b, long c)
{
#if defined(__x86_64__)
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(call), "D"(a), "S"(b), "d"(c)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = call;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
#else
#error "no system call for this processor yet"
#endif
}

__attribute__((noinline)) uint64_t read_zeros(uint64_t iterations)
{
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < iterations; i++)
        bytes += (uint64_t)enter_kernel(SYS_read, zero, (long)buffer, sizeof buffer);
    return bytes;
}

__attribute__((noinline)) uint64_t ask_parent(uint64_t iterations)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < iterations; i++)
        sum += (uint64_t)enter_kernel(SYS_getppid, 0, 0, 0);
    return sum;
}

static const struct spin spins[] = {
    {"spin_alpha", spin_alpha, 50},
    {"read_zeros", read_zeros, 35},
    {"ask_parent", ask_parent, 15},
    {NULL, NULL, 0},
};

int main(void)
{
    zero = open("/dev/zero", O_RDONLY);
    if (zero < 0)
        die("/dev/zero");
    read_zeros(1); /* the page faults of the first call */

    say_ready();
    const struct go go = wait_for_go();
    const uint64_t start_ns = process_ns();
    const struct usage start_usage = usage_now();
    struct burner burner = {.spins = spins};
    burn(&burner, go.budget_ns);
    say_account(spins, burner.ns, process_ns() - start_ns, usage_since(start_usage));
    hold_if(go.hold);
    return 0;
}
