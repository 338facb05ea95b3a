/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * An agent of the JVM (JVMTI) that writes the code which the JVM makes while it runs into FOLDER/jit-PID.dump: the methods that it compiled,
 * with their names, bytes and source lines, and what else it makes (its interpreter, stubs). The format is that of
 * tools/perf/Documentation/jitdump-specification.txt of the Linux kernel.
 *
 *     java -agentpath:/path/to/libtailtrace_jitdump.so[=FOLDER][,clock=monotonic] ...
 *
 * Times are readings of the TSC, or of CLOCK_MONOTONIC. A page of the file is mapped as executable: that is how recorders learn of it.
 * Code of methods that HotSpot inlined has the lines of the innermost one that has any. A process has one file: a second attach is refused.
 */
#include "dump.h"

#include <jvmti.h>
#include <jvmticmlr.h>

/* Where the lines of one method are from. */
struct source {
    jmethodID method;
    char *file;
    jvmtiLineNumberEntry *table;
    jint entries;
};

/* Names as people write them. */

/* The type that a descriptor begins with, `Lshop/Order;` or `[I`; returns what follows it. */
static const char *put_type(struct bytes *into, const char *descriptor)
{
    static const char letters[] = "BCDFIJSZV";
    static const char *const names[] = {"byte", "char", "double", "float", "int", "long", "short", "boolean", "void"};
    unsigned arrays = 0;
    const char *letter;
    for (; *descriptor == '['; descriptor++)
        arrays++;
    if (*descriptor == 'L') {
        for (descriptor++; *descriptor != ';' && *descriptor != 0; descriptor++)
            put(into, *descriptor == '/' ? "." : descriptor, 1);
    } else if (*descriptor != 0 && (letter = strchr(letters, *descriptor)) != NULL) {
        put_text(into, names[letter - letters]);
    }
    while (arrays-- > 0)
        put_text(into, "[]");
    return *descriptor == 0 ? descriptor : descriptor + 1;
}

/* `long shop.Orders.price(long, int)`, as the JVM's own lists of compiled methods have it. */
static void put_method(struct bytes *into, const char *class, const char *name, const char *signature)
{
    const char *result = strrchr(signature, ')'), *at = signature + 1;
    put_type(into, result == NULL ? "V" : result + 1);
    put_text(into, " ");
    put_type(into, class);
    put_text(into, ".");
    put_text(into, name);
    put_text(into, "(");
    while (*at != ')' && *at != 0) {
        at = put_type(into, at);
        if (*at != ')' && *at != 0)
            put_text(into, ", ");
    }
    put_text(into, ")");
    end_text(into);
}

/* The class's descriptor, to be freed with Deallocate; NULL where the class is gone. */
static char *class_of(jvmtiEnv *jvmti, jmethodID method, jclass *class)
{
    char *descriptor = NULL;
    if ((*jvmti)->GetMethodDeclaringClass(jvmti, method, class) != JVMTI_ERROR_NONE
        || (*jvmti)->GetClassSignature(jvmti, *class, &descriptor, NULL) != JVMTI_ERROR_NONE)
        return NULL;
    return descriptor;
}

static void discard(jvmtiEnv *jvmti, void *what)
{
    (*jvmti)->Deallocate(jvmti, (unsigned char *)what);
}

/* The method's name; "" where the class is gone. */
static void name_method(jvmtiEnv *jvmti, jmethodID method, struct bytes *into)
{
    jclass class;
    char *name = NULL, *signature = NULL, *descriptor = class_of(jvmti, method, &class);
    if (descriptor != NULL && (*jvmti)->GetMethodName(jvmti, method, &name, &signature, NULL) == JVMTI_ERROR_NONE)
        put_method(into, descriptor, name, signature);
    else
        end_text(into);
    discard(jvmti, name);
    discard(jvmti, signature);
    discard(jvmti, descriptor);
}

/* Source lines. */

/* `shop/Orders.java`: the folder is the class's package. */
static char *file_of(const char *descriptor, const char *file)
{
    const char *slash = strrchr(descriptor, '/'), *first = descriptor + 1; /* after the L */
    int folder = *descriptor == 'L' && slash != NULL ? (int)(slash + 1 - first) : 0;
    char *path = NULL;
    if (asprintf(&path, "%.*s%s", folder, first, file) < 0)
        return NULL;
    return path;
}

static void forget_source(jvmtiEnv *jvmti, struct source *source)
{
    free(source->file);
    discard(jvmti, source->table);
    *source = (struct source){0};
}

