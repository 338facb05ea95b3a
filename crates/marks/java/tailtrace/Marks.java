// SPDX-License-Identifier: MIT OR Apache-2.0
package tailtrace;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.HashMap;
import java.util.Map;

/**
 * Marks intervals in Java programs by tailtrace.h: the same buffers, file and counted losses. docs/marks-java.md says how it is built and
 * used.
 *
 * <p>The key pairs marks, on whatever threads. Marks without a key pair by nesting on their own thread, which must not be a virtual one.
 */
public final class Marks {
    /** For marks that pair by nesting on their own thread. */
    public static final long NO_KEY = -1L;

    /** Texts that are kept; a program that makes more of them at run time marks the others as one. */
    private static final int MOST_TEXTS = 65536;

    private static final String LIBRARY = "libtailtrace_marks.so";
    private static final Map<String, Label> TEXTS = new HashMap<>();
    private static final Label MORE_TEXTS;

    static {
        load();
        MORE_TEXTS = new Label(keep(bytes("(more labels)")));
    }

    private Marks() {}

    /** The text of a label or name, which the process keeps for as long as it lives. Make it once, by {@link #label}. */
    public static final class Label {
        private final long address;

        private Label(long address) {
            this.address = address;
        }

        /** Marks the begin of an interval; its time in TSC ticks, 0 where the mark was dropped. */
        public long begin(long key) {
            return Marks.begin(address, key);
        }

        /** Marks the end of an interval. */
        public void end(long key) {
            Marks.end(address, key);
        }

        /** Marks the end, and rings the doorbell where the interval took too long; {@code since} is what {@link #begin} returned. */
        public void endSince(long key, long since) {
            Marks.endSince(address, key, since);
        }

        /** Marks that the interval's work goes over to another thread. */
        public void publish(long key) {
            Marks.publish(address, key);
        }

        /** Marks the begin of a stage. */
        public void stage(long key, Label name) {
            Marks.stage(address, key, name.address);
        }

        /** Adds a number that belongs to the interval. */
        public void counter(long key, Label name, long value) {
            Marks.counter(address, key, name.address, value);
        }
    }

    /** Keeps a text, once for each text. It ends at the first zero character. */
    public static synchronized Label label(String text) {
        Label known = TEXTS.get(text);
        if (known != null) {
            return known;
        }
        if (TEXTS.size() >= MOST_TEXTS) {
            return MORE_TEXTS;
        }
        long address = keep(bytes(text));
        if (address == 0) {
            throw new OutOfMemoryError("no memory for a label");
        }
        Label made = new Label(address);
        TEXTS.put(text, made);
        return made;
    }

    /** Begins an interval file; null is $TAILTRACE_FILE, else tailtrace.marks. */
    public static void open(String path) throws IOException {
        check(openFile(path == null ? null : bytes(path)), path == null ? "the interval file" : path);
    }

    /** Writes all marks and ends the file. The exit of the JVM does it, too. */
    public static void close() throws IOException {
        check(closeFile(), "the interval file");
    }

    /** Makes the buffer of the current thread before a hot path. False: no memory. */
    public static native boolean thread();

    private static void check(int failed, String what) throws IOException {
        if (failed != 0) {
            throw new IOException(what + ": " + message(failed));
        }
    }

    /** With the zero byte that ends it. */
    private static byte[] bytes(String text) {
        return (text + "\0").getBytes(StandardCharsets.UTF_8);
    }

    /** The library lies in the JAR beside this class; the JVM loads files alone. */
    private static void load() {
        try (InputStream library = Marks.class.getResourceAsStream(LIBRARY)) {
            if (library == null) {
                throw new UnsatisfiedLinkError(LIBRARY + " is not beside the class " + Marks.class.getName());
            }
            Path copy = Files.createTempFile("tailtrace_marks", ".so");
            try {
                Files.copy(library, copy, StandardCopyOption.REPLACE_EXISTING);
                System.load(copy.toString());
            } finally {
                Files.delete(copy);
            }
        } catch (IOException error) {
            throw (Error) new UnsatisfiedLinkError(LIBRARY + " cannot be copied to a file").initCause(error);
        }
    }

    private static native long keep(byte[] text);

    private static native int openFile(byte[] path);

    private static native int closeFile();

    private static native String message(int failed);

    private static native long begin(long label, long key);

    private static native void end(long label, long key);

    private static native void endSince(long label, long key, long since);

    private static native void publish(long label, long key);

    private static native void stage(long label, long key, long name);

    private static native void counter(long label, long key, long name, long value);
}
