using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Text;
using UnityEditor;

namespace Meshreel.Editor
{
    /// <summary>The result of a run of the compiler.</summary>
    public sealed class ReelCompileResult
    {
        /// <summary>The reason of a failure; null if it succeeded.</summary>
        public string Error;
        /// <summary>The report as JSON; empty if there is none.</summary>
        public string Json = "";
        /// <summary>The report; null if there is none.</summary>
        public ReelReport Report;
    }

    /// <summary>Runs the program `meshreel`, which compiles files of content tools.</summary>
    public static class ReelCompiler
    {
        const string Preference = "Meshreel.Program";

        /// <summary>The path of the program: a preference of the editor, the environment variable MESHREEL,
        /// or the name, which is looked for in PATH.</summary>
        public static string Program
        {
            get
            {
                string chosen = EditorPrefs.GetString(Preference, "");
                if (chosen.Length > 0) return chosen;
                string fromEnvironment = Environment.GetEnvironmentVariable("MESHREEL");
                return string.IsNullOrEmpty(fromEnvironment) ? "meshreel" : fromEnvironment;
            }
            set { EditorPrefs.SetString(Preference, value ?? ""); }
        }

        /// <summary>Compiles a file, and waits for the end. `progress` gets each step and returns true to
        /// cancel; it is called on this thread.</summary>
        public static ReelCompileResult Compile(string input, string output, ReelCompileOptions options,
            Func<string, bool> progress)
        {
            var arguments = new List<string> { "compile", input, "-o", output, "--json", "--verbose" };
            arguments.AddRange(options.Arguments());
            var start = new ProcessStartInfo(Program, Quoted(arguments))
            {
                UseShellExecute = false,
                CreateNoWindow = true,
                RedirectStandardOutput = true,
                RedirectStandardError = true,
                StandardOutputEncoding = Encoding.UTF8,
                StandardErrorEncoding = Encoding.UTF8,
            };
            Process process;
            try
            {
                process = Process.Start(start);
            }
            catch (Exception error) when (error is System.ComponentModel.Win32Exception || error is IOException)
            {
                return new ReelCompileResult
                {
                    Error = "the program " + Program + " cannot be run (Edit > Preferences > Meshreel): "
                        + error.Message,
                };
            }
            using (process) return Wait(process, input, progress);
        }

        static ReelCompileResult Wait(Process process, string input, Func<string, bool> progress)
        {
            var lines = new Queue<string>();
            var errors = new StringBuilder();
            var text = new StringBuilder();
            process.ErrorDataReceived += (sender, line) =>
            {
                if (line.Data == null) return;
                lock (lines)
                {
                    lines.Enqueue(line.Data);
                    errors.AppendLine(line.Data);
                }
            };
            process.OutputDataReceived += (sender, line) =>
            {
                if (line.Data != null) lock (lines) text.AppendLine(line.Data);
            };
            process.BeginErrorReadLine();
            process.BeginOutputReadLine();
            string step = "opening";
            bool cancelled = false;
            while (!process.WaitForExit(100))
            {
                lock (lines)
                {
                    while (lines.Count > 0) step = lines.Dequeue();
                }
                if (progress == null || cancelled || !progress(step)) continue;
                cancelled = true;
                process.Kill();
            }
            // Also the readers of its output are done then.
            process.WaitForExit();
            var result = new ReelCompileResult { Json = text.ToString().Trim() };
            result.Report = ReelReport.Read(result.Json);
            if (cancelled) result.Error = input + ": cancelled";
            else if (process.ExitCode != 0) result.Error = Reason(result.Report, errors.ToString(), input);
            return result;
        }

        static string Reason(ReelReport report, string errors, string input)
        {
            bool known = report != null && report.error != null && !string.IsNullOrEmpty(report.error.what);
            string what = known ? report.error.what : errors.Trim();
            string where = known && !string.IsNullOrEmpty(report.error.where) ? report.error.where : input;
            return what.Contains(where) ? what : where + ": " + what;
        }

        /// <summary>Arguments as one text, as Windows and Mono split it.</summary>
        static string Quoted(List<string> arguments)
        {
            var text = new StringBuilder();
            foreach (string argument in arguments)
            {
                if (text.Length > 0) text.Append(' ');
                text.Append('"');
                for (int i = 0; i < argument.Length; i++)
                {
                    int slashes = i;
                    while (i < argument.Length && argument[i] == '\\') i++;
                    slashes = i - slashes;
                    bool beforeQuote = i == argument.Length || argument[i] == '"';
                    text.Append('\\', beforeQuote ? 2 * slashes : slashes);
                    if (i == argument.Length) break;
                    if (argument[i] == '"') text.Append('\\');
                    text.Append(argument[i]);
                }
                text.Append('"');
            }
            return text.ToString();
        }
    }
}
