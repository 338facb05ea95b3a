// SPDX-License-Identifier: MIT OR Apache-2.0

// Package marks marks intervals in Go programs by tailtrace.h: the same buffers, file and counted losses.
// docs/marks-go.md says how it is built and used.
//
// A goroutine may move to another thread between two marks. What pairs them is the key; marks without a key pair by nesting on the
// thread that they were made on, and need runtime.LockOSThread.
package marks

/*
#cgo CFLAGS: -O2 -I${SRCDIR}/../include
#cgo LDFLAGS: -lpthread
#include <stdlib.h>
#include "core.h"
*/
import "C"

import (
	"os"
	"strings"
	"sync"
	"syscall"
	"unsafe"
)

// NoKey is for marks that pair by nesting on their own thread.
const NoKey = ^uint64(0)

// Texts that are kept; a program that makes more of them at run time marks the others as one.
const mostTexts = 65536

// Label is the text of a label or name, which the process keeps for as long as it lives. Make it once, by NewLabel.
type Label struct{ text C.uintptr_t }

var (
	texts     = map[string]Label{}
	making    sync.Mutex
	moreTexts = Label{C.uintptr_t(uintptr(unsafe.Pointer(C.CString("(more labels)"))))}
)

// NewLabel keeps a text, once for each text. It ends at the first zero byte.
func NewLabel(text string) Label {
	text, _, _ = strings.Cut(text, "\x00")
	making.Lock()
	defer making.Unlock()
	label, known := texts[text]
	if !known {
		if len(texts) >= mostTexts {
			return moreTexts
		}
		label = Label{C.uintptr_t(uintptr(unsafe.Pointer(C.CString(text))))}
		texts[strings.Clone(text)] = label
	}
	return label
}

// Open begins an interval file; "" is $TAILTRACE_FILE, else tailtrace.marks.
func Open(path string) error {
	var given *C.char
	if path != "" {
		if strings.IndexByte(path, 0) >= 0 {
			return &os.PathError{Op: "open", Path: path, Err: syscall.EINVAL}
		}
		given = C.CString(path)
		defer C.free(unsafe.Pointer(given))
	}
	if failed := C.core_open(given); failed != 0 {
		return &os.PathError{Op: "open", Path: path, Err: syscall.Errno(failed)}
	}
	return nil
}

// Close writes all marks and ends the file. Without it the marks of the last 2 ms are lost: Go's exit runs no C.
func Close() error {
	if failed := C.core_close(); failed != 0 {
		return os.NewSyscallError("write", syscall.Errno(failed))
	}
	return nil
}

// Thread makes the buffer of the current thread before a hot path, for goroutines that are locked to it. False: no memory.
func Thread() bool { return C.core_thread() != 0 }

// Begin marks the begin of an interval and returns its time in TSC ticks; 0 where the mark was dropped.
func (label Label) Begin(key uint64) uint64 {
	return uint64(C.core_begin(label.text, C.uint64_t(key)))
}

// End marks the end of an interval.
func (label Label) End(key uint64) { C.core_end(label.text, C.uint64_t(key)) }

// EndSince marks the end and rings the doorbell where the interval took too long; since is what Begin returned.
func (label Label) EndSince(key, since uint64) {
	C.core_end_since(label.text, C.uint64_t(key), C.uint64_t(since))
}

// Publish marks that the interval's work goes over to another thread.
func (label Label) Publish(key uint64) { C.core_publish(label.text, C.uint64_t(key)) }

// Stage marks the begin of a stage.
func (label Label) Stage(key uint64, name Label) {
	C.core_stage(label.text, C.uint64_t(key), name.text)
}

// Counter adds a number that belongs to the interval.
func (label Label) Counter(key uint64, name Label, value int64) {
	C.core_counter(label.text, C.uint64_t(key), name.text, C.int64_t(value))
}
