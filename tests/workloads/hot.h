/* The three hot functions, wherever they live: in the program, or in a shared object. */
#ifndef HOT_H
#define HOT_H

#include <stdint.h>

uint64_t spin_alpha(uint64_t iterations);
uint64_t spin_beta(uint64_t iterations);
uint64_t spin_gamma(uint64_t iterations);

#endif
