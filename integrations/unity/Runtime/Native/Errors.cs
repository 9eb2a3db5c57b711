using System;
using System.Text;

namespace Meshreel
{
    /// <summary>The class of an error.</summary>
    public enum ReelStatus
    {
        /// <summary>There is no error.</summary>
        Ok = 0,
        /// <summary>The system could not read.</summary>
        Io = 1,
        /// <summary>The bytes break the rules of the format.</summary>
        Malformed = 2,
        /// <summary>The file is from a newer version, or the library does not fit this package.</summary>
        Unsupported = 3,
        /// <summary>A limit was exceeded.</summary>
        Limit = 4,
        /// <summary>A mistake of the caller.</summary>
        Misuse = 5,
        /// <summary>An error of the library itself.</summary>
        Panic = 6,
    }

    /// <summary>A failed call of the library, with the message that it gave.</summary>
    public sealed class ReelException : Exception
    {
        /// <summary>The class of the error.</summary>
        public ReelStatus Status { get; private set; }

        /// <summary>Creates an error of a class with a message.</summary>
        public ReelException(ReelStatus status, string message) : base(message)
        {
            Status = status;
        }
    }

    internal static unsafe partial class Native
    {
        /// <summary>Throws the library's message if a call has failed.</summary>
        public static void Check(uint status)
        {
            if (status != STATUS_OK) throw new ReelException((ReelStatus)status, Text(mr_last_error()));
        }

        /// <summary>Reads a text of the library: UTF-8 that ends with a zero.</summary>
        public static string Text(IntPtr text)
        {
            return text == IntPtr.Zero ? "" : Text((byte*)text, int.MaxValue);
        }

        /// <summary>Reads a text in a buffer of `capacity` bytes, which may be cut within a
        /// character.</summary>
        public static string Text(byte* text, int capacity)
        {
            int length = 0;
            while (length < capacity && text[length] != 0) length++;
            return Encoding.UTF8.GetString(text, length);
        }

        /// <summary>A text as UTF-8 with a zero at its end.</summary>
        public static byte[] Utf8(string text)
        {
            int length = Encoding.UTF8.GetByteCount(text);
            var bytes = new byte[length + 1];
            Encoding.UTF8.GetBytes(text, 0, text.Length, bytes, 0);
            return bytes;
        }

        /// <summary>Throws if the library is missing or of another version. It does so again in each call, so
        /// that nothing uses a library that does not fit.</summary>
        public static void RequireLibrary()
        {
            uint status, version;
            try
            {
                status = mr_check_version(VERSION);
                version = mr_version();
            }
            catch (Exception error) when (error is DllNotFoundException || error is EntryPointNotFoundException)
            {
                throw new ReelException(ReelStatus.Unsupported,
                    "the library " + Library + " is missing or too old (Plugins/README.md): " + error.Message);
            }
            if (status == STATUS_OK) return;
            throw new ReelException(ReelStatus.Unsupported,
                "the library " + Library + " has version " + Dotted(version) + ", this package needs "
                + Dotted(VERSION) + " (Plugins/README.md)");
        }

        static string Dotted(uint version)
        {
            return (version >> 16) + "." + ((version >> 8) & 255) + "." + (version & 255);
        }
    }
}
