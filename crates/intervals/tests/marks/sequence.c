/* Nested intervals without keys, faster than a small buffer can take: `sequence FILE TRUTH`.
 *
 * TRUTH holds for each thread its tid and for each of its intervals the TSC before its begin and after its end: u64, little endian.
 * Compile with -DTAILTRACE_SLOTS=256u.
 */
#include "tailtrace.h"

#include <stdio.h>

#define THREADS 3
#define INTERVALS 20000

static uint64_t truth[THREADS][1 + 2 * INTERVALS];

static void *mark(void *own)
{
    uint64_t *times = (uint64_t *)own;
    *times++ = (uint64_t)tailtrace_call(tailtrace_sys_gettid, 0, 0, 0, 0, 0, 0);
    for (int at = 0; at < INTERVALS; at++) {
        *times++ = tailtrace_now();
        tailtrace_begin("outer", TAILTRACE_NO_KEY);
        tailtrace_stage("outer", TAILTRACE_NO_KEY, "first");
        for (int inner = 0; inner < 3; inner++) {
            tailtrace_begin("inner", TAILTRACE_NO_KEY);
            tailtrace_counter("inner", TAILTRACE_NO_KEY, "number", inner);
            tailtrace_end("inner", TAILTRACE_NO_KEY);
        }
        tailtrace_end("outer", TAILTRACE_NO_KEY);
        *times++ = tailtrace_now();
    }
    return NULL;
}

int main(int count, char **arguments)
{
    pthread_t threads[THREADS];
    FILE *file;
    if (count != 3 || tailtrace_open(arguments[1]) != 0)
        return 1;
    for (int thread = 0; thread < THREADS; thread++)
        if (pthread_create(&threads[thread], NULL, mark, truth[thread]) != 0)
            return 1;
    for (int thread = 0; thread < THREADS; thread++)
        pthread_join(threads[thread], NULL);
    if (tailtrace_close() != 0)
        return 2;
    file = fopen(arguments[2], "wb");
    return file == NULL || fwrite(truth, sizeof truth, 1, file) != 1 || fclose(file) != 0;
}
