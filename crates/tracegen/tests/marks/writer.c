/* Who writes the file: `writer FILE [pin]` prints the writing thread's line of /proc/self/task: blocked signals, CPUs, class. With `pin`
 * this thread is on the first CPU alone, and SCHED_FIFO where that is permitted. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tailtrace.h"

#include <dirent.h>
#include <sched.h>
#include <stdio.h>

static void print_line(const char *tid, const char *name)
{
    char path[300], line[200];
    FILE *file;
    snprintf(path, sizeof path, "/proc/self/task/%s/status", tid);
    file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, name, strlen(name)) == 0)
            fputs(line, stdout);
    if (file != NULL)
        fclose(file);
}

int main(int count, char **arguments)
{
    DIR *tasks;
    struct dirent *task;
    if (count == 3) {
        cpu_set_t cpus;
        struct sched_param priority;
        priority.sched_priority = 1;
        CPU_ZERO(&cpus);
        CPU_SET(0, &cpus);
        if (sched_setaffinity(0, sizeof cpus, &cpus) != 0)
            return 1;
        if (sched_setscheduler(0, SCHED_FIFO, &priority) == 0)
            puts("fifo");
    }
    if (count < 2 || tailtrace_open(arguments[1]) != 0)
        return 1;
    tasks = opendir("/proc/self/task");
    while (tasks != NULL && (task = readdir(tasks)) != NULL) {
        if (task->d_name[0] == '.' || atoi(task->d_name) == (int)getpid())
            continue;
        printf("class %d\n", sched_getscheduler(atoi(task->d_name)));
        print_line(task->d_name, "Name:");
        print_line(task->d_name, "SigBlk:");
        print_line(task->d_name, "Cpus_allowed_list:");
    }
    return tailtrace_close();
}
