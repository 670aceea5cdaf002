/* A library whose `run` works in a function that the build names: -DWORK=name. */
static volatile unsigned long sum;

__attribute__((noinline)) void WORK(void)
{
    for (int i = 0; i < 100000; i++)
        sum += i;
}

void run(void)
{
    WORK();
}
