/*
 * A target that moves a part of its own text into anonymous memory, at the same addresses, as
 * programs do that want large pages: before it is ready, or with --late when it is told to go.
 */
#include <sys/mman.h>

#include "hot.h"
#include "loop.h"
#include "slices.h"

#define PAGE 65536 /* the largest of any kernel */

__asm__(".section .moved, \"ax\"\n"
        ".balign 65536\n"
        ".globl moved\n"
        ".type moved, %function\n"
        "moved:\n" LOOP
        ".size moved, . - moved\n"
        ".balign 65536\n"
        ".text\n");

uint64_t moved(uint64_t iterations);

static void move(void)
{
    void *text;
    const spin_function function = moved;
    memcpy(&text, &function, sizeof text);
    void *copy = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED)
        die("mmap");
    memcpy(copy, text, PAGE);
    if (mprotect(copy, PAGE, PROT_READ | PROT_EXEC) != 0)
        die("mprotect");
    if (mremap(copy, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, text) != text)
        die("mremap");
    __builtin___clear_cache(text, (char *)text + PAGE);
}

int main(int argc, char **argv)
{
    const bool late = argc > 1 && strcmp(argv[1], "--late") == 0;
    if (!late)
        move();
    say_ready();
    const struct go go = wait_for_go();
    if (late)
        move();
    const uint64_t start_ns = process_ns();
    const struct usage start_usage = usage_now();
    const struct spin spins[] = {
        {"moved", moved, 60}, {"spin_alpha", spin_alpha, 40}, {NULL, NULL, 0},
    };
    struct burner burner = {.spins = spins};
    burn(&burner, go.budget_ns);
    say_account(spins, burner.ns, process_ns() - start_ns, usage_since(start_usage));
    hold_if(go.hold);
    return 0;
}
