using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text.RegularExpressions;
using UnityEngine;

namespace Meshreel.Tests
{
    /// <summary>The graphics card is a recorder here: buffers keep what is uploaded, and dispatches are
    /// listed. With the environment variable MESHREEL_CARD, a folder, moments are written there for a program
    /// that runs the shaders (Tests~/Card).</summary>
    public static class CardTests
    {
        static readonly string[] Kernels = { "points", "normals", "tangents", "vertices_" };

        static readonly string[] Variants =
            { "POINTS_NARROW", "POINTS_WIDE", "POINTS_CODES", "POINTS_BONES", "POINTS_BONES_APART",
                "POINTS_BONES_PACKED", "POINTS_HEIGHTS" };

        /// <summary>The names of uniforms and buffers of a shader, in the order in which it declares
        /// them.</summary>
        sealed class Declared
        {
            public readonly string[] Uniforms, Buffers;

            public Declared(string name)
            {
                string folder = Path.GetDirectoryName(typeof(CardTests).Assembly.Location);
                string path = Environment.GetEnvironmentVariable("MESHREEL_SHADERS") ?? folder;
                string text = File.ReadAllText(Path.Combine(path, name));
                Uniforms = All(text, @"^uint ([A-Z_]+);");
                Buffers = All(text, @"^(?:RW)?ByteAddressBuffer (\w+);");
            }

            static string[] All(string text, string pattern)
            {
                return Regex.Matches(text, pattern, RegexOptions.Multiline).Cast<Match>()
                    .Select(m => m.Groups[1].Value).ToArray();
            }
        }

        static ComputeShader passes, place;

        static void Prepare()
        {
            passes = new ComputeShader(Kernels);
            place = new ComputeShader("place");
            Resources.Content["Meshreel/Passes"] = passes;
            Resources.Content["Meshreel/Place"] = place;
            SystemInfo.supportsComputeShaders = true;
        }

        /// <summary>The moments that are shown: a file of each method.</summary>
        static IEnumerable<string> Files()
        {
            foreach (string name in new[] { "flag_small", "flag_wide", "wall_small", "wall_packed", "snake_small",
                "robot_small" })
                yield return Path.Combine(Game.Golden, "v0", name + ".reel");
            if (Game.Made != null) yield return Path.Combine(Game.Made, "prism.reel");
        }

        [Test]
        public static void DispatchesHaveAllThatTheShadersWant()
        {
            var declared = new[] { new Declared("Passes.compute"), new Declared("Place.compute") };
            Check.That(declared[0].Uniforms.Length == 12 && declared[0].Buffers.Length == 7, "the passes");
            Check.That(declared[1].Uniforms.Length == 5 && declared[1].Buffers.Length == 2, "the placing");
            int onCard = 0;
            foreach (string path in Files())
            {
                Prepare();
                ReelPlayer player = Game.Player(path, p => p.PlayOnEnable = false);
                Game.UntilReady(player);
                if (!player.View.IsOnCard)
                {
                    Check.Equal(passes.dispatches.Count, 0, "dispatches without a card");
                    Scene.Clear();
                    continue;
                }
                onCard++;
                Show(player, path, declared);
                Scene.Clear();
            }
            Check.That(onCard >= 4, onCard + " files are on the card");
            Game.Quiet();
            Check.Equal(Debug.Warnings.Count, 0, "warnings");
        }

        static void Show(ReelPlayer player, string path, Declared[] declared)
        {
            // A frame, and a moment between two.
            for (int i = 0; i < 2; i++)
            {
                int frame = player.File.Frames / 2 + i;
                double seconds = player.File.TimeOfFrame(frame);
                if (i == 1) seconds += 0.375 * (player.File.TimeOfFrame(frame + 1) - seconds);
                passes.dispatches.Clear();
                place.dispatches.Clear();
                player.Seek(seconds);
                Game.Until(() => player.View.Frame == frame && !player.View.IsLate && (i == 0
                    || player.View.Blend > 0.3f), "frame " + frame);
                ReelMesh[] meshes = player.View.Meshes.Where(m => m.IsComputable && m.Node >= 0).ToArray();
                Check.Equal(place.dispatches.Count, meshes.Length, "placed meshes");
                Check.That(passes.dispatches.Any(d => d.kernel == "vertices_"), "no vertices");
                List<ComputeShader.Dispatched> all = passes.dispatches.Concat(place.dispatches).ToList();
                foreach (ComputeShader.Dispatched each in all)
                {
                    Declared own = declared[each.kernel == "place" ? 1 : 0];
                    Check.That(each.kernel == "place" || Variants.Contains(each.keywords), "variant " + each.keywords);
                    foreach (string name in own.Uniforms) Check.That(each.ints.ContainsKey(name), each.kernel
                        + " has no " + name);
                    foreach (string name in own.Buffers) Check.That(each.buffers.ContainsKey(name), each.kernel
                        + " has no " + name);
                    Check.That(each.x > 0 && each.y > 0 && each.x <= 65535 && each.y <= 65535, "groups");
                }
                string folder = Environment.GetEnvironmentVariable("MESHREEL_CARD");
                if (folder != null)
                    Write(Path.Combine(folder, Path.GetFileNameWithoutExtension(path) + "_" + i + ".card"), all,
                        declared, Expected(player, meshes));
            }
        }

