/* The file must not grow for a while, as on a full disk: `disk_full FILE`. Prints `made MARKS` and the errno of tailtrace_close(). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tailtrace.h"

#include <stdio.h>
#include <sys/resource.h>

static uint64_t made;

/* Slowly enough that none is dropped because of a full buffer. */
static void mark(uint64_t pairs)
{
    for (uint64_t pair = 0; pair < pairs; pair++) {
        tailtrace_begin("work", TAILTRACE_NO_KEY);
        tailtrace_end("work", TAILTRACE_NO_KEY);
        made += 2;
        if (pair % 1000 == 999)
            usleep(10000);
    }
}

int main(int count, char **arguments)
{
    struct rlimit usual, small;
    if (count != 2 || tailtrace_open(arguments[1]) != 0)
        return 1;
    mark(2000);
    tailtrace_begin("across", TAILTRACE_NO_KEY);
    made++;
    getrlimit(RLIMIT_FSIZE, &usual);
    small = usual;
    small.rlim_cur = 150001; /* within a record */
    setrlimit(RLIMIT_FSIZE, &small);
    mark(5000);
    setrlimit(RLIMIT_FSIZE, &usual);
    usleep(20000);
    tailtrace_end("across", TAILTRACE_NO_KEY);
    made++;
    mark(2000);
    int error = tailtrace_close();
    printf("made %llu\nerrno %d\n", (unsigned long long)made, error);
    return 0;
}
