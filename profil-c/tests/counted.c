/* To be built with -pg: its start-up code profiles it. */
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

/* Where the start-up code looks: below etext. */
#define IN_TEXT
#include "burn.h"

/* In no header. */
extern void moncontrol(int mode);

static volatile sig_atomic_t signals;

static void on_signal(int number)
{
    (void)number;
    signals++;
}

int main(int count, char **words)
{
    double in_alpha = 0, in_beta = 0;
    srand((unsigned)getpid());
    if (count > 2) {
        struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
        struct itimerval timer = {{0, 10000}, {0, 10000}};
        sigaction(SIGPROF, &action, NULL);
        setitimer(ITIMER_PROF, &timer, NULL);
    }
    double start = cpu();
    burn(atof(words[1]), &in_alpha, &in_beta);
    double used = cpu() - start;
    if (count > 3) {
        moncontrol(0);
        double not_counted = 0;
        burn(0.5, &not_counted, &not_counted);
        moncontrol(1);
        start = cpu();
        burn(0.5, &in_alpha, &in_beta);
        used += cpu() - start;
    }
    say("cpu", used);
    say("true", in_alpha / (in_alpha + in_beta));
    say("signals", (double)signals);
    struct sigaction now;
    sigaction(SIGPROF, NULL, &now);
    say("own handler", now.sa_handler == on_signal);
    return 0;
}