        /// <summary>The vertices that the CPU writes for the moment of a player, by the buffers of its
        /// meshes.</summary>
        static Dictionary<byte[], byte[]> Expected(ReelPlayer player, ReelMesh[] meshes)
        {
            var expected = new Dictionary<byte[], byte[]>();
            var other = new GameObject("cpu").AddComponent<ReelPlayer>();
            other.processor = ReelProcessor.Cpu;
            other.PlayOnEnable = false;
            other.Path = player.Path;
            other.Pause();
            other.Seek(player.Clock.Position);
            Game.Until(() => other.View != null && other.View.Frame == player.View.Frame
                && other.View.Blend == player.View.Blend
                && !other.View.IsLate, "the same moment on the CPU");
            foreach (ReelMesh mesh in meshes)
            {
                ReelMesh same = other.View.Meshes.First(m => m.Number == mesh.Number);
                Check.That(!other.View.IsOnCard && same.Vertices == mesh.Vertices, "the same mesh");
                expected.Add(mesh.Mesh.streams[0], same.Mesh.streams[0].Take(same.Vertices * same.Stride).ToArray());
            }
            return expected;
        }

        /// <summary>Writes buffers, dispatches and expected contents as little-endian words.</summary>
        static void Write(string path, List<ComputeShader.Dispatched> all, Declared[] declared, Dictionary<byte[],
            byte[]> expected)
        {
            var numbers = new Dictionary<byte[], int>();
            foreach (ComputeShader.Dispatched each in all)
                foreach (GraphicsBuffer buffer in each.buffers.Values)
                    if (!numbers.ContainsKey(buffer.content)) numbers.Add(buffer.content, numbers.Count);
            using (var file = new BinaryWriter(File.Create(path)))
            {
                file.Write(numbers.Count);
                foreach (byte[] content in numbers.OrderBy(n => n.Value).Select(n => n.Key))
                {
                    file.Write(content.Length / 4);
                    file.Write(content, 0, content.Length / 4 * 4);
                }
                file.Write(all.Count);
                foreach (ComputeShader.Dispatched each in all)
                {
                    Declared own = declared[each.kernel == "place" ? 1 : 0];
                    file.Write(each.kernel == "place" ? 0 : 1 + 4 * Array.IndexOf(Variants, each.keywords)
                        + Array.IndexOf(Kernels, each.kernel));
                    file.Write(each.x);
                    file.Write(each.y);
                    file.Write(own.Uniforms.Length);
                    foreach (string name in own.Uniforms) file.Write(each.ints[name]);
                    file.Write(own.Buffers.Length);
                    foreach (string name in own.Buffers) file.Write(numbers[each.buffers[name].content]);
                }
                file.Write(expected.Count);
                foreach (KeyValuePair<byte[], byte[]> each in expected)
                {
                    file.Write(numbers[each.Key]);
                    file.Write(each.Value.Length / 4);
                    file.Write(each.Value, 0, each.Value.Length / 4 * 4);
                }
            }
        }

        [Test]
        public static void WithoutACardTheCpuWrites()
        {
            Prepare();
            SystemInfo.supportsComputeShaders = false;
            ReelPlayer player = Game.Player(Game.Flag);
            Game.UntilReady(player);
            Check.That(!player.View.IsOnCard && player.View.Meshes[0].Writes > 0, "without compute shaders");
            SystemInfo.supportsComputeShaders = true;
            Resources.Content.Clear();
            player = Game.Player(Game.Flag);
            Game.UntilReady(player);
            Check.That(!player.View.IsOnCard, "without the shaders");
            Prepare();
            player = Game.Player(Game.Flag, p => p.processor = ReelProcessor.Cpu);
            Game.UntilReady(player);
            Check.That(!player.View.IsOnCard, "as the player wants it");
            // What the card cannot compute: changing faces, points.
            foreach (string name in new[] { "particles_small.reel", "square.reel" })
            {
                player = Game.Player(name);
                Game.UntilReady(player);
                Check.That(!player.View.IsOnCard, name);
            }
            Game.Quiet();
        }

        [Test]
        public static void NothingIsAllocated()
        {
            Prepare();
            ReelRuntime.Options.threads = 0;
            ReelRuntime.Options.readThreads = 0;
            ReelPlayer player = Game.Player(Path.Combine(Game.Golden, "v0/snake_small.reel"));
            ReelPlayer flag = Game.Player(Game.Flag);
            Game.UntilReady(player);
            Game.UntilReady(flag);
            Check.That(player.View.IsOnCard && flag.View.IsOnCard, "on the card");
            passes.records = place.records = false;
            for (int i = 0; i < 300; i++) ReelRuntime.Tick(1.0 / 60);
            long before = GC.GetAllocatedBytesForCurrentThread();
            for (int i = 0; i < 2000; i++) ReelRuntime.Tick(1.0 / 60);
            Check.Equal(GC.GetAllocatedBytesForCurrentThread() - before, 0,
                "bytes allocated in 2000 frames on the card");
            Game.Quiet();
        }
    }
}
