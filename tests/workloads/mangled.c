/*
 * A target whose functions are called as compilers of other languages call theirs.
 */
#include "loop.h"
#include "slices.h"

#define FUNCTION(symbol)                                                                          \
    __asm__(".text\n"                                                                             \
            ".balign 16\n"                                                                        \
            ".globl " symbol "\n"                                                                 \
            ".type " symbol ", %function\n" symbol ":\n" LOOP ".size " symbol ", . - " symbol "\n")

#define CPP "_ZN4area5shape5turnsImEEmT_"
#define LEGACY "_ZN4area5shape4turn17h0123456789abcdefE"
#define V0 "_RINvNtCs4fqI2P2rA04_4area5shape4turnmE"
/* Go writes its names out. */
#define GO "\"main.(*Shape[go.shape.int]).Turn\""

FUNCTION(CPP);
FUNCTION(LEGACY);
FUNCTION(V0);
FUNCTION(GO);

uint64_t cpp(uint64_t iterations) __asm__(CPP);
uint64_t legacy(uint64_t iterations) __asm__(LEGACY);
uint64_t v0(uint64_t iterations) __asm__(V0);

/* A compiler of C does not quote. */
extern const spin_function go_turn;
__asm__(".section .data.rel.ro, \"aw\"\n"
        ".balign 8\n"
        "go_turn: .quad " GO "\n"
        ".text\n");

int main(void)
{
    say_ready();
    const struct go go = wait_for_go();
    const uint64_t start_ns = process_ns();
    const struct usage start_usage = usage_now();
    const struct spin spins[] = {
        {"cpp", cpp, 50}, {"legacy", legacy, 20}, {"v0", v0, 15}, {"go", go_turn, 15}, {NULL, NULL, 0},
    };
    struct burner burner = {.spins = spins};
    burn(&burner, go.budget_ns);
    say_account(spins, burner.ns, process_ns() - start_ns, usage_since(start_usage));
    hold_if(go.hold);
    return 0;
}
