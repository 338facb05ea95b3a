/* Two files of one program include the header and must share one interval file; every kind of mark. */
#include "tailtrace.h"

void other_file(void);

static void *on_another_thread(void *unused)
{
    other_file();
    return unused;
}

int main(int count, char **arguments)
{
    pthread_t thread;
    if (count != 2 || tailtrace_open(arguments[1]) != 0 || tailtrace_open(arguments[1]) != EALREADY)
        return 1;
    tailtrace_begin("a, \"quoted\"\nlabel", 7);
    tailtrace_stage("a, \"quoted\"\nlabel", 7, "parse");
    tailtrace_counter("a, \"quoted\"\nlabel", 7, "bytes", -512);
    tailtrace_begin("inner", TAILTRACE_NO_KEY);
    tailtrace_end("inner", TAILTRACE_NO_KEY);
    tailtrace_publish("a, \"quoted\"\nlabel", 7);
    tailtrace_task_run("a, \"quoted\"\nlabel", 7);
    tailtrace_task_await("a, \"quoted\"\nlabel", 7);
    tailtrace_task_ready("a, \"quoted\"\nlabel", 7);
    if (pthread_create(&thread, NULL, on_another_thread, NULL) != 0 || pthread_join(thread, NULL) != 0)
        return 1;
    return 0; /* exit() closes the file */
}