static void find_source(jvmtiEnv *jvmti, jmethodID method, struct source *source)
{
    jclass class;
    char *file = NULL, *descriptor;
    if (source->method == method)
        return;
    forget_source(jvmti, source);
    source->method = method;
    descriptor = class_of(jvmti, method, &class);
    if (descriptor != NULL && (*jvmti)->GetSourceFileName(jvmti, class, &file) == JVMTI_ERROR_NONE)
        source->file = file_of(descriptor, file);
    if (source->file == NULL
        || (*jvmti)->GetLineNumberTable(jvmti, method, &source->entries, &source->table) != JVMTI_ERROR_NONE)
        source->entries = 0;
    discard(jvmti, file);
    discard(jvmti, descriptor);
}

/* The line of a place in the bytecode: of the last entry of the table that begins before it, for the table need not be in order. */
static uint32_t line_of(const struct source *source, jlocation place)
{
    jlocation nearest = -1;
    uint32_t line = 0;
    for (jint at = 0; at < source->entries; at++) {
        jlocation start = source->table[at].start_location;
        if (start <= place && start > nearest) {
            nearest = start;
            line = (uint32_t)source->table[at].line_number;
        }
    }
    return line;
}

/* The line of the innermost frame that has one, whose source `source` is then; 0 where none has. */
static uint32_t find_line(jvmtiEnv *jvmti, struct source *source, const PCStackInfo *place)
{
    uint32_t line = 0;
    for (jint frame = 0; frame < place->numstackframes && line == 0; frame++) {
        find_source(jvmti, place->methods[frame], source);
        line = line_of(source, place->bcis[frame]);
    }
    return line;
}

/* An entry for code from an address on. One of line 0 ends the code of the line before it. */
static void put_line(struct bytes *into, uint64_t address, uint32_t line, const char *file)
{
    struct entry entry = {address, line, 0};
    put(into, &entry, sizeof entry);
    put_text(into, line == 0 ? "?" : file);
    end_text(into);
}

static const jvmtiCompiledMethodLoadInlineRecord *inline_record(const void *records)
{
    const jvmtiCompiledMethodLoadRecordHeader *record = records;
    while (record != NULL && record->kind != JVMTI_CMLR_INLINE_INFO)
        record = record->next;
    return (const jvmtiCompiledMethodLoadInlineRecord *)record;
}

/* A code with what the JVM says of its places. */
struct code {
    jmethodID method;
    const char *start;
    size_t size;
    jint places;
    const jvmtiAddrLocationMap *map; /* of the method alone, where the JVM says nothing of inlined ones */
    const jvmtiCompiledMethodLoadInlineRecord *inlined;
};

/* HotSpot describes places at the end of the code that they stand for, such as where a call returns to: an entry begins where the one before
 * ends. Returns how many there are, 0 where no line is known. */
static uint64_t put_lines(jvmtiEnv *jvmti, struct bytes *into, const struct code *code)
{
    struct source source = {0};
    uint64_t count = 0, begin = (uint64_t)(uintptr_t)code->start, end = begin + code->size;
    uint32_t known = 0;
    jint places = code->inlined != NULL ? code->inlined->numpcs : code->places;
    for (jint at = 0; at < places && begin < end; at++) {
        jmethodID method = code->method;
        jint index = code->inlined != NULL ? 0 : (jint)code->map[at].location;
        PCStackInfo alone = {NULL, 1, &method, &index};
        const PCStackInfo *place = code->inlined != NULL ? &code->inlined->pcinfo[at] : &alone;
        uint64_t until = (uint64_t)(uintptr_t)(code->inlined != NULL ? place->pc : code->map[at].start_address);
        uint32_t line;
        if (until <= begin)
            continue;
        line = find_line(jvmti, &source, place);
        put_line(into, begin, line, source.file);
        known |= line;
        count++;
        begin = until;
    }
    if (begin < end) {
        put_line(into, begin, 0, NULL);
        count++;
    }
    forget_source(jvmti, &source);
    return known == 0 ? 0 : count;
}

/* The record of a method's lines, where it has any. */
static void put_debug_record(jvmtiEnv *jvmti, struct bytes *into, const struct code *code)
{
    struct lines lines = {.prefix = {.kind = CODE_DEBUG_INFO}, .address = (uint64_t)(uintptr_t)code->start};
    put(into, &lines, sizeof lines);
    lines.count = put_lines(jvmti, into, code);
    if (lines.count == 0 || into->failed) {
        into->used = 0;
        return;
    }
    while (into->used % 8 != 0 && !into->failed)
        end_text(into);
    lines.prefix.size = (uint32_t)into->used;
    lines.prefix.time = now();
    if (!into->failed)
        memcpy(into->at, &lines, sizeof lines);
}

/* What the JVM calls. */

