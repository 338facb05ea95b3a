/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The native methods of Marks.java, by tailtrace.h. Labels and names are addresses of texts that are kept for as long as the process
 * lives.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <jni.h>
#include <stdlib.h>
#include <string.h>

#include "tailtrace.h"

#define NATIVE(type, name) JNIEXPORT type JNICALL Java_tailtrace_Marks_##name
#define TEXT(address) ((const char *)(uintptr_t)(address))

/* A copy of a text, which ends with a zero byte; NULL where there is no memory. */
static char *copied(JNIEnv *jvm, jbyteArray text)
{
    jsize length = (*jvm)->GetArrayLength(jvm, text);
    char *copy = (char *)malloc((size_t)length);
    if (copy != NULL)
        (*jvm)->GetByteArrayRegion(jvm, text, 0, length, (jbyte *)copy);
    return copy;
}

NATIVE(jlong, keep)(JNIEnv *jvm, jclass class, jbyteArray text)
{
    (void)class;
    return (jlong)(uintptr_t)copied(jvm, text);
}

NATIVE(jint, openFile)(JNIEnv *jvm, jclass class, jbyteArray path)
{
    char *copy = NULL;
    int failed;
    (void)class;
    if (path != NULL && (copy = copied(jvm, path)) == NULL)
        return ENOMEM;
    failed = tailtrace_open(copy);
    free(copy);
    return failed;
}

NATIVE(jint, closeFile)(JNIEnv *jvm, jclass class)
{
    (void)jvm;
    (void)class;
    return tailtrace_close();
}

NATIVE(jstring, message)(JNIEnv *jvm, jclass class, jint failed)
{
    (void)class;
    return (*jvm)->NewStringUTF(jvm, strerror(failed));
}

NATIVE(jboolean, thread)(JNIEnv *jvm, jclass class)
{
    (void)jvm;
    (void)class;
    return tailtrace_thread() != NULL;
}

NATIVE(jlong, begin)(JNIEnv *jvm, jclass class, jlong label, jlong key)
{
    (void)jvm;
    (void)class;
    return (jlong)tailtrace_begin(TEXT(label), (uint64_t)key);
}

NATIVE(void, end)(JNIEnv *jvm, jclass class, jlong label, jlong key)
{
    (void)jvm;
    (void)class;
    tailtrace_end(TEXT(label), (uint64_t)key);
}

NATIVE(void, endSince)(JNIEnv *jvm, jclass class, jlong label, jlong key, jlong since)
{
    (void)jvm;
    (void)class;
    tailtrace_end_since(TEXT(label), (uint64_t)key, (uint64_t)since);
}

NATIVE(void, publish)(JNIEnv *jvm, jclass class, jlong label, jlong key)
{
    (void)jvm;
    (void)class;
    tailtrace_publish(TEXT(label), (uint64_t)key);
}

NATIVE(void, stage)(JNIEnv *jvm, jclass class, jlong label, jlong key, jlong name)
{
    (void)jvm;
    (void)class;
    tailtrace_stage(TEXT(label), (uint64_t)key, TEXT(name));
}

NATIVE(void, counter)(JNIEnv *jvm, jclass class, jlong label, jlong key, jlong name, jlong value)
{
    (void)jvm;
    (void)class;
    tailtrace_counter(TEXT(label), (uint64_t)key, TEXT(name), value);
}
