using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using UnityEngine;

namespace Meshreel.Tests
{
    public static class TroubleTests
    {
        static string Temporary(string name, byte[] bytes)
        {
            string path = Path.Combine(Path.GetTempPath(), "meshreel_unity_"
                + System.Diagnostics.Process.GetCurrentProcess().Id + "_" + name);
            File.WriteAllBytes(path, bytes);
            return path;
        }

        static void IsLogged(string part)
        {
            Check.That(Debug.Errors.Any(e => e.Contains(part)), "no error names " + part + ": " + string.Join("; ",
                Debug.Errors.ToArray()));
        }

        [Test]
        public static void AMissingFile()
        {
            var messages = new List<string>();
            ReelPlayer player = Game.Player("/no/such/file.reel", p =>
            {
                p.Failed += (who, message) => messages.Add(message);
                p.onFailed.AddListener(messages.Add);
            });
            Game.Until(() => messages.Count > 0, "an error");
            for (int i = 0; i < 20; i++) Scene.Frame(0.1f);
            Check.Equal(messages.Count, 2, "handlers of Failed");
            Check.That(messages[0].Contains("/no/such/file.reel") && player.Error == messages[0], messages[0]);
            Check.Equal(Debug.Errors.Count, 1, "errors in the log");
            Check.That(player.View == null && player.File == null, "a view of nothing");
            // A player that is set right plays.
            player.Path = Game.Flag;
            Check.That(player.Error == null, "the error of the file before");
            Game.UntilReady(player);
        }

        [Test]
        public static void NeitherAssetNorPath()
        {
            ReelPlayer player = Game.Player("");
            Scene.Frame(0);
            Check.That(player.Error == null && player.View == null, "no file is no error");
            player.Asset = ScriptableObject.CreateInstance<ReelAsset>();
            Check.That(player.Error != null, "an empty asset");
            player.Play();
            player.Seek(1);
            Scene.Frame(0);
        }

        [Test]
        public static void FilesThatAreNone()
        {
            byte[] flag = File.ReadAllBytes(Game.Flag);
            foreach (int size in new[] { 0, 1, 7, 100, flag.Length / 2, flag.Length - 1 })
            {
                Debug.Errors.Clear();
                string path = Temporary("cut_" + size + ".reel", flag.Take(size).ToArray());
                ReelPlayer player = Game.Player(path);
                Game.Until(() => player.Error != null || player.View != null, "an error of " + size + " bytes");
                Check.That(player.Error != null, size + " bytes were played");
                IsLogged(Path.GetFileName(path));
                Check.Throws<ReelException>(() => ReelFile.Open(path), "cut file");
                Check.Throws<ReelException>(() => ReelFile.Open(flag.Take(size).ToArray(), "cut"), "cut bytes");
                Scene.Clear();
                File.Delete(path);
            }
        }

        [Test]
        public static void DamagedFramesLeaveTheLastGoodOne()
        {
            byte[] bytes = File.ReadAllBytes(Game.Flag);
            // Frames are in the middle of the file.
            for (int i = bytes.Length / 2; i < bytes.Length / 2 + 400; i++) bytes[i] ^= 0x5a;
            string path = Temporary("damaged.reel", bytes);
            ReelPlayer player = Game.Player(path, p => { p.PlayOnEnable = false; p.Interpolate = false; });
            Game.UntilReady(player);
            Vector3 first = player.View.Surface(0).GetComponent<MeshFilter>().sharedMesh.Position(700);
            int shown = 0;
            for (int frame = player.File.Frames - 1; frame >= 0; frame--)
            {
                player.SeekFrame(frame);
                for (int i = 0; i < 20; i++)
                {
                    Scene.Frame(0);
                    System.Threading.Thread.Sleep(1);
                }
                if (player.View.Frame == frame) shown++;
            }
            IsLogged("damaged.reel");
            Check.That(shown > 0 && shown < player.File.Frames, shown + " of " + player.File.Frames
                + " frames were shown");
            Check.That(player.View.Surface(0).enabled, "nothing is shown");
            Check.That(Debug.Exceptions.Count == 0, "exceptions");
            Check.Near(player.View.Surface(0).GetComponent<MeshFilter>().sharedMesh.Position(700), first, 1e-4,
                "frame 0 again");
            using (ReelFile file = ReelFile.Open(path))
            using (var decoder = new ReelDecoder(file))
            {
                ReelView view = ReelView.Create(decoder, new GameObject("parent").transform, null);
                int failed = 0;
                for (int frame = 0; frame < file.Frames; frame++)
                {
                    try
                    {
                        decoder.Show(frame, view);
                        Check.Equal(view.Frame, frame, "frame");
                    }
                    catch (ReelException error)
                    {
                        failed++;
                        Check.That(error.Message.Length > 0 && error.Status == ReelStatus.Malformed, "status "
                            + error.Status);
                    }
                }
                Check.That(failed > 0 && failed < file.Frames, failed + " frames failed");
                view.Dispose();
            }
            File.Delete(path);
        }

