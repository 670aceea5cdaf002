/*
 * A target with code that belongs to no file: after "go" it maps an anonymous page, copies a
 * loop into it and runs it there, half of the time. The other half it is in spin_alpha.
 *
 *   jit                it keeps to itself what the code is
 *   jit --perf-map     it says so in /tmp/perf-PID.map, by its own number
 */
#include <sys/mman.h>

#include "hot.h"
#include "loop.h"
#include "slices.h"

/* Global, because an assembler may refer to local symbols by their section: then both are one
 * entry of the global offset table. */
extern const char jit_code[], jit_code_end[];
__asm__(".globl jit_code, jit_code_end\n"
        ".text\n"
        "jit_code:\n" LOOP
        "jit_code_end:\n");

static spin_function copy_code(void)
{
    const size_t size = (size_t)(jit_code_end - jit_code);
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        die("mmap");
    memcpy(page, jit_code, size);
    if (mprotect(page, 4096, PROT_READ | PROT_EXEC) != 0)
        die("mprotect");
    __builtin___clear_cache(page, page + size);
    spin_function function;
    memcpy(&function, &page, sizeof function);
    return function;
}

/* Says what the code is, beside code that is nowhere near. */
static void write_perf_map(spin_function function)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    FILE *map = fopen(path, "w");
    if (map == NULL)
        die(path);
    const size_t size = (size_t)(jit_code_end - jit_code);
    fprintf(map, "1000 10 elsewhere\n%lx %zx JS:~made here.js:1\n", (unsigned long)(uintptr_t)function, size);
    fclose(map);
}

int main(int argc, char **argv)
{
    say_ready();
    const struct go go = wait_for_go();
    const spin_function jit = copy_code();
    if (argc > 1 && strcmp(argv[1], "--perf-map") == 0)
        write_perf_map(jit);
    const uint64_t start_ns = process_ns();
    const struct usage start_usage = usage_now();
    const struct spin spins[] = {
        {"spin_alpha", spin_alpha, 50},
        {"jit", jit, 50},
        {NULL, NULL, 0},
    };
    struct burner burner = {.spins = spins};
    burn(&burner, go.budget_ns);
    say_account(spins, burner.ns, process_ns() - start_ns, usage_since(start_usage));
    hold_if(go.hold);
    return 0;
}
