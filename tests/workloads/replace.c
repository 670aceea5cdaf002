/* Runs `one_work` of the library LIB1 for a second of CPU time, unloads it, loads LIB2, which the
 * loader places at the same addresses, and runs its `two_work` for two seconds.
 *
 * replace LIB1 LIB2 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

static void *use(const char *path, double seconds)
{
    void *library = dlopen(path, RTLD_NOW);
    if (!library) {
        puts(dlerror());
        exit(1);
    }
    void (*run)(void) = (void (*)(void))dlsym(library, "run");
    double end = cpu_seconds() + seconds;
    while (cpu_seconds() < end)
        run();
    dlclose(library);
    return (void *)run;
}

int main(int count, char **arguments)
{
    if (count != 3)
        return 2;
    sleep(1);
    void *first = use(arguments[1], 1.0);
    void *second = use(arguments[2], 2.0);
    /* Elsewhere, the test would test nothing. */
    return first == second ? 0 : 3;
}
