/* Makes names, and is busy until it is killed.
 *
 * restless names          calls itself something else a thousand times a second
 * restless objects COUNT  maps COUNT objects of a page each, and spends its time in all of them */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "spin.h"

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static void names(void)
{
    char name[16];
    uint64_t next = now_ns();
    for (unsigned number = 0;; number++) {
        snprintf(name, sizeof name, "n%u", number);
        prctl(PR_SET_NAME, name);
        next += 1000000;
        while (now_ns() < next)
            spin_briefly();
    }
}

/* A page of code: count down, and return. The count is given. */
#if defined(__x86_64__)
static const unsigned char code[] = {0xff, 0xcf, 0x75, 0xfc, 0xc3};
#else
static const unsigned char code[] = {0x00, 0x04, 0x00, 0x71, 0xe1, 0xff, 0xff, 0x54, 0xc0, 0x03, 0x5f, 0xd6};
#endif

static void objects(int count)
{
    char dir[] = "/tmp/restless-XXXXXX", path[64];
    void (**functions)(int) = calloc(count, sizeof *functions);
    if (functions == NULL || mkdtemp(dir) == NULL)
        _exit(70);
    for (int number = 0; number < count; number++) {
        snprintf(path, sizeof path, "%s/%d.so", dir, number);
        FILE *file = fopen(path, "w+");
        if (file == NULL)
            _exit(71);
        fwrite(code, sizeof code, 1, file);
        fflush(file);
        void *text = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(file), 0);
        if (text == MAP_FAILED)
            _exit(72);
        functions[number] = text;
        fclose(file);
        unlink(path);
    }
    rmdir(dir);
    for (unsigned number = 0;; number++)
        functions[number % count](20000);
}

int main(int count, char **arguments)
{
    if (count == 2 && strcmp(arguments[1], "names") == 0)
        names();
    if (count == 3 && strcmp(arguments[1], "objects") == 0)
        objects(atoi(arguments[2]));
    return 2;
}