static void JNICALL on_compiled(jvmtiEnv *jvmti, jmethodID method, jint size, const void *address, jint places, const jvmtiAddrLocationMap *map,
                                const void *records)
{
    struct code code = {method, address, (size_t)size, map == NULL ? 0 : places, map, inline_record(records)};
    struct bytes record = {0}, name = {0};
    put_debug_record(jvmti, &record, &code);
    name_method(jvmti, method, &name);
    if (!name.failed && name.at[0] != 0)
        write_code(&record, name.at, address, code.size);
    free(name.at);
    free(record.at);
}

static void JNICALL on_generated(jvmtiEnv *jvmti, const char *name, const void *address, jint size)
{
    struct bytes record = {0};
    (void)jvmti;
    if (size > 0)
        write_code(&record, name, address, (size_t)size);
    free(record.at);
}

static void JNICALL on_end(jvmtiEnv *jvmti, JNIEnv *jvm)
{
    (void)jvmti;
    (void)jvm;
    close_dump();
}

/* `[FOLDER][,clock=monotonic]` */
static int read_options(const char *options)
{
    static const char monotonic[] = "clock=monotonic";
    char folder[4096];
    size_t length = options == NULL ? 0 : strcspn(options, ",");
    const char *rest = options == NULL ? "" : options + length;
    if (options != NULL && strcmp(options, monotonic) == 0)
        length = 0, rest = ",clock=monotonic";
    if (length >= sizeof folder || (*rest == ',' && strcmp(rest + 1, monotonic) != 0)) {
        fprintf(stderr, "tailtrace: jitdump: the options are [FOLDER][,%s]\n", monotonic);
        return -1;
    }
    dump.of_tsc = *rest != ',';
    snprintf(folder, sizeof folder, "%.*s", (int)length, options == NULL ? "" : options);
    return open_dump(*folder == 0 ? "." : folder);
}

static int enable(jvmtiEnv *jvmti)
{
    static const jvmtiEvent kinds[] = {JVMTI_EVENT_COMPILED_METHOD_LOAD, JVMTI_EVENT_DYNAMIC_CODE_GENERATED, JVMTI_EVENT_VM_DEATH};
    for (size_t at = 0; at < sizeof kinds / sizeof *kinds; at++)
        if ((*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, kinds[at], NULL) != JVMTI_ERROR_NONE)
            return -1;
    return 0;
}

/* Writes what there is already. */
static void catch_up(jvmtiEnv *jvmti)
{
    static const jvmtiEvent kinds[] = {JVMTI_EVENT_DYNAMIC_CODE_GENERATED, JVMTI_EVENT_COMPILED_METHOD_LOAD};
    for (size_t at = 0; at < sizeof kinds / sizeof *kinds; at++) {
        jvmtiError error = (*jvmti)->GenerateEvents(jvmti, kinds[at]);
        if (error != JVMTI_ERROR_NONE)
            fprintf(stderr, "tailtrace: jitdump: code from before the attach is missing: JVMTI error %d\n", (int)error);
    }
}

static jint begin(JavaVM *vm, const char *options, int is_late)
{
    jvmtiCapabilities able = {.can_generate_compiled_method_load_events = 1, .can_get_source_file_name = 1, .can_get_line_numbers = 1};
    jvmtiEventCallbacks calls = {.CompiledMethodLoad = on_compiled, .DynamicCodeGenerated = on_generated, .VMDeath = on_end};
    jvmtiEnv *jvmti;
    if (dump.pid != 0) {
        fprintf(stderr, "tailtrace: jitdump: this process has its dump already: %s\n", dump.path);
        return JNI_ERR;
    }
    if ((*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_1_2) != JNI_OK) {
        fputs("tailtrace: jitdump: this JVM has no JVMTI 1.2\n", stderr);
        return JNI_ERR;
    }
    if ((*jvmti)->AddCapabilities(jvmti, &able) != JVMTI_ERROR_NONE
        || (*jvmti)->SetEventCallbacks(jvmti, &calls, sizeof calls) != JVMTI_ERROR_NONE) {
        fputs("tailtrace: jitdump: this JVM cannot report what it compiles\n", stderr);
    } else if (read_options(options) == 0) {
        if (enable(jvmti) == 0) {
            if (is_late)
                catch_up(jvmti);
            return JNI_OK;
        }
        fputs("tailtrace: jitdump: this JVM cannot report what it compiles\n", stderr);
        drop_dump();
    }
    (*jvmti)->DisposeEnvironment(jvmti);
    return JNI_ERR;
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *unused)
{
    (void)unused;
    return begin(vm, options, 0);
}

JNIEXPORT jint JNICALL Agent_OnAttach(JavaVM *vm, char *options, void *unused)
{
    (void)unused;
    return begin(vm, options, 1);
}

JNIEXPORT void JNICALL Agent_OnUnload(JavaVM *vm)
{
    (void)vm;
    close_dump();
}
