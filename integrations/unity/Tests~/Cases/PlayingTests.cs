using System;
using System.Collections.Generic;
using System.IO;
using UnityEngine;
using UnityEngine.Rendering;
using Object = UnityEngine.Object;

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

        [Test]
        public static void MadeFilesAreThoseOfTheDecoder()
        {
            if (Game.Made == null) return;
            int vertices = 0;
            foreach (string path in Directory.GetFiles(Game.Made, "*.reel"))
            {
                string name = Path.GetFileName(path);
                using (ReelFile file = ReelFile.Open(path))
                using (var decoder = new ReelDecoder(file))
                {
                    ReelPlayer player = Game.Player(path, p => p.PlayOnEnable = false);
                    Game.UntilReady(player);
                    for (int frame = 0; frame < file.Frames; frame += Math.Max(1, file.Frames / 8))
                    {
                        Game.Seek(player, frame);
                        vertices += Reference.Compare(decoder.Decode(frame), file, player.View, name + " " + frame);
                    }
                    Scene.Clear();
                }
            }
            Game.Quiet();
            Console.WriteLine("     " + vertices + " vertices of compiled files");
            Check.That(vertices > 100000, "too few vertices were compared");
        }

        [Test]
        public static void CommandsDoWhatTheySay()
        {
            ReelPlayer player = Game.Player(Game.Flag, p => { p.PlayOnEnable = false; p.Repeat = ReelRepeat.Once; });
            Check.That(!player.Clock.IsOpen && player.File == null && player.View == null, "open at once");
            int ready = 0;
            player.Ready += p => ready++;
            player.onReady.AddListener(() => ready++);
            Game.UntilReady(player);
            Check.Equal(ready, 2, "handlers of Ready");
            Check.That(player.Clock.IsOpen && !player.Clock.IsPlaying, "it stands");
            double duration = player.Clock.Duration;
            Check.Near(duration, player.File.Duration, 1e-9, "duration");
            Scene.Frame(0.1f);
            Check.Near(player.Clock.Position, 0, 1e-9, "position while it stands");
            player.Play();
            Scene.Frame(0.1f);
            Check.That(player.Clock.IsPlaying, "it plays");
            Check.Near(player.Clock.Position, 0.1, 1e-6, "position");
            player.Rate = 2;
            Scene.Frame(0.05f);
            Check.Near(player.Clock.Position, 0.2, 1e-6, "position at twice the rate");
            Check.Near(player.Clock.Rate, 2, 0, "rate");
            Check.Near(player.Rate, 2, 0, "rate of the component");
            player.Pause();
            Scene.Frame(0.1f);
            Check.Near(player.Clock.Position, 0.2, 1e-6, "position after a pause");
            player.Seek(0.3);
            Scene.Frame(0);
            Check.Near(player.Clock.Position, 0.3, 1e-6, "position after a jump");
            player.SeekFrame(-5);
            Scene.Frame(0);
            Check.Near(player.Clock.Position, 0, 1e-6, "frames before the first");
            player.Seek(0.3);
            player.ResetToStart();
            Scene.Frame(0);
            Check.Near(player.Clock.Position, 0, 1e-6, "position after a reset");
            Game.Quiet();
        }

        [Test]
        public static void TheEndIsRaisedOnce()
        {
            ReelPlayer player = Game.Player(Game.Flag, p => p.Repeat = ReelRepeat.Once);
            int ended = 0;
            player.Ended += p => ended++;
            player.onEnded.AddListener(() => ended += 10);
            Game.UntilReady(player);
            for (int i = 0; i < 40; i++) Scene.Frame(0.2f);
            Check.Equal(ended, 11, "the end");
            Check.That(player.Clock.HasEnded, "HasEnded");
            Check.Near(player.Clock.Position, player.Clock.Duration, 1e-6, "it stays at the end");
            player.Play();
            for (int i = 0; i < 40; i++) Scene.Frame(0.2f);
            Check.Equal(ended, 22, "the second end");
            player.Repeat = ReelRepeat.Loop;
            Check.Equal(player.Repeat, ReelRepeat.Loop, "Repeat");
            player.Play();
            for (int i = 0; i < 40; i++) Scene.Frame(0.2f);
            Check.Equal(ended, 22, "the end of a loop");
            Game.Quiet();
        }

        [Test]
        public static void RangesDelaysAndStops()
        {
            ReelPlayer later = Game.Player(Game.Flag, p =>
            {
                p.StartTime = 0.5;
                p.PlayOnEnable = false;
            });
            Game.Until(() => later.Clock.IsOpen, "the file");
            Scene.Frame(0);
            Check.That(later.StartTime == 0.5 && later.Clock.Position == 0.5, "StartTime");
            ReelPlayer player = Game.Player(Game.Flag, p => { p.Repeat = ReelRepeat.Once; p.Priority = 3; });
            Check.Equal(player.Priority, 3, "Priority");
            Check.That(player.PlayOnEnable, "PlayOnEnable");
            Game.UntilReady(player);
            player.SetFrames(2, 4);
            for (int i = 0; i < 30; i++) Scene.Frame(0.1f);
            Game.Until(() => player.View.Frame == 4 && !player.View.IsLate, "the last frame of the range");
            player.SetRange(player.File.TimeOfFrame(1), player.File.TimeOfFrame(3));
            player.Play();
            for (int i = 0; i < 30; i++) Scene.Frame(0.1f);
            Game.Until(() => player.View.Frame == 3 && !player.View.IsLate, "the end of the range");
            Check.That(!player.SetRange("no such range"), "a range that is not there");
            player.Stop();
            Scene.Frame(0);
            Check.That(!player.View.Root.activeSelf, "stopped and visible");
            player.Delay(0.5);
            player.Play();
            Scene.Frame(0.25f);
            Check.That(player.View.Root.activeSelf, "playing and hidden");
            Check.Near(player.Clock.Position, player.File.TimeOfFrame(1), 1e-6, "position in the delay");
            player.PreRoll(0.1);
            player.StreamAt(0.2);
            player.Priority = 1;
            Scene.Frame(0.1f);
            Game.Quiet();
        }

        [Test]
        public static void EverySecondFrame()
        {
            ReelPlayer player = Game.Player(Game.Flag, p =>
            {
                p.Interpolate = false;
                p.FrameStep = 2;
            });
            Game.UntilReady(player);
            Check.Equal(player.FrameStep, 2, "FrameStep");
            int even = 0, odd = 0;
            for (int i = 0; i < 60; i++)
            {
                Scene.Frame(1 / 48f);
                System.Threading.Thread.Sleep(1);
                if (player.View.Frame == player.File.Frames - 1) continue;
                if (player.View.Frame % 2 == 0) even++;
                else odd++;
            }
            Check.That(even > 5 && odd == 0, even + " even and " + odd + " odd frames");
            player.FrameStep = 0;
            Check.Equal(player.FrameStep, 1, "every frame");
            for (int i = 0; i < 60; i++)
            {
                Scene.Frame(1 / 48f);
                System.Threading.Thread.Sleep(1);
                if (player.View.Frame % 2 != 0) odd++;
            }
            Check.That(odd > 0, "no odd frames");
            Game.Quiet();
        }

        [Test]
        public static void HiddenPlayersDecodeNothing()
        {
            ReelRuntime.Options.residentMegabytes = 0;
            ReelPlayer player = Game.Player("wall_small.reel");
            Game.UntilReady(player);
            player.Visible = false;
            Scene.Frame(0.05f);
            Check.That(!player.Visible && !player.View.Root.activeSelf, "hidden");
            for (int i = 0; i < 10; i++) Scene.Frame(0.02f);
            System.Threading.Thread.Sleep(50);
            long decoded = ReelRuntime.Statistics.FramesDecoded;
            double position = player.Clock.Position;
            for (int i = 0; i < 40; i++)
            {
                Scene.Frame(0.02f);
                System.Threading.Thread.Sleep(1);
            }
            Check.Equal(ReelRuntime.Statistics.FramesDecoded, decoded, "frames decoded for a hidden player");
            Check.Near(player.Clock.Position - position, 0.8, 1e-3, "time of a hidden player");
            player.Visible = true;
            Game.Until(() => player.View.Root.activeSelf && !player.View.IsLate, "a visible player", 0.01f);
            ReelPlayer never = Game.Player(Game.Flag, p => p.Visible = false);
            for (int i = 0; i < 20; i++) Scene.Frame(0.02f);
            Check.That(never.View == null || !never.View.Root.activeSelf, "a player that was never visible");
            Game.Quiet();
        }

        [Test]
        public static void NamedRanges()
        {
            if (Game.Made == null) return;
            ReelPlayer player = Game.Player(Path.Combine(Game.Made, "prism.reel"), p => p.PlayOnEnable = false);
            Game.UntilReady(player);
            ReelRange[] ranges = player.File.Ranges();
            Check.Equal(ranges.Length, 1, "ranges");
            Check.Equal(ranges[0].Name, "bend", "name");
            Check.Equal(ranges[0].First + ranges[0].Count, player.File.Frames, "frames of the range");
            Check.That(player.SetRange("bend"), "SetRange");
            Scene.Frame(0);
            Game.Quiet();
        }

        [Test]
        public static void AnotherFileAndOffAndOn()
        {
            ReelPlayer player = Game.Player("flag_small.reel");
            Check.Equal(player.Path, "flag_small.reel", "a path below StreamingAssets");
            Game.UntilReady(player);
            int meshes = Mesh.Alive;
            player.Path = Path.Combine(Game.Golden, "v0/wall_small.reel");
            Check.That(player.View == null, "objects of the file before");
            Game.UntilReady(player);
            Game.Until(() => Mesh.Alive == meshes, "meshes of the file before");
            player.gameObject.SetActive(false);
            Check.That(!player.View.Root.activeSelf && !player.Clock.IsOpen, "off");
            Check.Equal(ReelRuntime.Statistics.Instances, 0, "instances");
            player.Play();
            player.gameObject.SetActive(true);
            Game.Until(() => player.Clock.IsOpen, "open again");
            Check.That(player.View.Root.activeSelf, "on");
            Game.Quiet();
        }

        [Test]
        public static void FilesAreShared()
        {
            ReelPlayer a = Game.Player(Game.Flag), b = Game.Player(Game.Flag);
            Game.UntilReady(a);
            Game.UntilReady(b);
            ReelStatistics statistics = ReelRuntime.Statistics;
            Check.Equal(statistics.Files, 1, "files");
            Check.Equal(statistics.Instances, 2, "instances");
            Check.That(statistics.HeapBytes == 32 << 20 && statistics.HeapUsed > 0, "heap");
            Check.That(statistics.FramesDecoded > 0 && statistics.BytesRead > 0 && statistics.DecodeSeconds > 0,
                "counters");
            Check.That(ReelRuntime.IsRunning, "IsRunning");
            a.Seek(0.5);
            Game.Until(() => a.Clock.Position > 0.4, "a jump of one of them");
            Check.That(b.Clock.Position < 0.4, "the other one has jumped too");
            Object.Destroy(a.gameObject);
            Scene.Frame(0);
            Check.Equal(ReelRuntime.Statistics.Files, 1, "files after one is gone");
            Object.Destroy(b.gameObject);
            Scene.Frame(0);
            Scene.Frame(0);
            Check.Equal(ReelRuntime.Statistics.Files, 0, "files after both are gone");
            Game.Quiet();
        }

        [Test]
        public static void BytesOfAnAsset()
        {
            var asset = ScriptableObject.CreateInstance<ReelAsset>();
            asset.name = "flag";
            asset.Set(File.ReadAllBytes(Game.Flag), null, "/no/such/file.reel", "{}");
            Check.That(asset.PathToOpen == null && asset.Bytes != null && asset.Report == "{}", "the asset");
            ReelPlayer player = Game.Player("", p => p.Asset = asset);
            Check.That(player.Asset == asset, "Asset");
            Game.UntilReady(player);
            asset.Set(null, "flag_small.reel", "", null);
            Check.Equal(asset.PathToOpen, "flag_small.reel", "StreamedPath");
            Check.Equal(asset.StreamedPath + asset.ProjectPath, "flag_small.reel", "paths");
            player.Asset = asset;
            Game.UntilReady(player);
            Application.isEditor = true;
            asset.Set(null, "elsewhere.reel", Game.Flag, null);
            Check.Equal(asset.PathToOpen, Game.Flag, "ProjectPath in the editor");
            Game.Quiet();
        }

        [Test]
        public static void FilesOfAPackage()
        {
            // As on Android, where StreamingAssets is an address.
            Application.streamingAssetsPath = "test://" + Path.Combine(Game.Golden, "v0");
            ReelPlayer player = Game.Player("flag_small.reel"), other = Game.Player("flag_small.reel");
            player.Seek(0.2);
            Game.UntilReady(player);
            Game.UntilReady(other);
            Check.That(player.Clock.Position >= 0.2, "a command from before the file was fetched");
            ReelPlayer missing = Game.Player("missing.reel");
            Game.Until(() => missing.Error != null, "an error");
            Check.That(missing.Error.Contains("missing.reel") && missing.Error.Contains("404"), missing.Error);
            ReelPlayer early = Game.Player("wall_small.reel");
            Object.Destroy(early.gameObject);
            Scene.Frame(0);
        }

        [Test]
        public static void FollowsATimeline()
        {
            ReelPlayer player = Game.Player(Game.Flag, p => p.PlayOnEnable = false);
            Game.UntilReady(player);
            double time = 0.1;
            for (int i = 0; i < 20; i++)
            {
                player.Follow(time, 1);
                Scene.Frame(0.02f);
                time += 0.02;
            }
            Check.Near(player.Clock.Position, time, 0.05, "a clock that goes on");
            long decoded = ReelRuntime.Statistics.FramesDecoded;
            player.Follow(0.05, 1);
            Scene.Frame(0);
            Check.Near(player.Clock.Position, 0.05, 1e-3, "a jump back");
            player.Follow(0.25, 0);
            Scene.Frame(0.1f);
            Check.Near(player.Clock.Position, 0.25, 1e-3, "a clock that stands");
            Check.That(decoded > 0 && !player.Clock.IsPlaying, "it stands");
            Game.Quiet();
        }

        [Test]
        public static void NodesCamerasAndMaterials()
        {
            if (Game.Made == null) return;
            var list = ScriptableObject.CreateInstance<ReelMaterials>();
            var red = new Material(Shader.Find("Standard")) { name = "red" };
            ReelPlayer player = Game.Player(Path.Combine(Game.Made, "g_scene_attributes.reel"), p =>
            {
                p.PlayOnEnable = false;
                p.materials = list;
                list.fallback = red;
            });
            Game.UntilReady(player);
            ReelView view = player.View;
            Check.Equal(view.CameraCount, 1, "cameras");
            ReelCamera camera = view.Camera(0);
            Check.Near(camera.fieldOfView, 2 * Math.Atan(24.0 / 2 / 50) * 180 / Math.PI, 1e-3, "angle of view");
            Check.Near(camera.near, 0.1, 1e-6, "near");
            Check.Near(camera.aperture, 2.8, 1e-5, "f-stop");
            Check.Near(camera.focusDistance, 10, 1e-5, "focus");
            // It looks along -z of its node, as files say, with y up.
            Matrix4x4 node = camera.transform.parent.localToWorldMatrix;
            Check.Near(camera.transform.localToWorldMatrix.MultiplyVector(Vector3.forward),
                node.MultiplyVector(new Vector3(0, 0, -1)), 1e-5, "direction");
            Check.Near(camera.transform.localToWorldMatrix.MultiplyVector(Vector3.up),
                node.MultiplyVector(Vector3.up), 1e-5, "up");
            var lens = camera.gameObject.AddComponent<Camera>();
            camera.Apply(lens);
            Check.Near(lens.fieldOfView, camera.fieldOfView, 0, "a camera of the scene");
            camera.lensShift = new Vector2(0.1f, 0);
            camera.Apply(lens);
            Check.That(lens.usePhysicalProperties && lens.focalLength == 50, "a shifted lens");
            camera.orthographic = true;
            camera.orthographicSize = 3;
            camera.Apply(lens);
            Check.Near(lens.orthographicSize, 3, 0, "a lens without perspective");
            Transform arm = view.Find("/Root/Joint0/Joint1");
            Check.That(arm != null && view.Find("/nothing") == null, "Find");
            Check.Equal(arm.GetComponent<ReelNode>().path, "/Root/Joint0/Joint1", "path");
            Check.That(view.Node(arm.GetComponent<ReelNode>().number) == arm, "Node");
            Check.That(view.NodeCount == player.File.Nodes && view.SurfaceCount > 5, "counts");
            foreach (MeshRenderer renderer in player.GetComponentsInChildren<MeshRenderer>())
                foreach (Material material in renderer.sharedMaterials) Check.That(material == red, "material");
            Game.Quiet();
        }

        [Test]
        public static void MaterialsByName()
        {
            var list = ScriptableObject.CreateInstance<ReelMaterials>();
            var red = new Material(Shader.Find("Standard"));
            list.entries.Add(new ReelMaterials.Entry { name = "stone", material = red });
            Check.That(list.Find("stone") == red && list.Find("wood") == null, "Find");
            string[] names = ReelFile.Open(Game.Flag).Mesh(0).Materials;
            list.entries.Add(new ReelMaterials.Entry { name = names[0], material = red });
            ReelPlayer player = Game.Player(Game.Flag, p => p.materials = list);
            Game.UntilReady(player);
            Check.That(player.View.Surface(0).sharedMaterials[0] == red, "the material of a name");
            player = Game.Player(Game.Flag);
            Game.UntilReady(player);
            Check.That(player.View.Surface(0).sharedMaterials[0] != null, "a plain material");
            Game.Quiet();
        }

        [Test]
        public static void TrianglesFaceOutwards()
        {
            ReelPlayer player = Game.Player(Path.Combine(Game.Golden, "v0/wall_small.reel"), p => p.PlayOnEnable =
                false);
            Game.UntilReady(player);
            Mesh mesh = player.View.Surface(0).GetComponent<MeshFilter>().sharedMesh;
            Transform place = player.View.Surface(0).transform;
            Check.That(place.localToWorldMatrix.determinant < 0, "the surface is not mirrored");
            Check.That(place.parent.localToWorldMatrix.determinant > 0, "the node is mirrored");
            int outwards = 0, all = 0;
            for (int i = 0; i + 2 < mesh.indexBuffer.Length; i += 3)
            {
                int a = (int)mesh.indexBuffer[i], b = (int)mesh.indexBuffer[i + 1], c = (int)mesh.indexBuffer[i + 2];
                // In left-handed coordinates this points to where the triangle is clockwise.
                Vector3 face = Vector3.Cross(mesh.Position(b) - mesh.Position(a), mesh.Position(c) - mesh.Position(a));
                var normal = new Vector3(mesh.Read(VertexAttribute.Normal, a, 0), mesh.Read(VertexAttribute.Normal,
                    a, 1),
                    mesh.Read(VertexAttribute.Normal, a, 2));
                if (face.magnitude < 1e-6f) continue;
                all++;
                if (Vector3.Dot(face, normal) > 0) outwards++;
            }
            Check.That(all > 1000 && outwards > 0.97 * all, outwards + " of " + all + " triangles face outwards");
            Game.Quiet();
        }

        [Test]
        public static void LevelsOfDetail()
        {
            if (Game.Made == null) return;
            var eye = new GameObject("camera").AddComponent<Camera>();
            eye.fieldOfView = 60;
            eye.pixelHeight = 1080;
            Camera.main = eye;
            ReelPlayer player = Game.Player(Path.Combine(Game.Made, "levels.reel"), p => { p.PlayOnEnable =
                false; p.lodPixels = 2; });
            Game.UntilReady(player);
            Mesh mesh = player.View.Surface(0).GetComponent<MeshFilter>().sharedMesh;
            Check.Equal(player.File.Mesh(0).LodLevels, 4, "levels");
            eye.transform.position = new Vector3(0, 0, -1);
            Scene.Frame(0);
            int near = mesh.GetSubMesh(0).indexCount;
            eye.transform.position = new Vector3(0, 0, -100000);
            Scene.Frame(0);
            Scene.Frame(0);
            int far = mesh.GetSubMesh(0).indexCount;
            int total = 0, coarse = 0;
            for (int i = 0; i < mesh.subMeshCount; i++) coarse += mesh.GetSubMesh(i).indexCount;
            total = player.File.Mesh(0).Indices;
            Check.That(far < near && coarse < total / 4, "coarse triangles: " + coarse + " of " + total);
            player.lodCamera = new GameObject("other").AddComponent<Camera>();
            player.lodCamera.fieldOfView = 60;
            player.lodCamera.pixelHeight = 1080;
            Scene.Frame(0);
            Check.Equal(mesh.GetSubMesh(0).indexCount, near, "near again");
            Game.Quiet();
        }

        [Test]
        public static void NormalsAreComputedOrNot()
        {
            string path = Path.Combine(Game.Golden, "v0/square.reel");
            foreach (string each in Game.GoldenFiles)
            {
                using (ReelFile file = ReelFile.Open(each))
                using (var decoder = new ReelDecoder(file))
                {
                    if (file.Frames == 0 || file.Meshes != 1) continue;
                    ReelPlayer player = Game.Player(each, p => { p.PlayOnEnable = false; p.normals =
                        ReelNormals.None; });
                    Game.UntilReady(player);
                    if (player.View.SurfaceCount == 0) continue;
                    Mesh plain = player.View.Surface(0).GetComponent<MeshFilter>().sharedMesh;
                    int stream;
                    bool has = plain.Offset(VertexAttribute.Normal, out stream) >= 0;
                    player = Game.Player(each, p => p.PlayOnEnable = false);
                    Game.UntilReady(player);
                    Mesh computed = player.View.Surface(0).GetComponent<MeshFilter>().sharedMesh;
                    bool triangles = computed.GetSubMesh(0).topology == MeshTopology.Triangles;
                    Check.That(!triangles || computed.Offset(VertexAttribute.Normal, out stream) >= 0, each
                        + ": no normals");
                    if (has || !triangles) continue;
                    path = null;
                    var length = new Vector3(computed.Read(VertexAttribute.Normal, 0, 0),
                        computed.Read(VertexAttribute.Normal, 0, 1),
                        computed.Read(VertexAttribute.Normal, 0, 2)).magnitude;
                    Check.Near(length, 1, 1e-4, each + ": a computed normal");
                }
            }
            Check.That(path == null, "no file is without normals");
            Game.Quiet();
        }

        [Test]
        public static void FilesThatAreReplaced()
        {
            string path = Path.Combine(Path.GetTempPath(), "meshreel_unity_"
                + System.Diagnostics.Process.GetCurrentProcess().Id + ".reel");
            File.Copy(Game.Flag, path, true);
            try
            {
                ReelRuntime.Options.watch = true;
                ReelPlayer player = Game.Player(path, p => p.PlayOnEnable = false);
                int replaced = 0;
                player.Replaced += p => replaced++;
                player.onReplaced.AddListener(() => replaced += 10);
                Game.UntilReady(player);
                Check.Equal(player.File.Mesh(0).Vertices, player.View.Meshes[0].Vertices, "vertices");
                File.Copy(Path.Combine(Game.Golden, "v0/wall_small.reel"), path + ".new", true);
                File.Delete(path);
                File.Move(path + ".new", path);
                Game.Until(() => replaced > 0, "a replaced file", 0.1f);
                Game.UntilReady(player);
                Check.Equal(replaced, 11, "handlers of Replaced");
                Check.That(player.File.Mesh(0).Path != null && player.View.Meshes[0].Vertices > 10000, "the new file");
                Game.Quiet();
            }
            finally
            {
                File.Delete(path);
            }
        }
    }
}
