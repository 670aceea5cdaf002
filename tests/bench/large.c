/* The smallest hot spot, in a text that is far larger than most: its counters fill megabytes. */
#include "one.c"

__asm__(".text\n"
        ".globl never_run\n"
        ".type never_run, %function\n"
        "never_run:\n"
        ".fill 4194304, 1, 0\n"
        ".size never_run, . - never_run\n");
