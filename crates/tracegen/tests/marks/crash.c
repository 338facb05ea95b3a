/* Marks 1000 intervals, lets the writer have 500 ms, marks some more and dies at once. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* usleep */
#endif
#include "tailtrace.h"

#include <signal.h>

int main(int count, char **arguments)
{
    if (count != 2 || tailtrace_open(arguments[1]) != 0)
        return 1;
    for (uint64_t key = 0; key < 1000; key++) {
        tailtrace_begin("work", key);
        tailtrace_end("work", key);
    }
    usleep(500000);
    for (uint64_t key = 1000; key < 2000; key++)
        tailtrace_begin("lost", key);
    raise(SIGKILL);
    return 0;
}
