using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Reflection;
using UnityEngine;

namespace Meshreel.Tests
{
    /// <summary>A method that is run as a test.</summary>
    [AttributeUsage(AttributeTargets.Method)]
    public sealed class TestAttribute : Attribute { }

    public sealed class Failure : Exception
    {
        public Failure(string what) : base(what) { }
    }

    public static class Check
    {
        public static int Count;

        public static void That(bool holds, string what)
        {
            Count++;
            if (!holds) throw new Failure(what);
        }

        public static void Equal<T>(T got, T wanted, string what)
        {
            That(EqualityComparer<T>.Default.Equals(got, wanted), what + ": " + got + ", not " + wanted);
        }

        public static void Near(double got, double wanted, double tolerance, string what)
        {
            That(Math.Abs(got - wanted) <= tolerance, what + ": " + got + ", not " + wanted);
        }

        public static void Near(Vector3 got, Vector3 wanted, double tolerance, string what)
        {
            That((got - wanted).magnitude <= tolerance, what + ": " + got + ", not " + wanted);
        }

        public static T Throws<T>(Action action, string what) where T : Exception
        {
            try
            {
                action();
            }
            catch (T error)
            {
                Count++;
                return error;
            }
            throw new Failure(what + ": no " + typeof(T).Name);
        }
    }

    /// <summary>Files, and a scene for each test.</summary>
    public static class Game
    {
        /// <summary>The committed files of the repository.</summary>
        public static string Golden;
        /// <summary>Files that the test script has compiled; null without the program.</summary>
        public static string Made;

        public static string Flag
        {
            get { return Path.Combine(Golden, "v0/flag_small.reel"); }
        }

        /// <summary>All golden files with frames.</summary>
        public static string[] GoldenFiles
        {
            get
            {
                return Directory.GetFiles(Path.Combine(Golden, "v0"), "*.reel")
                    .Where(path => !Path.GetFileName(path).StartsWith("container"))
                    .OrderBy(path => path, StringComparer.Ordinal).ToArray();
            }
        }

        public static ReelPlayer Player(string path, Action<ReelPlayer> configure = null)
        {
            var holder = new GameObject("player");
            holder.SetActive(false);
            var player = holder.AddComponent<ReelPlayer>();
            player.Path = path;
            if (configure != null) configure(player);
            holder.SetActive(true);
            return player;
        }

        /// <summary>Runs frames until something holds.</summary>
        public static void Until(Func<bool> holds, string what, float seconds = 0)
        {
            DateTime end = DateTime.UtcNow.AddSeconds(20);
            while (!holds())
            {
                Scene.Frame(seconds);
                if (DateTime.UtcNow > end) throw new Failure("waited too long: " + what + Log());
                System.Threading.Thread.Sleep(1);
            }
        }

        public static void UntilReady(ReelPlayer player)
        {
            Until(() => player.View != null, "the first frame of " + player.Path);
        }

        /// <summary>Shows a frame, and waits until it is there.</summary>
        public static void Seek(ReelPlayer player, int frame)
        {
            player.SeekFrame(frame);
            Until(() => player.View != null && player.View.Frame == frame && !player.View.IsLate,
                "frame " + frame + " of " + player.Path);
        }

        static string Log()
        {
            return string.Concat(Debug.Errors.Select(e => "\n  " + e)) + string.Concat(Debug.Exceptions
                .Select(e => "\n  " + e));
        }

        /// <summary>No errors were logged.</summary>
        public static void Quiet()
        {
            Check.That(Debug.Errors.Count == 0 && Debug.Exceptions.Count == 0, "errors were logged:" + Log());
        }

        public static void Begin()
        {
            Scene.Clear();
            ReelRuntime.Shutdown();
            ReelRuntime.Options = new ReelOptions { heapMegabytes = 32, threads = 1, readThreads = 1 };
            Debug.Errors.Clear();
            Debug.Warnings.Clear();
            Debug.Exceptions.Clear();
            Application.isPlaying = true;
            Application.isEditor = false;
            Application.streamingAssetsPath = Path.Combine(Golden, "v0");
            SystemInfo.supportsInstancing = SystemInfo.supportsComputeShaders = false;
            Camera.main = null;
            Resources.Content.Clear();
            Graphics.Draws.Clear();
        }

        /// <summary>Everything that a test has created is gone.</summary>
        public static void End()
        {
            Scene.Clear();
            ReelRuntime.Shutdown();
            Scene.Clear();
            Check.Equal(Mesh.Alive, 0, "meshes that were not destroyed");
            Check.Equal(GraphicsBuffer.Alive, 0, "buffers that were not disposed");
            Check.Equal(Unity.Collections.NativeMemory.Arrays, 0, "arrays that were not disposed");
            Check.Equal(UnityEngine.Networking.UnityWebRequest.Alive, 0, "requests that were not disposed");
        }
    }

    public static class Program
    {
        /// <summary>Arguments: the folder of golden files, that of made files or "-", and names of classes to
        /// run; without names all run but those whose name begins with "Other".</summary>
        public static int Main(string[] arguments)
        {
            if (arguments.Length == 1 && arguments[0].StartsWith("--layouts"))
            {
                Console.Write(arguments[0] == "--layouts32" ? Layouts.Program32() : Layouts.Program());
                return 0;
            }
            if (arguments.Length == 1 && arguments[0] == "--public")
            {
                foreach (string method in PublicMethods.All().Distinct()) Console.WriteLine(method);
                return 0;
            }
            Game.Golden = arguments[0];
            Game.Made = arguments[1] == "-" ? null : arguments[1];
            string[] names = arguments.Skip(2).ToArray();
            int failed = 0, passed = 0;
            foreach (Type type in typeof(Program).Assembly.GetTypes().OrderBy(t => t.Name, StringComparer.Ordinal))
            {
                bool asked = names.Length > 0 ? names.Contains(type.Name) : !type.Name.StartsWith("Other");
                if (!asked) continue;
                foreach (MethodInfo method in type.GetMethods(BindingFlags.Static | BindingFlags.Public))
                {
                    if (!method.IsDefined(typeof(TestAttribute), false)) continue;
                    if (Run(method)) passed++;
                    else failed++;
                }
            }
            Console.WriteLine(passed + " tests passed, " + failed + " failed; " + Check.Count + " checks");
            return failed == 0 && passed > 0 ? 0 : 1;
        }

        static bool Run(MethodInfo method)
        {
            string name = method.DeclaringType.Name + "." + method.Name;
            try
            {
                Game.Begin();
                method.Invoke(null, null);
                Game.End();
                Console.WriteLine("ok   " + name);
                return true;
            }
            catch (Exception error)
            {
                Exception inner = error is TargetInvocationException ? error.InnerException : error;
                Console.WriteLine("FAIL " + name + ": " + (inner is Failure ? inner.Message : inner.ToString()));
                return false;
            }
        }
    }
}
