/* A new program: profiles its child through the header. */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "burn.h"
#include "profil_bpf.h"

static uint64_t wide[4096];
static unsigned short narrow[4096];

static double sum_wide(void)
{
    uint64_t sum = 0;
    for (int i = 0; i < 4096; i++)
        sum += wide[i];
    return (double)sum;
}

int main(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        double unused = 0;
        for (;;)
            burn(1, &unused, &unused);
    }
    size_t text = (size_t)(__stop_hot_alpha - __start_hot_alpha);
    /* A counter for two bytes of text, of eight bytes here and of two there. */
    profil_bpf *one =
        profil_attach(pid, wide, text / 2 * 8, (size_t)__start_hot_alpha, 0x10000, 997, "modern");
    profil_bpf *other =
        profil_attach(pid, narrow, text, (size_t)__start_hot_alpha, 0x10000, 997, NULL);
    if (!one || !other) {
        fprintf(stderr, "%s\n", profil_error());
        return 3;
    }
    usleep(500000);
    if (profil_read(one) != 0)
        return 4;
    say("early", sum_wide());
    usleep(500000);
    profil_pause(one);
    struct profil_balance balance;
    if (profil_balance(one, &balance) != 0)
        return 4;
    say("seen", (double)balance.seen);
    say("counted", (double)balance.counted);
    say("due", (double)balance.due);
    usleep(200000);
    profil_resume(one);
    usleep(200000);
    if (profil_detach(one) != 0 || profil_detach(other) != 0 || profil_detach(NULL) != 0)
        return 4;
    say("wide", sum_wide());
    unsigned long sum = 0;
    for (int i = 0; i < 4096; i++)
        sum += narrow[i];
    say("narrow", (double)sum);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);

    errno = 0;
    if (profil_attach(pid, narrow, 64, 0x1000, 0x10000, 0, NULL) != NULL || errno != ESRCH)
        return 5;
    if (strstr(profil_error(), "process") == NULL)
        return 5;
    if (profil_attach(0, narrow, 64, 0x1000, 0x10001, 0, "bsd44") != NULL || errno != EINVAL)
        return 6;
    if (profil_attach(0, narrow, 64, 0x1000, 0x10000, 0, "nosuch") != NULL || errno != EINVAL)
        return 7;
    if (profil_attach(0, NULL, 64, 0x1000, 0x10000, 0, NULL) != NULL || errno != EINVAL)
        return 8;
    if (profil_attach(0, narrow, 64, 0x1000, 0x10000, 1000000, NULL) != NULL || errno != EINVAL)
        return 9;
    if (profil_attach(0, narrow, (size_t)1 << 40, 0x1000, 0x10000, 0, NULL) != NULL || errno != ENOMEM)
        return 10;
    if (profil_read(NULL) != -1 || errno != EINVAL)
        return 11;
    return 0;
}
