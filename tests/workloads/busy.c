/* Busy in one function until it is killed. */
#include "spin.h"

int main(void)
{
    for (;;)
        spin();
}
