/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * tailtrace_marks: marks intervals in Python programs, by tailtrace.h. docs/marks-python.md says how it is built and used.
 *
 * A label is any str. A copy of its text is kept for as long as the process lives, once for each text: the file is written later, the
 * last part of it by exit(), when Python has freed its own.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "tailtrace.h"

/* Texts that are kept; a program that makes more of them at run time marks the others as one. */
#define MOST_TEXTS 65536

/* Of each text the address of its copy, as an int. */
static PyObject *texts;

/* The text's bytes, which stay where they are; NULL with an exception. */
static const char *text_of(PyObject *text)
{
    PyObject *known;
    const char *bytes;
    char *copy;
    Py_ssize_t length;
    if (!PyUnicode_Check(text)) {
        PyErr_SetString(PyExc_TypeError, "a label or name is a str");
        return NULL;
    }
    known = PyDict_GetItemWithError(texts, text);
    if (known != NULL)
        return (const char *)PyLong_AsVoidPtr(known);
    if (PyErr_Occurred())
        return NULL;
    if (PyDict_Size(texts) >= MOST_TEXTS)
        return "(more labels)";
    bytes = PyUnicode_AsUTF8AndSize(text, &length);
    if (bytes == NULL)
        return NULL;
    copy = (char *)PyMem_RawMalloc((size_t)length + 1);
    if (copy == NULL)
        return (const char *)PyErr_NoMemory();
    memcpy(copy, bytes, (size_t)length + 1);
    known = PyLong_FromVoidPtr(copy);
    if (known == NULL || PyDict_SetItem(texts, text, known) != 0) {
        PyMem_RawFree(copy);
        copy = NULL;
    }
    Py_XDECREF(known);
    return copy;
}

/* Label and key of a call: `given` is how many arguments may come with them. 0 with an exception. */
static int parse(PyObject *const *arguments, Py_ssize_t count, Py_ssize_t given, const char **label, uint64_t *key)
{
    if (count < given || count > given + 1) {
        PyErr_SetString(PyExc_TypeError, "wrong number of arguments");
        return 0;
    }
    *label = text_of(arguments[0]);
    *key = TAILTRACE_NO_KEY;
    if (*label != NULL && count == given + 1 && arguments[given] != Py_None)
        *key = PyLong_AsUnsignedLongLong(arguments[given]);
    return *label != NULL && !PyErr_Occurred();
}

#define MARK(name)                                                                                    \
    static PyObject *name(PyObject *self, PyObject *const *arguments, Py_ssize_t count)               \
    {                                                                                                 \
        const char *label;                                                                            \
        uint64_t key;                                                                                 \
        (void)self;                                                                                   \
        if (!parse(arguments, count, 1, &label, &key))                                                \
            return NULL;                                                                              \
        tailtrace_##name(label, key);                                                                 \
        Py_RETURN_NONE;                                                                               \
    }

MARK(begin)
MARK(end)
MARK(publish)

static PyObject *stage(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    const char *label, *name;
    uint64_t key;
    (void)self;
    if (!parse(arguments, count, 2, &label, &key) || (name = text_of(arguments[1])) == NULL)
        return NULL;
    tailtrace_stage(label, key, name);
    Py_RETURN_NONE;
}

static PyObject *counter(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    const char *label, *name;
    uint64_t key;
    (void)self;
    if (!parse(arguments, count, 3, &label, &key) || (name = text_of(arguments[1])) == NULL)
        return NULL;
    long long value = PyLong_AsLongLong(arguments[2]);
    if (value == -1 && PyErr_Occurred())
        return NULL;
    tailtrace_counter(label, key, name, value);
    Py_RETURN_NONE;
}

/* 0, or an OSError. */
static PyObject *checked(int error)
{
    if (error == 0)
        Py_RETURN_NONE;
    errno = error;
    return PyErr_SetFromErrno(PyExc_OSError);
}

static PyObject *open_file(PyObject *self, PyObject *arguments)
{
    PyObject *path = NULL;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "|O&", PyUnicode_FSConverter, &path))
        return NULL;
    int error = tailtrace_open(path != NULL ? PyBytes_AS_STRING(path) : NULL);
    Py_XDECREF(path);
    return checked(error);
}

static PyObject *close_file(PyObject *self, PyObject *unused)
{
    int error;
    (void)self;
    (void)unused;
    Py_BEGIN_ALLOW_THREADS
    error = tailtrace_close();
    Py_END_ALLOW_THREADS
    return checked(error);
}

static PyObject *make_buffer(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    return PyBool_FromLong(tailtrace_thread() != NULL);
}

#define FAST(function) (PyCFunction)(void (*)(void))function, METH_FASTCALL

static PyMethodDef methods[] = {
    {"open", open_file, METH_VARARGS, "open([path]): begins an interval file; without: $TAILTRACE_FILE, else tailtrace.marks"},
    {"close", close_file, METH_NOARGS, "close(): writes all marks and ends the file; exit does it, too"},
    {"thread", make_buffer, METH_NOARGS, "thread(): makes this thread's buffer before its hot path"},
    {"begin", FAST(begin), "begin(label[, key]): an interval begins"},
    {"end", FAST(end), "end(label[, key]): an interval ends"},
    {"publish", FAST(publish), "publish(label[, key]): its work goes over to another thread"},
    {"stage", FAST(stage), "stage(label, name[, key]): a stage of it begins"},
    {"counter", FAST(counter), "counter(label, name, value[, key]): a number that belongs to it"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "tailtrace_marks", "Marks intervals for tailtrace.", -1, methods,
                                    NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_tailtrace_marks(void)
{
    texts = PyDict_New();
    return texts != NULL ? PyModule_Create(&module) : NULL;
}
