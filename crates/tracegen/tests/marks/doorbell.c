/* Ends intervals of three labels that take 1 and 20 ms: which of them ring is the limits' affair. */
#define _GNU_SOURCE
#include "tailtrace.h"

#include <time.h>

static void rest(long ms)
{
    struct timespec pause = {0, ms * 1000000L};
    nanosleep(&pause, NULL);
}

static void interval(const char *label, uint64_t key, long ms)
{
    uint64_t since = tailtrace_begin(label, key);
    rest(ms);
    tailtrace_end_since(label, key, since);
}

int main(int count, char **arguments)
{
    static const char *const labels[] = {"order", "cancel", "quote"};
    if (count < 2 || tailtrace_open(arguments[1]) != 0)
        return 2;
    interval("order", 0, 20); /* before it is known what a tick is */
    rest(250);
    for (uint64_t number = 0; number < 3; number++) {
        interval(labels[number], 1, 1);
        interval(labels[number], 2, 20);
    }
    return tailtrace_close();
}
