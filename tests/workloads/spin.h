/* A function that keeps a CPU busy for a while, for targets that keep no account. */
static volatile unsigned long spun;

__attribute__((noinline)) static void spin(void)
{
    for (int i = 0; i < 1000000; i++)
        spun += i;
}
