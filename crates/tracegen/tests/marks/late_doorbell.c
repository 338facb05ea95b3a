/* Ends intervals by tailtrace_end(): the writing thread rings. Prints how late each line came, in microseconds. */
#define _GNU_SOURCE
#include "tailtrace.h"

#include <poll.h>
#include <stdio.h>
#include <time.h>

static void rest(long us)
{
    struct timespec pause = {0, us * 1000L};
    nanosleep(&pause, NULL);
}

static double milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* What another thread ends. */
static void *end_there(void *key)
{
    tailtrace_end("moved", *(uint64_t *)key);
    return NULL;
}

static void moved(uint64_t key, long us)
{
    pthread_t thread;
    tailtrace_begin("moved", key);
    rest(us);
    pthread_create(&thread, NULL, end_there, &key);
    pthread_join(thread, NULL);
}

static void order(uint64_t key, long us)
{
    tailtrace_begin("order", key);
    rest(us);
    tailtrace_end("order", key);
}

/* Waits for another line in the pipe, for a second at most, and says how late it is. */
static void await_line(int pipe, const char *what)
{
    char line[256];
    double begun = milliseconds();
    struct pollfd there = {pipe, POLLIN, 0};
    ssize_t length = poll(&there, 1, 1000) == 1 ? read(pipe, line, sizeof line) : 0;
    if (length > 0)
        printf("%s after %.0f us: %.*s", what, (milliseconds() - begun) * 1e3, (int)length, line);
    else
        printf("%s: none\n", what);
}

int main(int count, char **arguments)
{
    int pipe = count < 3 ? -1 : open(arguments[2], O_RDWR | O_NONBLOCK);
    if (pipe < 0 || tailtrace_open(arguments[1]) != 0)
        return 2;
    rest(250000);
    /* Keys come again and again, faster than the buffers are copied; nothing of it is slow. */
    for (int round = 0; round < 20000; round++) {
        if (round % 2000 == 0)
            rest(8000); /* what the buffer holds is copied */
        tailtrace_begin("order", 1);
        tailtrace_begin("order", TAILTRACE_NO_KEY);
        tailtrace_begin("order", TAILTRACE_NO_KEY);
        tailtrace_end("order", TAILTRACE_NO_KEY);
        tailtrace_end("order", TAILTRACE_NO_KEY);
        tailtrace_end("order", 1);
    }
    for (uint64_t key = 0; key < 20; key++) {
        order(key, 20000);
        await_line(pipe, "order");
        moved(key, 20000);
        await_line(pipe, "moved");
    }
    /* Without a key: the outer one is slow, the inner one is not. */
    tailtrace_begin("order", TAILTRACE_NO_KEY);
    rest(20000);
    order(TAILTRACE_NO_KEY, 1);
    tailtrace_end("order", TAILTRACE_NO_KEY);
    await_line(pipe, "outer");
    /* A key that begins again before its end: the second one counts. An end without begin, and one that its own thread has compared. */
    tailtrace_begin("order", 7);
    rest(20000);
    order(7, 1);
    tailtrace_end("order", 8);
    tailtrace_end_since("order", 9, tailtrace_begin("order", 9));
    rest(20000);
    tailtrace_end("order", 9);
    /* No limit. */
    tailtrace_begin("free", 1);
    rest(20000);
    tailtrace_end("free", 1);
    rest(20000);
    char line[256];
    printf("then: %s\n", read(pipe, line, sizeof line) > 0 ? "another" : "none");
    return tailtrace_close();
}
