/* A target that does not wait: it is ready, and after the microseconds in its argument it is
 * gone. It is busy in between, so that whoever attaches meets a running thread. */
#include "target.h"

int main(int argc, char **argv)
{
    const uint64_t life_ns = argc > 1 ? strtoull(argv[1], NULL, 10) * 1000 : 0;
    say_ready();
    const uint64_t start = clock_ns(CLOCK_MONOTONIC);
    while (clock_ns(CLOCK_MONOTONIC) - start < life_ns)
        continue;
    return 0;
}
