/* Compiled by tests: functions, an inlined call, a call through the PLT. Line numbers matter. */
#include <stdio.h>
#include <stdlib.h>

static volatile int sink;

static inline __attribute__((always_inline)) int innermost(int value) {
    sink = value * 3;
    return sink + 1;
}

static inline __attribute__((always_inline)) int middle(int value) {
    sink += innermost(value);
    return sink;
}

__attribute__((noinline)) int outermost(int value) {
    int result = middle(value) + 7;
    sink = result;
    return result;
}

static __attribute__((noinline)) int local_function(int value) {
    return outermost(value) ^ 5;
}

int main(int argc, char **argv) {
    (void)argv;
    printf("%d\n", local_function(argc));
    return abs(sink) > 100;
}

/* Variables: with a value, without one, larger than a lock. */
int lock = 1;
struct { char slots[200]; } queue;
__thread int own;

/* A text, as a mark names its label. */
const char label[] = "an order";
