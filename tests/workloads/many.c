/* Maps its own file COUNT times as text, with gaps between, and is then busy until it is killed.
 *
 * many COUNT */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "spin.h"

int main(int count, char **arguments)
{
    if (count != 2)
        return 2;
    const int file = open(arguments[0], O_RDONLY);
    const long page = sysconf(_SC_PAGESIZE);
    for (int left = atoi(arguments[1]); left > 0; left--) {
        mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
        mmap(NULL, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    for (;;)
        spin();
}
