/* An old program: profiles itself, knows nothing of us, and has a timer of its own. */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/profil.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "burn.h"

/* The header claims that there always is a buffer. */
static unsigned short *volatile no_buffer;

static volatile sig_atomic_t signals, elsewhere;
static double in_alpha, in_beta;

static void on_signal(int number)
{
    (void)number;
    signals++;
    /* In a thread that the program has not started. */
    if (gettid() != getpid())
        elsewhere++;
}

static void own_timer(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    struct itimerval timer = {{0, 10000}, {0, 10000}};
    sigaction(SIGPROF, &action, NULL);
    setitimer(ITIMER_PROF, &timer, NULL);
}

static unsigned short *buffer;
static size_t size;
static char *low;

static unsigned long sum(const char *from, const char *to)
{
    unsigned long ticks = 0;
    for (size_t bin = (size_t)(from - low) / 2; bin < (size_t)(to - low) / 2 && bin < size / 2; bin++)
        ticks += buffer[bin];
    return ticks;
}

static void *thread(void *unused)
{
    burn(0.5, &in_alpha, &in_beta);
    return unused;
}

/* The kernel's clocks that this process holds. */
static int clocks(void)
{
    int clocks = 0;
    for (int fd = 0; fd < 256; fd++) {
        char path[64], target[64] = "";
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        if (readlink(path, target, sizeof target - 1) > 0 && strstr(target, "perf_event"))
            clocks++;
    }
    return clocks;
}

static void report(void)
{
    say("all", (double)sum(low, low + size));
    say("alpha", (double)sum(__start_hot_alpha, __stop_hot_alpha));
    say("beta", (double)sum(__start_hot_beta, __stop_hot_beta));
}

static int regions(double seconds)
{
    static unsigned int first[4096], second[4096], rest[8192];
    struct prof table[] = {
        /* All that lies below the others: ticks there make the C library's own function run out of
         * its table. */
        {rest, sizeof rest, (size_t)__executable_start, 0x10000},
        {first, (size_t)(__stop_hot_alpha - __start_hot_alpha), (size_t)__start_hot_alpha, 0x10000},
        {second, (size_t)(__stop_hot_beta - __start_hot_beta), (size_t)__start_hot_beta, 0x10000},
    };
    struct timeval period = {9, 9};
    if (sprofil(table, 3, &period, PROF_UINT) != 0)
        return 3;
    /* Switching it on takes time of its own. */
    double start = cpu();
    burn(seconds, &in_alpha, &in_beta);
    double used = cpu() - start;
    sprofil(NULL, 0, NULL, 0);
    unsigned long sums[2] = {0};
    for (int i = 0; i < 4096; i++) {
        sums[0] += first[i];
        sums[1] += second[i];
    }
    say("period", (double)period.tv_sec + (double)period.tv_usec / 1e6);
    say("cpu", used);
    say("alpha", (double)sums[0]);
    say("beta", (double)sums[1]);
    say("true", in_alpha / (in_alpha + in_beta));
    return 0;
}

static int child(void)
{
    unsigned long before = sum(low, low + size);
    burn(0.3, &in_alpha, &in_beta);
    usleep(30000);
    say("child's without asking", (double)(sum(low, low + size) - before));
    memset(buffer, 0, size);
    if (profil(buffer, size, (size_t)low, 0x10000) != 0)
        return 4;
    burn(0.3, &in_alpha, &in_beta);
    profil(no_buffer, 0, 0, 0);
    say("child's own", (double)sum(low, low + size));
    return 0;
}

int main(int count, char **words)
{
    const char *mode = count > 1 ? words[1] : "";
    double seconds = count > 2 ? atof(words[2]) : 2;
    bool timed = !strcmp(mode, "timer");
    srand((unsigned)getpid());
    if (!strcmp(mode, "regions"))
        return regions(seconds);
    if (timed)
        own_timer();

    low = __executable_start;
    char *high = etext;
    if (high < __stop_hot_alpha)
        high = __stop_hot_alpha;
    if (high < __stop_hot_beta)
        high = __stop_hot_beta;
    size = (size_t)(high - low + 1) & ~(size_t)1;
    /* The guard must stay as it is. */
    unsigned short *all = calloc(1, size + 64);
    memset((char *)all + size, 0x5a, 64);
    buffer = all;

    if (profil(buffer, size, (size_t)low, 0x10000) != 0)
        return 3;
    double start = cpu();
    if (!strcmp(mode, "threads")) {
        pthread_t other;
        pthread_create(&other, NULL, thread, NULL);
        pthread_join(other, NULL);
    }
    if (!strcmp(mode, "fork")) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(child());
        int status;
        waitpid(pid, &status, 0);
        if (status != 0)
            return 5;
    }
    burn(seconds, &in_alpha, &in_beta);
    double used = cpu() - start;
    say("clocks", clocks());
    if (profil(no_buffer, 0, 0, 0) != 0)
        return 4;
    report();
    say("cpu", used);
    say("true", in_alpha / (in_alpha + in_beta));
    say("signals", (double)signals);
    say("elsewhere", (double)elsewhere);
    for (int i = 0; i < 64; i++)
        if (((char *)all)[size + (size_t)i] != 0x5a)
            return 6;

    unsigned long before = sum(low, low + size);
    burn(0.2, &in_alpha, &in_beta);
    say("clocks left", clocks());
    say("after the end", (double)(sum(low, low + size) - before));
    return 0;
}
