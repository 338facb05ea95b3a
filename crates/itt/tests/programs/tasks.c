/* What a collector gets of an ITT program, and tailtrace.h beside it: each interval of the one lies within the other's of the same key.
 *
 * Three threads with tasks, each with a counter and a task within; overlapped tasks and regions that the main thread ends; frames with
 * and without ids, and some that are handed over when they are over. Arguments: the header's file.
 */
#include "tailtrace.h"

#include <ittnotify.h>
#include <stdio.h>
#include <time.h>

#define THREADS 3
#define TASKS 1000
#define OTHERS 100

static __itt_domain *requests, *frames, *numbered;
static __itt_string_handle *order, *step, *away, *area;
static __itt_counter bytes, share;

static void pause_some(uint64_t key)
{
    struct timespec pause = {0, key % 200 == 50 ? 2000000 : 10000};
    nanosleep(&pause, NULL);
}

static void *work(void *first)
{
    uint64_t from = (uint64_t)(uintptr_t)first;
    char name[16];
    snprintf(name, sizeof name, "worker %u", (unsigned)(from / TASKS));
    __itt_thread_set_name(name);
    for (uint64_t key = from; key < from + TASKS; key++) {
        double part = (double)key + 0.5;
        tailtrace_begin("order", key);
        __itt_task_begin(requests, __itt_id_make(NULL, key), __itt_null, order);
        __itt_task_begin(requests, __itt_null, __itt_null, step);
        pause_some(key);
        __itt_task_end(requests);
        __itt_counter_set_value(bytes, &key);
        __itt_counter_set_value(share, &part);
        __itt_task_end(requests);
        tailtrace_end("order", key);
    }
    return NULL;
}

/* Ends overlapped tasks on another thread than their begin. */
static void *end_others(void *unused)
{
    for (uint64_t key = 1; key <= OTHERS; key++) {
        __itt_task_end_overlapped(requests, __itt_id_make(NULL, key));
        tailtrace_end("away", key);
        __itt_region_end(frames, __itt_id_make(NULL, key));
        tailtrace_end("area", key);
    }
    return unused;
}

static void draw(void)
{
    for (uint64_t key = 1; key <= OTHERS; key++) {
        __itt_id id = __itt_id_make(NULL, 1000 + key);
        tailtrace_begin("numbered", key);
        __itt_frame_begin_v3(numbered, NULL);
        tailtrace_begin("frames", 1000 + key);
        __itt_frame_begin_v3(frames, &id);
        pause_some(key);
        __itt_frame_end_v3(frames, &id);
        tailtrace_end("frames", 1000 + key);
        __itt_frame_end_v3(numbered, NULL);
        tailtrace_end("numbered", key);
    }
    for (uint64_t key = OTHERS + 1; key <= 2 * OTHERS; key++) {
        tailtrace_begin("numbered", key);
        __itt_timestamp begin = __itt_get_timestamp();
        pause_some(key);
        __itt_frame_submit_v3(numbered, NULL, begin, key % 2 == 0 ? __itt_timestamp_none : __itt_get_timestamp());
        tailtrace_end("numbered", key);
    }
}

int main(int count, char **arguments)
{
    pthread_t threads[THREADS], other;
    if (count != 2 || tailtrace_open(arguments[1]) != 0)
        return 2;
    /* Before the first call of another kind these are the static part's own. */
    requests = __itt_domain_create("requests");
    order = __itt_string_handle_create("order");
    share = __itt_counter_create_typed("share", "requests", __itt_metadata_double);
    __itt_thread_set_name("main of a test");
    frames = __itt_domain_create("frames");
    numbered = __itt_domain_create("numbered");
    step = __itt_string_handle_create("step");
    away = __itt_string_handle_create("away");
    area = __itt_string_handle_create("area");
    bytes = __itt_counter_create("bytes", "requests");
    if (requests != __itt_domain_create("requests") || order != __itt_string_handle_create("order"))
        return 3;
    for (uint64_t at = 0; at < THREADS; at++)
        pthread_create(&threads[at], NULL, work, (void *)(uintptr_t)(1 + at * TASKS));
    for (uint64_t key = 1; key <= OTHERS; key++) {
        tailtrace_begin("area", key);
        __itt_region_begin(frames, __itt_id_make(NULL, key), __itt_null, area);
        tailtrace_begin("away", key);
        __itt_task_begin_overlapped(requests, __itt_id_make(NULL, key), __itt_null, away);
    }
    pthread_create(&other, NULL, end_others, NULL);
    pthread_join(other, NULL);
    draw();
    for (int at = 0; at < THREADS; at++)
        pthread_join(threads[at], NULL);
    /* Of all threads: none may begin a task that the test expects. */
    __itt_pause();
    __itt_task_begin(requests, __itt_null, __itt_null, away);
    __itt_task_end(requests);
    __itt_resume();
    return tailtrace_close() == 0 ? 0 : 4;
}