        /// <summary>Bytes are flipped all over files; whatever happens, nothing crashes, and the game goes
        /// on.</summary>
        [Test]
        public static void FlippedBytes()
        {
            int failed = 0, shown = 0;
            foreach (string name in new[] { "everything_zstd.reel", "robot_small.reel", "particles_small.reel" })
            {
                byte[] good = File.ReadAllBytes(Path.Combine(Game.Golden, "v0", name));
                for (int i = 0; i < 60; i++)
                {
                    var bytes = (byte[])good.Clone();
                    bytes[(int)((long)i * good.Length / 60)] ^= (byte)(1 << (i % 8));
                    var asset = ScriptableObject.CreateInstance<ReelAsset>();
                    asset.name = name;
                    asset.Set(bytes, null, null, null);
                    ReelPlayer player = Game.Player("", p => { p.Asset = asset; });
                    Game.Until(() => player.Error != null || player.View != null, "something of " + name + " " + i);
                    for (int k = 0; k < 5; k++) Scene.Frame(0.05f);
                    if (player.Error != null) failed++;
                    else shown++;
                    Scene.Clear();
                }
            }
            Check.That(failed > 20 && Debug.Exceptions.Count == 0, failed + " failed, " + shown + " were shown");
        }

        [Test]
        public static void AHeapThatIsTooSmall()
        {
            ReelRuntime.Options.heapMegabytes = 1;
            ReelRuntime.Options.residentMegabytes = 0;
            ReelPlayer large = Game.Player("wall_packed.reel"), small = Game.Player("square.reel");
            Game.Until(() => large.Error != null, "an error");
            Check.That(large.Error.Contains("wall_packed.reel") && large.Error.Contains("heap"), large.Error);
            Game.UntilReady(small);
            Check.Equal(Debug.Errors.Count, 1, "errors in the log");
        }

        [Test]
        public static void AHeapThatIsFull()
        {
            ReelRuntime.Options.heapMegabytes = 7;
            ReelRuntime.Options.residentMegabytes = 0;
            var players = new List<ReelPlayer>();
            foreach (string name in new[] { "wall_packed.reel", "wall_small.reel", "wall_fast.reel" })
                players.Add(Game.Player(name));
            Game.Until(() => players.Any(p => p.Error != null), "an error", 0.02f);
            ReelPlayer refused = players.First(p => p.Error != null);
            Check.That(refused.Clock.IsRefused && ReelRuntime.Statistics.Refused > 0, "the clock");
            Check.That(refused.Error.Contains("heap") && refused.Error.Contains("bytes"), refused.Error);
            Game.Until(() => players.Any(p => p.View != null), "one for which there is room", 0.02f);
            Game.Until(() => players.All(p => p.View != null || p.Error != null), "shown or refused", 0.02f);
        }

        [Test]
        public static void AHeapThatCannotBe()
        {
            // More than any machine has.
            ReelRuntime.Options.heapMegabytes = int.MaxValue;
            ReelPlayer player = Game.Player(Game.Flag);
            ReelPlayer other = Game.Player(Game.Flag);
            for (int i = 0; i < 5; i++) Scene.Frame(0.1f);
            Check.That(!ReelRuntime.IsRunning && player.View == null && other.View == null, "it runs");
            Check.Equal(Debug.Errors.Count, 1, "errors in the log");
            IsLogged("no .reel file can be played");
            player.Play();
            ReelRuntime.Tick(0.1);
            Check.Equal(ReelRuntime.Statistics.Instances, 0, "statistics of nothing");
        }

