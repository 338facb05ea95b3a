/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * tailtrace_marks.node: marks intervals in Node.js programs, by tailtrace.h. docs/marks-node.md says how it is built and used.
 *
 * A label is a number: its place in a table of texts that are kept for as long as the process lives.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define NAPI_VERSION 8
#include <node_api.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tailtrace.h"

/* Texts that are kept; a program that makes more of them at run time marks the others as one. */
#define MOST_TEXTS 65536
#define MORE_TEXTS "(more labels)"
#define MOST_ARGUMENTS 4

static const char *texts[MOST_TEXTS];
static uint32_t texts_kept;
static pthread_mutex_t keeping = PTHREAD_MUTEX_INITIALIZER;

/* Arguments of a call, and how many there are. */
struct call {
    napi_env env;
    size_t count;
    napi_value arguments[MOST_ARGUMENTS];
};

static struct call called(napi_env env, napi_callback_info information)
{
    struct call call = {env, MOST_ARGUMENTS, {NULL}};
    napi_get_cb_info(env, information, &call.count, call.arguments, NULL, NULL);
    return call;
}

static napi_value wrong(napi_env env, const char *what)
{
    napi_throw_type_error(env, NULL, what);
    return NULL;
}

/* An allocated copy of a text, cut at its first zero byte; NULL where it is none, or there is no memory. */
static char *copied(napi_env env, napi_value text)
{
    size_t length;
    char *copy;
    if (napi_get_value_string_utf8(env, text, NULL, 0, &length) != napi_ok || (copy = (char *)malloc(length + 1)) == NULL)
        return NULL;
    napi_get_value_string_utf8(env, text, copy, length + 1, &length);
    return copy;
}

/* The place of a text, which is kept. `copy` is given away. */
static uint32_t place_of(char *copy)
{
    uint32_t place = 0;
    pthread_mutex_lock(&keeping);
    while (place < texts_kept && strcmp(texts[place], copy) != 0)
        place++;
    if (place == texts_kept && place < MOST_TEXTS - 1) {
        __atomic_store_n(&texts[place], copy, __ATOMIC_RELEASE);
        __atomic_store_n(&texts_kept, place + 1, __ATOMIC_RELEASE);
        copy = NULL;
    } else if (place == texts_kept) {
        /* The last place is that of all others. */
        texts[place] = MORE_TEXTS;
    }
    pthread_mutex_unlock(&keeping);
    free(copy);
    return place;
}

static napi_value label(napi_env env, napi_callback_info information)
{
    struct call call = called(env, information);
    napi_value made;
    char *copy = call.count > 0 ? copied(env, call.arguments[0]) : NULL;
    if (copy == NULL)
        return wrong(env, "a label or name is a string");
    return napi_create_uint32(env, place_of(copy), &made) == napi_ok ? made : NULL;
}

/* The text of the argument at `index`; NULL with an exception. */
static const char *text_of(const struct call *call, size_t index)
{
    uint32_t place;
    const char *text = NULL;
    if (index < call->count && napi_get_value_uint32(call->env, call->arguments[index], &place) == napi_ok && place < MOST_TEXTS)
        text = __atomic_load_n(&texts[place], __ATOMIC_ACQUIRE);
    if (text == NULL)
        wrong(call->env, "a label or name is what label() returned");
    return text;
}

/* The key at `index`, a number or a BigInt; without it marks pair by nesting. 0 with an exception. */
static int key_of(const struct call *call, size_t index, uint64_t *key)
{
    double number;
    bool is_whole;
    *key = TAILTRACE_NO_KEY;
    if (index >= call->count)
        return 1;
    if (napi_get_value_double(call->env, call->arguments[index], &number) == napi_ok) {
        if (number >= 0 && number <= 9007199254740991.0 && number == (double)(uint64_t)number) {
            *key = (uint64_t)number;
            return 1;
        }
    } else if (napi_get_value_bigint_uint64(call->env, call->arguments[index], key, &is_whole) == napi_ok && is_whole) {
        return 1;
    }
    wrong(call->env, "a key is a whole number, at most Number.MAX_SAFE_INTEGER, or a BigInt of 64 bits");
    return 0;
}

#define MARK(name)                                                                     \
    static napi_value name(napi_env env, napi_callback_info information)               \
    {                                                                                  \
        struct call call = called(env, information);                                   \
        uint64_t key;                                                                  \
        const char *text = text_of(&call, 0);                                          \
        if (text != NULL && key_of(&call, 1, &key))                                    \
            tailtrace_##name(text, key);                                               \
        return NULL;                                                                   \
    }

MARK(begin)
MARK(end)
MARK(publish)

static napi_value stage(napi_env env, napi_callback_info information)
{
    struct call call = called(env, information);
    uint64_t key;
    const char *text = text_of(&call, 0);
    const char *name = text != NULL ? text_of(&call, 1) : NULL;
    if (name != NULL && key_of(&call, 2, &key))
        tailtrace_stage(text, key, name);
    return NULL;
}

static napi_value counter(napi_env env, napi_callback_info information)
{
    struct call call = called(env, information);
    uint64_t key;
    int64_t value;
    const char *text = text_of(&call, 0);
    const char *name = text != NULL ? text_of(&call, 1) : NULL;
    if (name == NULL)
        return NULL;
    if (call.count < 3 || napi_get_value_int64(env, call.arguments[2], &value) != napi_ok)
        return wrong(env, "a counter's value is a number");
    if (key_of(&call, 3, &key))
        tailtrace_counter(text, key, name, value);
    return NULL;
}

static napi_value checked(napi_env env, int failed)
{
    if (failed != 0)
        napi_throw_error(env, NULL, strerror(failed));
    return NULL;
}

static napi_value open_file(napi_env env, napi_callback_info information)
{
    struct call call = called(env, information);
    char *path = NULL;
    int failed;
    if (call.count > 0 && (path = copied(env, call.arguments[0])) == NULL)
        return wrong(env, "a path is a string");
    failed = tailtrace_open(path);
    free(path);
    return checked(env, failed);
}

static napi_value close_file(napi_env env, napi_callback_info information)
{
    (void)information;
    return checked(env, tailtrace_close());
}

static napi_value make_buffer(napi_env env, napi_callback_info information)
{
    napi_value made;
    (void)information;
    return napi_get_boolean(env, tailtrace_thread() != NULL, &made) == napi_ok ? made : NULL;
}

#define FUNCTION(name, function) {name, NULL, function, NULL, NULL, NULL, napi_default, NULL}

NAPI_MODULE_INIT()
{
    const napi_property_descriptor functions[] = {
        FUNCTION("open", open_file),   FUNCTION("close", close_file), FUNCTION("thread", make_buffer), FUNCTION("label", label),
        FUNCTION("begin", begin),      FUNCTION("end", end),          FUNCTION("publish", publish),    FUNCTION("stage", stage),
        FUNCTION("counter", counter),
    };
    napi_define_properties(env, exports, sizeof(functions) / sizeof(functions[0]), functions);
    return exports;
}
