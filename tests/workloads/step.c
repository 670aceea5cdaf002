/* A function that is over at once. */
#include <stdint.h>

uint64_t step(uint64_t x)
{
    return x * 6364136223846793005ULL + 1442695040888963407ULL;
}
