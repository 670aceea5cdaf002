/* A function that keeps a CPU busy for a while, for targets that keep no account. */
static volatile unsigned long spun;

__attribute__((noinline, unused)) static void spin(void)
{
    for (int i = 0; i < 1000000; i++)
        spun += i;
}

/* The same for a moment, some tens of microseconds: for whoever looks at the clock in between. */
__attribute__((noinline, unused)) static void spin_briefly(void)
{
    for (int i = 0; i < 10000; i++)
        spun += i;
}
