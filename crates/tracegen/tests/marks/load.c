/* Many threads mark as fast as they can, or so: what they made is in the file or counted as lost.
 *
 *     load FILE THREADS PAIRS SPIN [storm] [nested] [fifo | fifo-everywhere]
 *
 * Each thread marks PAIRS intervals, and spins SPIN times between them. `storm`: signals arrive all the time, and their handler marks,
 * also on a thread that does nothing else. `nested`: without keys. `fifo`: the threads are SCHED_FIFO, pinned to all CPUs but
 * the first one; `fifo-everywhere`: to all. Prints `made MARKS`, and after it the errno of tailtrace_close() where it failed.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tailtrace.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

#define MOST 64

static struct {
    uint64_t pairs;
    int threads, spin, storm, nested, fifo, everywhere;
    pthread_t of[MOST];
    int working, done;
    uint64_t made;
} load;

static __thread volatile uint64_t in_handler;

static void on_signal(int signal)
{
    (void)signal;
    tailtrace_begin("handler", TAILTRACE_NO_KEY);
    tailtrace_end("handler", TAILTRACE_NO_KEY);
    in_handler += 2;
}

static void take_signals(int how)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(how, &set, NULL);
}

static void pin(int thread)
{
    cpu_set_t cpus;
    struct sched_param priority;
    int first = load.everywhere ? 0 : 1, all = (int)sysconf(_SC_NPROCESSORS_ONLN);
    priority.sched_priority = 10;
    CPU_ZERO(&cpus);
    CPU_SET(first + thread % (all - first), &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus) != 0 || sched_setscheduler(0, SCHED_FIFO, &priority) != 0) {
        perror("load: SCHED_FIFO");
        exit(77);
    }
}

/* On a machine with other load, the CPU that the pollers leave is then as good as free for the writer. */
static void come_first(void)
{
    FILE *group = fopen("/proc/self/autogroup", "w");
    setpriority(PRIO_PROCESS, 0, -20);
    if (group != NULL) {
        fputs("-20", group);
        fclose(group);
    }
}

static void *mark(void *argument)
{
    int thread = (int)(intptr_t)argument;
    uint64_t first = (uint64_t)thread * load.pairs, made = 0;
    if (load.fifo)
        pin(thread);
    /* The last one of a storm leaves all marking to its handler. */
    if (!load.storm || thread != load.threads - 1) {
        for (uint64_t key = first; key < first + load.pairs; key++) {
            tailtrace_begin("load", load.nested ? TAILTRACE_NO_KEY : key);
            tailtrace_end("load", load.nested ? TAILTRACE_NO_KEY : key);
            for (volatile int spin = 0; spin < load.spin; spin++)
                ;
        }
        made = 2 * load.pairs;
    } else {
        while (__atomic_load_n(&load.working, __ATOMIC_ACQUIRE) > 1)
            sched_yield();
    }
    take_signals(SIG_BLOCK);
    __atomic_fetch_add(&load.made, made + in_handler, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&load.working, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&load.done, __ATOMIC_ACQUIRE))
        usleep(1000); /* signals are sent to threads that are there */
    return NULL;
}

int main(int count, char **arguments)
{
    struct sigaction action;
    int error;
    if (count < 5)
        return 1;
    load.threads = atoi(arguments[2]);
    load.pairs = strtoull(arguments[3], NULL, 10);
    load.spin = atoi(arguments[4]);
    for (int at = 5; at < count; at++) {
        load.storm |= strcmp(arguments[at], "storm") == 0;
        load.nested |= strcmp(arguments[at], "nested") == 0;
        load.everywhere |= strcmp(arguments[at], "fifo-everywhere") == 0;
        load.fifo |= strncmp(arguments[at], "fifo", 4) == 0;
    }
    if (load.fifo)
        come_first();
    if (load.threads < 1 || load.threads > MOST || tailtrace_open(arguments[1]) != 0)
        return 1;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &action, NULL);
    load.working = load.threads;
    for (int thread = 0; thread < load.threads; thread++)
        if (pthread_create(&load.of[thread], NULL, mark, (void *)(intptr_t)thread) != 0)
            return 1;
    while (__atomic_load_n(&load.working, __ATOMIC_ACQUIRE) > 0) {
        for (int thread = 0; load.storm && thread < load.threads; thread++)
            pthread_kill(load.of[thread], SIGUSR1);
        if (!load.storm)
            usleep(1000);
    }
    __atomic_store_n(&load.done, 1, __ATOMIC_RELEASE);
    for (int thread = 0; thread < load.threads; thread++)
        pthread_join(load.of[thread], NULL);
    error = tailtrace_close();
    printf("made %llu\n", (unsigned long long)load.made);
    if (error != 0)
        printf("errno %d\n", error);
    return 0;
}
