/* Two files one after the other, and a stop of a second: `again FIRST SECOND`.
 *
 * The process is stopped while the first file is open. After it is closed 40000 marks come, more than the buffer holds; the second file
 * has two marks.
 */
#define _GNU_SOURCE
#include "tailtrace.h"

#include <signal.h>
#include <sys/wait.h>

static void be_stopped(void)
{
    pid_t child = fork();
    if (child == 0) {
        usleep(1000000);
        kill(getppid(), SIGCONT);
        _exit(0);
    }
    raise(SIGSTOP);
    usleep(50000);
    waitpid(child, NULL, 0);
}

int main(int count, char **arguments)
{
    if (count != 3 || tailtrace_open(arguments[1]) != 0)
        return 2;
    tailtrace_begin("order", 1);
    be_stopped();
    if (tailtrace_close() != 0)
        return 3;
    for (uint64_t key = 0; key < 40000; key++)
        tailtrace_begin("late", key);
    if (tailtrace_open(arguments[2]) != 0)
        return 4;
    tailtrace_begin("order", 2);
    tailtrace_end("order", 2);
    return tailtrace_close();
}
