/* A slow warm-up: 20000 intervals of 1000 lengths up to a thousand million ticks, then 1000 in each tenth of a second that take
 * 1000 to 10900; 10000 more come after one of four thousand million. */
#define _GNU_SOURCE
#include "tailtrace.h"

#include <time.h>

static void pause_ms(long ms)
{
    struct timespec pause = {0, ms * 1000000L};
    nanosleep(&pause, NULL);
}

static void fast(uint64_t count)
{
    for (uint64_t key = 0; key < count; key++)
        tailtrace_end_since("order", key, tailtrace_now() - 1000 - key % 100 * 100);
}

int main(int count, char **arguments)
{
    if (count < 2 || tailtrace_open(arguments[1]) != 0)
        return 2;
    for (uint64_t key = 0; key < 20000; key++)
        tailtrace_end_since("order", key, tailtrace_now() - 1000000 * (1 + key % 1000));
    pause_ms(250);
    for (int turn = 0; turn < 16; turn++) {
        fast(1000);
        pause_ms(110);
    }
    tailtrace_end_since("order", 0, tailtrace_now() - UINT64_C(4000000000));
    fast(10000);
    return tailtrace_close();
}
