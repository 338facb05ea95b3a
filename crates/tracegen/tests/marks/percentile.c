/* Ends intervals of 100 lengths, 1000 to 10900 ticks, each as often: first so many that their percentiles are known, then 10000. */
#define _GNU_SOURCE
#include "tailtrace.h"

#include <time.h>

static void intervals(uint64_t count)
{
    for (uint64_t key = 0; key < count; key++)
        tailtrace_end_since("order", key, tailtrace_now() - 1000 - key % 100 * 100);
}

int main(int count, char **arguments)
{
    struct timespec pause = {0, 250000000};
    if (count < 2 || tailtrace_open(arguments[1]) != 0)
        return 2;
    intervals(20000);
    nanosleep(&pause, NULL);
    tailtrace_end_since("order", 0, tailtrace_now() - 1000000); /* where the second part begins */
    intervals(10000);
    return tailtrace_close();
}
