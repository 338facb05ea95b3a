/* fork, exec, threads that end, late marks, a second file: `lives FILE CHILDS_FILE`.
 *
 * 100 threads, one after another, mark an interval each. A child that opens no file marks 1000 times, another one opens its own and
 * marks once, and cannot have its parent's. What exec() starts has no file open but the standard ones. After tailtrace_close() there
 * are 6 more marks, of three threads.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tailtrace.h"

#include <stdio.h>
#include <sys/wait.h>

static const char *file;
static int turns[2];

static void *one_interval(void *key)
{
    tailtrace_begin("thread", (uint64_t)(uintptr_t)key);
    tailtrace_end("thread", (uint64_t)(uintptr_t)key);
    return NULL;
}

/* Has a buffer when the file is closed, and marks after that. */
static void *late(void *unused)
{
    tailtrace_thread();
    __atomic_store_n(&turns[0], 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&turns[1], __ATOMIC_ACQUIRE))
        usleep(100);
    tailtrace_begin("late", 1);
    tailtrace_stage("late", 1, "stage");
    tailtrace_end("late", 1);
    return unused;
}

static int in_child(int what, const char *own, const char *program)
{
    pid_t child = fork();
    int status = 0;
    if (child == 0) {
        if (what == 0)
            for (uint64_t key = 0; key < 500; key++)
                one_interval((void *)(uintptr_t)key);
        if (what == 1) {
            if (tailtrace_open(file) != EBUSY || tailtrace_open(own) != 0)
                _exit(1);
            tailtrace_begin("child", 1);
            if (tailtrace_close() != 0)
                _exit(1);
        }
        if (what == 2)
            execl(program, program, (char *)NULL);
        exit(what == 2);
    }
    return child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

int main(int count, char **arguments)
{
    pthread_t thread;
    if (count == 1) /* started by exec() */
        return fcntl(3, F_GETFD) != -1;
    for (int inherited = 3; inherited < 64; inherited++)
        close(inherited); /* of whoever runs this */
    file = arguments[1];
    if (count != 3 || tailtrace_close() != 0 || tailtrace_open(file) != 0)
        return 1;
    for (uintptr_t key = 0; key < 100; key++)
        if (pthread_create(&thread, NULL, one_interval, (void *)key) != 0 || pthread_join(thread, NULL) != 0)
            return 1;
    tailtrace_begin("before", 1);
    for (int what = 0; what < 3; what++)
        if (in_child(what, arguments[2], arguments[0]))
            return 2;
    tailtrace_end("before", 1);
    if (pthread_create(&thread, NULL, late, NULL) != 0)
        return 1;
    while (!__atomic_load_n(&turns[0], __ATOMIC_ACQUIRE))
        usleep(100);
    if (tailtrace_close() != 0)
        return 3;
    __atomic_store_n(&turns[1], 1, __ATOMIC_RELEASE);
    tailtrace_begin("late", 2);
    pthread_join(thread, NULL);
    if (pthread_create(&thread, NULL, one_interval, NULL) != 0 || pthread_join(thread, NULL) != 0)
        return 1;
    return 0; /* exit() counts the late ones: three, one, and two of a thread without a buffer */
}