        [Test]
        public static void CommandsThatMakeNoSense()
        {
            ReelPlayer player = Game.Player(Game.Flag), other = Game.Player(Game.Flag);
            Game.UntilReady(player);
            Game.UntilReady(other);
            foreach (double number in new[] { double.NaN, double.PositiveInfinity, double.MinValue, -1 })
            {
                player.Seek(number);
                player.SetRange(number, 1);
                player.SetRange(1, number);
                player.Rate = number;
                player.Delay(number);
                player.PreRoll(number);
                player.StreamAt(number);
                player.Follow(number, number);
                Scene.Frame(0.01f);
            }
            player.SetFrames(int.MaxValue, -3);
            player.SeekFrame(int.MaxValue);
            player.FrameStep = int.MaxValue;
            player.Repeat = (ReelRepeat)77;
            Scene.Frame(0.01f);
            player.Repeat = ReelRepeat.Loop;
            player.FrameStep = 1;
            player.Rate = 1;
            double position = other.Clock.Position;
            Scene.Frame(0.1f);
            Check.Near(other.Clock.Position, position + 0.1, 1e-3, "the other player");
            Check.That(Debug.Exceptions.Count == 0 && player.View != null, "the player");
            ReelRuntime.Tick(double.NaN);
            ReelRuntime.Tick(-1);
            Scene.Frame(0.1f);
            Check.That(other.Clock.Position > position + 0.1, "after ticks that make no sense");
        }

        [Test]
        public static void HandlersThatThrow()
        {
            int called = 0;
            Action<ReelPlayer> throws = p => { throw new InvalidOperationException("a handler of the game"); };
            ReelPlayer player = Game.Player(Game.Flag, p =>
            {
                p.Repeat = ReelRepeat.Once;
                p.Ready += throws;
                p.Ready += who => called++;
                p.onReady.AddListener(() => { throw new InvalidOperationException("a listener of the game"); });
                p.Ended += throws;
                p.Ended += who => called++;
            });
            ReelPlayer other = Game.Player(Game.Flag);
            ReelPlayer missing = Game.Player("/no/such/file.reel", p =>
            {
                p.Failed += (who, message) => { throw new InvalidOperationException("a handler of errors"); };
                p.Failed += (who, message) => called++;
                p.onFailed.AddListener(message => { throw new InvalidOperationException("a listener of errors"); });
            });
            Game.UntilReady(player);
            Game.UntilReady(other);
            Game.Until(() => missing.Error != null, "an error");
            for (int i = 0; i < 40; i++) Scene.Frame(0.2f);
            Check.Equal(called, 3, "handlers behind those that throw");
            Check.Equal(Debug.Exceptions.Count, 5, "exceptions in the log");
            Check.That(other.Clock.Position > 0 && other.Clock.IsPlaying, "the other player stands");
        }

        [Test]
        public static void HandlersThatAreRemoved()
        {
            int called = 0;
            Action<ReelPlayer> handler = p => called++;
            Action<ReelPlayer, string> failed = (p, message) => called++;
            ReelPlayer player = Game.Player("/no/such/file.reel", p =>
            {
                p.Ready += handler;
                p.Ended += handler;
                p.Replaced += handler;
                p.Failed += failed;
                p.Ready -= handler;
                p.Ended -= handler;
                p.Replaced -= handler;
                p.Failed -= failed;
            });
            Game.Until(() => player.Error != null, "an error");
            Action<ReelClipPlayer> clip = p => called++;
            Action<ReelClipPlayer, string> text = (p, message) => called++;
            var clips = new GameObject("clips").AddComponent<ReelClipPlayer>();
            clips.Ready += clip;
            clips.Ended += clip;
            clips.MarkerPassed += text;
            clips.Failed += text;
            clips.Ready -= clip;
            clips.Ended -= clip;
            clips.MarkerPassed -= text;
            clips.Failed -= text;
            clips.Path = "/no/such/clips.reel";
            Check.Equal(clips.Path, "/no/such/clips.reel", "Path");
            Game.Until(() => clips.Error != null, "an error");
            Check.Equal(called, 0, "handlers that were removed");
        }

        [Test]
        public static void HandlersThatDestroy()
        {
            ReelPlayer first = null, second = null, third = null;
            first = Game.Player(Game.Flag, p => p.Ready += who => UnityEngine.Object.DestroyImmediate(who.gameObject));
            second = Game.Player(Game.Flag, p => p.Ready += who => who.gameObject.SetActive(false));
            string wall = Path.Combine(Game.Golden, "v0/wall_small.reel");
            third = Game.Player(Game.Flag, p => p.Ready += who => { if (who.Path != wall) who.Path = wall; });
            ReelPlayer fourth = Game.Player(Game.Flag, p => p.Ready += who => Game.Player(Game.Flag));
            Game.Until(() => third.View != null && third.View.Meshes[0].Vertices > 10000,
                "the other file of the third");
            Game.UntilReady(fourth);
            Check.That(!second.gameObject.activeSelf, "the second");
            Check.That(first == null, "the first");
            ReelPlayer last = Game.Player(Game.Flag, p => p.Ready += who => ReelRuntime.Shutdown());
            for (int i = 0; i < 50; i++) Scene.Frame(0.01f);
            Check.That(last != null, "the last");
            Game.Quiet();
        }

