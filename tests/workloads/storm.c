/* A storm of short-lived processes: COUNT children, one after the other on each of LANES lanes, each
 * of which executes this program anew, burns MS milliseconds of CPU time in `spin`, and is gone. In the
 * end it says what all of them used: "burnt NANOSECONDS".
 *
 * storm COUNT MS LANES */
#include "spin.h"
#include "target.h"

#include <sys/wait.h>

static int child(uint64_t life_ns)
{
    while (process_ns() < life_ns)
        spin_briefly();
    return 0;
}

static void start(const char *program, const char *milliseconds)
{
    const pid_t pid = fork();
    if (pid < 0)
        die("fork");
    if (pid == 0) {
        execl(program, "storm-child", milliseconds, NULL);
        die("execl");
    }
}

int main(int argc, char **argv)
{
    if (argc == 2)
        return child(strtoull(argv[1], NULL, 10) * 1000000);
    if (argc != 4)
        return 2;
    int left = atoi(argv[1]);
    int running = 0;
    for (; running < atoi(argv[3]) && left > 0; left--, running++)
        start(argv[0], argv[2]);
    for (; running > 0; running--) {
        int status = 0;
        if (wait(&status) < 0)
            die("wait");
        if (status != 0)
            return 1;
        if (left > 0) {
            start(argv[0], argv[2]);
            left--;
            running++;
        }
    }
    struct rusage usage;
    if (getrusage(RUSAGE_CHILDREN, &usage) != 0)
        die("getrusage");
    const uint64_t us = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
                        (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    printf("burnt %" PRIu64 "\n", us * 1000);
    return 0;
}
