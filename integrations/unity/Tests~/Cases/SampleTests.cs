using System.IO;
using System.Linq;
using UnityEngine;

namespace Meshreel.Tests
{
    public static class SampleTests
    {
        [Test]
        public static void TheStreet()
        {
            string folder = Path.Combine(Path.GetTempPath(), "meshreel_unity_street_"
                + System.Diagnostics.Process.GetCurrentProcess().Id);
            Directory.CreateDirectory(folder);
            try
            {
                foreach (string name in new[] { "flag_small.reel", "robot_small.reel", "wall_small.reel" })
                    File.Copy(Path.Combine(Game.Golden, "v0", name), Path.Combine(folder, name));
                Application.streamingAssetsPath = folder;
                var street = new GameObject("street").AddComponent<Street>();
                street.copies = 50;
                Game.Until(() => Graphics.Draws.Count > 0, "the crowd", 0.02f);
                ReelPlayer[] players = Scene.Objects.Select(o => o.GetComponent<ReelPlayer>())
                    .Where(p => p != null).ToArray();
                Check.Equal(players.Length, 4, "players");
                Game.Until(() => players.All(p => p.View != null), "all files", 0.02f);
                Check.Equal(Graphics.Draws[0].instances, 50, "copies");
                Camera eye = Scene.Objects.Select(o => o.GetComponent<Camera>()).First(c => c != null);
                Check.That(eye.transform.position.z > -6, "the camera walks");
                Game.Quiet();
            }
            finally
            {
                Directory.Delete(folder, true);
            }
        }
    }
}
