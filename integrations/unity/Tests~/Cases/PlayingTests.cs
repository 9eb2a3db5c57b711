using System;
using System.Collections.Generic;
using System.IO;
using UnityEngine;
using UnityEngine.Rendering;

namespace Meshreel.Tests
{
    public static class PlayingTests
    {
        [Test]
        public static void FramesAreThoseOfTheDecoder()
        {
            int vertices = 0, frames = 0;
            foreach (string path in Game.GoldenFiles)
            {
                string name = Path.GetFileName(path);
                using (ReelFile file = ReelFile.Open(path))
                {
                    if (file.Frames == 0) continue;
                    using (var decoder = new ReelDecoder(file))
                    {
                        ReelPlayer player = Game.Player(path, p => p.PlayOnEnable = false);
                        Game.UntilReady(player);
                        for (int frame = 0; frame < file.Frames; frame += Math.Max(1, file.Frames / 8))
                        {
                            Game.Seek(player, frame);
                            vertices += Reference.Compare(decoder.Decode(frame), file, player.View, name + " " + frame);
                            frames++;
                        }
                        Scene.Clear();
                    }
                }
            }
            Game.Quiet();
            Console.WriteLine("     " + frames + " frames, " + vertices + " vertices");
            Check.That(vertices > 10000, "too few vertices were compared");
        }

        [Test]
        public static void FramesAreBlended()
        {
            ReelPlayer player = Game.Player(Game.Flag, p => p.PlayOnEnable = false);
            Game.UntilReady(player);
            Mesh mesh = player.View.Surface(0).GetComponent<MeshFilter>().sharedMesh;
            Game.Seek(player, 1);
            Vector3 a = mesh.Position(300);
            Game.Seek(player, 2);
            Vector3 b = mesh.Position(300);
            double start = player.File.TimeOfFrame(1), end = player.File.TimeOfFrame(2);
            player.Seek(start + 0.25 * (end - start));
            Game.Until(() => player.View.Frame == 1 && player.View.Blend > 0, "a blend");
            Check.Near(player.View.Blend, 0.25, 1e-3, "weight");
            Check.Near(mesh.Position(300), a + (b - a) * 0.25f, 1e-4, "position");
            Check.That((a - b).magnitude > 1e-3, "the vertex does not move");
            player.Interpolate = false;
            Check.That(!player.Interpolate, "Interpolate");
            Game.Until(() => player.View.Blend == 0, "no blend");
            Check.Near(mesh.Position(300), a, 1e-6, "position without blend");
            Game.Quiet();
        }
    }
}
