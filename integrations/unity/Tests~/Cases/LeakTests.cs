using System;
using System.IO;
using UnityEngine;

namespace Meshreel.Tests
{
    public static class LeakTests
    {
        static long ResidentBytes()
        {
            if (!File.Exists("/proc/self/statm")) return 0;
            return long.Parse(File.ReadAllText("/proc/self/statm").Split(' ')[1]) * 4096;
        }

        /// <summary>Plays so many frames of everything, and checks that nothing is allocated and nothing
        /// grows.</summary>
        static void Measure(int frames, string what, Func<long> written)
        {
            for (int i = 0; i < 500; i++) ReelRuntime.Tick(1.0 / 60);
            GC.GetTotalMemory(true);
            long total = GC.GetTotalMemory(true), resident = ResidentBytes(), writes = written();
            long before = GC.GetAllocatedBytesForCurrentThread();
            for (int i = 0; i < frames; i++) ReelRuntime.Tick(1.0 / 60);
            long allocated = GC.GetAllocatedBytesForCurrentThread() - before;
            long grown = GC.GetTotalMemory(true) - total, native = ResidentBytes() - resident;
            Console.WriteLine("     " + what + ": " + frames + " frames, " + (written() - writes) + " meshes written, "
                + allocated + " bytes allocated, " + grown + " more in use, resident memory " + native / 1024
                    + " KiB more");
            Check.That(written() - writes > frames / 4, "too few meshes were written");
            // An object has at least 16 bytes: fewer than that per thousand frames is none.
            Check.That(allocated < 16 * frames / 1000, allocated + " bytes were allocated");
            Check.That(grown < 256 << 10, grown + " more bytes are in use");
            Check.That(native < 16 << 20, native + " more bytes are resident");
        }

        [Test]
        public static void TenThousandFrames()
        {
            ReelRuntime.Options.threads = 0;
            ReelRuntime.Options.readThreads = 0;
            ReelPlayer flag = Game.Player(Game.Flag);
            ReelPlayer all = Game.Player("everything_zstd.reel");
            ReelPlayer robot = Game.Player("robot_small.reel");
            ReelPlayer points = Game.Player("particles_small.reel");
            foreach (ReelPlayer player in new[] { flag, all, robot, points }) Game.UntilReady(player);
            Measure(10000, "players", () => flag.View.Meshes[0].Writes + points.View.Meshes[0].Writes);
            Game.Quiet();
        }

        [Test]
        public static void ClipsAndCrowds()
        {
            ReelRuntime.Options.threads = 0;
            ReelRuntime.Options.readThreads = 0;
            var walker = new GameObject("walker").AddComponent<ReelClipPlayer>();
            walker.joints = ReelJoints.Created;
            walker.rootMotion = true;
            walker.Path = Path.Combine(Game.Golden, "clips/layers.reel");
            var materials = ScriptableObject.CreateInstance<ReelMaterials>();
            materials.fallback = new Material(Shader.Find("Meshreel/Crowd"));
            ReelPlayer flag = Game.Player(Game.Flag, p =>
            {
                p.hidden = true;
                p.materials = materials;
            });
            SystemInfo.supportsInstancing = SystemInfo.supportsComputeShaders = true;
            var crowd = new GameObject("crowd").AddComponent<ReelCrowd>();
            crowd.Player = flag;
            crowd.SetMatrices(new[] { Matrix4x4.identity, Matrix4x4.Translate(new Vector3(3, 0, 0)) });
            Game.UntilReady(flag);
            Game.Until(() => walker.Clip != null, "a clip");
            Graphics.Records = false;
            Measure(10000, "clips and crowds", () => (long)(walker.Seconds * 60) + 1);
            Graphics.Records = true;
            Game.Quiet();
        }

        /// <summary>Files that are opened and closed again leave nothing.</summary>
        [Test]
        public static void OpenedAndClosed()
        {
            long start = 0;
            for (int i = 0; i < 150; i++)
            {
                ReelPlayer player = Game.Player(Path.Combine(Game.Golden, "v0/everything_zstd.reel"));
                Game.UntilReady(player);
                Scene.Clear();
                ReelRuntime.Tick(0.01);
                if (i == 50) start = ResidentBytes();
            }
            long grown = ResidentBytes() - start;
            Console.WriteLine("     100 files opened and closed: resident memory " + grown / 1024 + " KiB more");
            Check.That(grown < 8 << 20, grown + " more bytes are resident");
            Game.Quiet();
        }
    }
}