        [Test]
        public static void ObjectsThatTheGameDestroys()
        {
            ReelPlayer player = Game.Player(Path.Combine(Game.Golden, "v0/robot_small.reel"));
            Game.UntilReady(player);
            UnityEngine.Object.DestroyImmediate(player.View.Node(player.View.NodeCount - 1).gameObject);
            for (int i = 0; i < 10; i++) Scene.Frame(0.05f);
            UnityEngine.Object.DestroyImmediate(player.View.Root);
            for (int i = 0; i < 10; i++) Scene.Frame(0.05f);
            Game.Quiet();
        }

        [Test]
        public static void ObjectsOfTheLibraryThatAreGone()
        {
            ReelFile file = ReelFile.Open(Game.Flag);
            Check.That(file.FileBytes > 0 && file.FramesPerSecond > 0 && file.Period >= 0 && file.Name == Game.Flag,
                "description");
            Check.Throws<ReelException>(() => file.Node(100), "a node that is not there");
            Check.Throws<ReelException>(() => file.Mesh(-1), "a mesh that is not there");
            Check.Throws<ReelException>(() => file.TimeOfFrame(100000), "a frame that is not there");
            var decoder = new ReelDecoder(file);
            Check.That(decoder.File == file, "File");
            ReelView view = ReelView.Create(decoder, new GameObject("parent").transform, null);
            Check.Throws<ReelException>(() => decoder.Show(100000, view), "a frame that is not there");
            Check.Equal(decoder.Show(0.0, view), 0, "the first frame");
            Check.Equal(decoder.Show(1e9, view), file.Frames - 1, "the last frame");
            Check.Equal(decoder.Show(-1.0, view), 0, "before the first frame");
            Check.Equal(decoder.Show(file.TimeOfFrame(3) + 1e-6, view), 3, "the nearest frame");
            file.Dispose();
            decoder.Show(2, view);
            Check.Equal(view.Frame, 2, "a decoder outlives its file");
            Check.Throws<ObjectDisposedException>(() => file.Node(0), "a closed file");
            decoder.Dispose();
            decoder.Dispose();
            Check.Throws<ObjectDisposedException>(() => decoder.Show(1, view), "a freed decoder");
            view.Dispose();
        }
    }

    /// <summary>Run with a library of another version in place of the real one.</summary>
    public static class OtherVersionTests
    {
        [Test]
        public static void NothingIsPlayed()
        {
            ReelPlayer player = Game.Player(Game.Flag);
            for (int i = 0; i < 5; i++) Scene.Frame(0.1f);
            Check.That(player.View == null && !ReelRuntime.IsRunning, "it plays");
            Check.Equal(Debug.Errors.Count, 1, "errors in the log");
            Check.That(Debug.Errors[0].Contains("9.8.7") && Debug.Errors[0].Contains("0.1.0"), Debug.Errors[0]);
            var error = Check.Throws<ReelException>(() => ReelFile.Open(Game.Flag), "a file");
            Check.Equal(error.Status, ReelStatus.Unsupported, "status");
            Check.Throws<ReelException>(() => ReelFile.Open(new byte[3], "bytes"), "bytes");
        }
    }

    /// <summary>Run without a library.</summary>
    public static class OtherMissingTests
    {
        [Test]
        public static void NothingIsPlayed()
        {
            ReelPlayer player = Game.Player(Game.Flag);
            var clips = new GameObject("clips").AddComponent<ReelClipPlayer>();
            clips.Path = Game.Flag;
            for (int i = 0; i < 5; i++) Scene.Frame(0.1f);
            Check.That(player.View == null && !ReelRuntime.IsRunning, "it plays");
            Check.Equal(Debug.Errors.Count, 1, "errors in the log");
            Check.That(Debug.Errors[0].Contains("meshreel_c"), Debug.Errors[0]);
        }
    }
}
