/*
 * Runs a program in a container of its own: as process 1 of a new PID namespace, with an empty
 * /tmp, and with another file mounted over it, which is what really runs.
 *
 *   contain OTHER PROGRAM ARGS...
 */
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "target.h"

extern char **environ;

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (unshare(CLONE_NEWNS | CLONE_NEWPID) != 0)
        die("unshare");
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        die("mount /");
    if (mount(argv[1], argv[2], NULL, MS_BIND, NULL) != 0)
        die(argv[2]);
    /* Before it can be hidden. */
    const int program = open(argv[2], O_PATH);
    if (program < 0)
        die(argv[2]);
    if (mount("none", "/tmp", "tmpfs", 0, NULL) != 0)
        die("mount /tmp");
    const pid_t child = fork();
    if (child < 0)
        die("fork");
    if (child == 0) {
        fexecve(program, argv + 2, environ);
        die("fexecve");
    }
    int status;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
