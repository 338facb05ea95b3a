// SPDX-License-Identifier: MIT OR Apache-2.0
using System;
using System.Collections.Generic;
using System.IO;
using System.Runtime.InteropServices;

namespace Tailtrace
{
    /// <summary>
    /// Marks intervals in .NET programs by tailtrace.h: the same buffers, file and counted losses. docs/marks-dotnet.md says how it is
    /// built and used.
    /// </summary>
    /// <remarks>
    /// The key pairs marks, on whatever threads. Marks without a key pair by nesting on their own thread: there must be no <c>await</c>
    /// between them.
    /// </remarks>
    public static class Marks
    {
        /// <summary>For marks that pair by nesting on their own thread.</summary>
        public const ulong NoKey = ulong.MaxValue;

        /// <summary>Texts that are kept; a program that makes more of them at run time marks the others as one.</summary>
        private const int MostTexts = 65536;

        private static readonly Dictionary<string, Label> Texts = new Dictionary<string, Label>();

        /// <summary>The text of a label or name, which the process keeps for as long as it lives. Make it once, by <see cref="Text"/>.</summary>
        public struct Label
        {
            private readonly IntPtr address;

            internal Label(IntPtr address) => this.address = address;

            /// <summary>Marks the begin of an interval; its time in TSC ticks, 0 where the mark was dropped.</summary>
            public ulong Begin(ulong key) => Native.Begin(address, key);

            /// <summary>Marks the end of an interval.</summary>
            public void End(ulong key) => Native.End(address, key);

            /// <summary>Marks the end, and rings the doorbell where the interval took too long; <paramref name="since"/> is what
            /// <see cref="Begin"/> returned.</summary>
            public void EndSince(ulong key, ulong since) => Native.EndSince(address, key, since);

            /// <summary>Marks that the interval's work goes over to another thread.</summary>
            public void Publish(ulong key) => Native.Publish(address, key);

            /// <summary>Marks the begin of a stage.</summary>
            public void Stage(ulong key, Label name) => Native.Stage(address, key, name.address);

            /// <summary>Adds a number that belongs to the interval.</summary>
            public void Counter(ulong key, Label name, long value) => Native.Counter(address, key, name.address, value);
        }

        /// <summary>Keeps a text, once for each text. It ends at the first zero character.</summary>
        public static Label Text(string text)
        {
            lock (Texts)
            {
                if (Texts.TryGetValue(text, out Label known))
                {
                    return known;
                }
                if (Texts.Count >= MostTexts)
                {
                    text = "(more labels)";
                    if (Texts.TryGetValue(text, out known))
                    {
                        return known;
                    }
                }
                return Texts[text] = new Label(Marshal.StringToCoTaskMemUTF8(text));
            }
        }

        /// <summary>Begins an interval file; null is $TAILTRACE_FILE, else tailtrace.marks.</summary>
        /// <exception cref="IOException">The file cannot be made, or one is open.</exception>
        public static void Open(string path)
        {
            IntPtr copy = Marshal.StringToCoTaskMemUTF8(path);
            try
            {
                Check(Native.Open(copy), path ?? "the interval file");
            }
            finally
            {
                Marshal.FreeCoTaskMem(copy);
            }
        }

        /// <summary>Writes all marks and ends the file. The end of the process does it, too.</summary>
        /// <exception cref="IOException">Marks could not be written.</exception>
        public static void Close() => Check(Native.Close(), "the interval file");

        /// <summary>Makes the buffer of the current thread before a hot path. False: no memory.</summary>
        public static bool Thread() => Native.Thread() != 0;

        private static void Check(int failed, string what)
        {
            if (failed != 0)
            {
                throw new IOException(what + ": " + Marshal.PtrToStringUTF8(Native.Message(failed)));
            }
        }

        /// <summary>The functions of marks.c. All arguments are plain numbers: nothing is converted or pinned.</summary>
        private static class Native
        {
            private const string Library = "tailtrace_marks";

            [DllImport(Library, EntryPoint = "tailtrace_dotnet_open")]
            internal static extern int Open(IntPtr path);

            [DllImport(Library, EntryPoint = "tailtrace_dotnet_close")]
            internal static extern int Close();

            [DllImport(Library, EntryPoint = "tailtrace_dotnet_message")]
            internal static extern IntPtr Message(int failed);

            [DllImport(Library, EntryPoint = "tailtrace_dotnet_thread")]
            internal static extern int Thread();

            [DllImport(Library, EntryPoint = "tailtrace_dotnet_begin")]
            internal static extern ulong Begin(IntPtr label, ulong key);

            [DllImport(Library, EntryPoint = "tailtrace_dotnet_end")]
            internal static extern void End(IntPtr label, ulong key);

            [DllImport(Library, EntryPoint = "tailtrace_dotnet_end_since")]
            internal static extern void EndSince(IntPtr label, ulong key, ulong since);

            [DllImport(Library, EntryPoint = "tailtrace_dotnet_publish")]
            internal static extern void Publish(IntPtr label, ulong key);

            [DllImport(Library, EntryPoint = "tailtrace_dotnet_stage")]
            internal static extern void Stage(IntPtr label, ulong key, IntPtr name);

            [DllImport(Library, EntryPoint = "tailtrace_dotnet_counter")]
            internal static extern void Counter(IntPtr label, ulong key, IntPtr name, long value);
        }
    }
}
