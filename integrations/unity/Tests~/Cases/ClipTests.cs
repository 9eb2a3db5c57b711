using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using UnityEngine;

namespace Meshreel.Tests
{
    public static unsafe class ClipTests
    {
        static string Clips(string name)
        {
            return Path.Combine(Game.Golden, "clips", name);
        }

        static ReelClipPlayer Walker(string path, Action<ReelClipPlayer> configure = null)
        {
            var holder = new GameObject("walker");
            holder.SetActive(false);
            var player = holder.AddComponent<ReelClipPlayer>();
            player.joints = ReelJoints.Created;
            player.Path = path;
            if (configure != null) configure(player);
            holder.SetActive(true);
            Game.Until(() => player.Clip != null || player.Error != null, "clips of " + path);
            return player;
        }

        /// <summary>The pose of the library's own cursor.</summary>
        static Native.mr_transform[] Pose(string path, int clip, double seconds, bool wraps)
        {
            using (ReelFile file = ReelFile.Open(path))
            using (var clips = new ReelClips(file))
            using (var played = new PlayedClip(clips, clip))
            {
                played.Seconds = seconds;
                played.Sample(wraps);
                return played.Pose;
            }
        }

        static void Compare(ReelClipPlayer player, Native.mr_transform[] pose, float scale, string what)
        {
            for (int i = 0; i < pose.Length; i++)
            {
                Native.mr_transform local = pose[i];
                Transform joint = player.Joint(i);
                Check.Near(joint.localPosition, new Vector3(-local.translation[0], local.translation[1],
                    local.translation[2]) * scale,
                    1e-4 * (1 + Math.Abs(local.translation[1])), what + ": position of joint " + i);
                Quaternion q = joint.localRotation;
                float dot = q.x * local.rotation[0] - q.y * local.rotation[1] - q.z * local.rotation[2]
                    + q.w * local.rotation[3];
                Check.Near(Math.Abs(dot), 1, 1e-5, what + ": rotation of joint " + i);
                Check.Near(joint.localScale, new Vector3(local.scale[0], local.scale[1], local.scale[2]), 1e-5,
                    what + ": scale");
            }
        }

        [Test]
        public static void PosesAreThoseOfTheLibrary()
        {
            foreach (string name in new[] { "layers.reel", "random_access.reel", "random_access_layers.reel" })
            {
                ReelClipPlayer player = Walker(Clips(name));
                ReelClips clips = player.Clips;
                Check.Equal(clips.Count, 2, "clips");
                Check.Equal(clips.Find("run"), 1, "Find");
                Check.That(clips.Find("swim") == -1 && clips.Find(null) == 0, "names that are not there");
                Check.That(clips.Name.EndsWith(name) && clips.MetresPerUnit > 0, "the file");
                for (int clip = 0; clip < 2; clip++)
                {
                    ReelClipInfo info = clips[clip];
                    Check.That(info.Samples > 100 && info.Joints == 9 && info.SamplesPerSecond == 30, "description");
                    Check.That(clips.Joints(info.Skeleton).Length == 9 && clips.Parents(info.Skeleton)[0] == -1,
                        "skeleton");
                    player.Play(info.Name);
                    Check.Equal(player.Clip, info.Name, "Clip");
                    double time = 0;
                    for (int i = 0; i < 40; i++)
                    {
                        Scene.Frame(0.31f);
                        time += 0.31f;
                        Check.Near(player.Seconds, time, 1e-5, "Seconds");
                        Compare(player, Pose(Clips(name), clip, player.Seconds, true), 1, name + " " + info.Name);
                    }
                    player.Seek(0.5);
                    player.Pause();
                    Scene.Frame(1);
                    Check.That(player.Seconds == 0.5 && !player.IsPlaying, "a pause");
                    Compare(player, Pose(Clips(name), clip, 0.5, true), 1, "after a jump");
                    player.Resume();
                    Check.That(player.IsPlaying, "Resume");
                }
                Scene.Clear();
            }
            Game.Quiet();
        }

        [Test]
        public static void TheEndOfAClip()
        {
            int ended = 0;
            ReelClipPlayer player = Walker(Clips("layers.reel"), p =>
            {
                p.repeats = false;
                p.Ended += who => ended++;
                p.onEnded.AddListener(() => ended += 10);
            });
            double duration = player.Clips[0].Duration;
            for (int i = 0; i < 30; i++) Scene.Frame(0.5f);
            Check.Equal(ended, 11, "the end");
            Check.Near(player.Seconds, duration, 1e-9, "it stays at the end");
            Compare(player, Pose(Clips("layers.reel"), 0, duration, false), 1, "the last pose");
            player.rate = -1;
            player.Play("run");
            Check.Near(player.Seconds, player.Clips[1].Duration, 1e-9, "backwards from the end");
            for (int i = 0; i < 30; i++) Scene.Frame(0.5f);
            Check.Equal(ended, 22, "the start, backwards");
            Game.Quiet();
        }

        [Test]
        public static void OneClipFadesIntoAnother()
        {
            ReelClipPlayer player = Walker(Clips("random_access.reel"), p => p.playOnEnable = false);
            Scene.Frame(0);
            player.Play("walk");
            player.Pause();
            player.Seek(1);
            Scene.Frame(0);
            Native.mr_transform[] a = Pose(Clips("random_access.reel"), 0, 1, true);
            Native.mr_transform[] b = Pose(Clips("random_access.reel"), 1, 0, true);
            player.Play("run", 2);
            player.Pause();
            Scene.Frame(0.5f);
            var wanted = new Native.mr_transform[a.Length];
            fixed (Native.mr_transform* x = a, y = b, target = wanted)
                Native.Check(Native.mr_pose_blend(x, y, 0.25f, target, (UIntPtr)wanted.Length));
            Compare(player, wanted, 1, "a quarter");
            Scene.Frame(2);
            Compare(player, b, 1, "the other clip");
            player.Play("walk", 1);
            player.Play("run", 1);
            player.Play("walk");
            player.Pause();
            Scene.Frame(0);
            Compare(player, Pose(Clips("random_access.reel"), 0, 0, true), 1, "without a fade");
            player.Play("swim");
            Check.That(player.Error.Contains("swim") && player.Clip == "walk", "a clip that is not there: "
                + player.Error);
            Scene.Frame(0.1f);
        }

        [Test]
        public static void JointsByName()
        {
            if (Game.Made == null) return;
            string path = Path.Combine(Game.Made, "rig.reel");
            // A character with other objects between its joints, and one joint that the clip does not know.
            var character = new GameObject("character");
            var lower = new GameObject("lower");
            var upper = new GameObject("upper");
            var hat = new GameObject("hat");
            lower.transform.SetParent(character.transform, false);
            upper.transform.SetParent(lower.transform, false);
            hat.transform.SetParent(upper.transform, false);
            character.SetActive(false);
            var player = character.AddComponent<ReelClipPlayer>();
            player.Path = path;
            player.translationScale = 2;
            bool ready = false;
            player.Ready += p => ready = true;
            character.SetActive(true);
            Game.Until(() => player.Clip != null, "the clip");
            Check.That(ready, "Ready");
            player.Pause();
            player.Seek(0.4);
            Scene.Frame(0);
            Check.That(player.Joint(0) == lower.transform && player.Joint(1) == upper.transform, "joints");
            Compare(player, Pose(path, 0, 0.4, true), 2, "joints of a character");
            Check.Near(hat.transform.localPosition, Vector3.zero, 0, "an object that is no joint");
            Check.Equal(player.Clip, "bend", "the first clip");
            // Without any joint it waits for them.
            var late = new GameObject("late").AddComponent<ReelClipPlayer>();
            late.Path = path;
            for (int i = 0; i < 20; i++) Scene.Frame(0.01f);
            Check.That(late.Clip == null && late.Error == null, "no joints yet");
            new GameObject("lower").transform.SetParent(late.transform, false);
            Game.Until(() => late.Clip != null, "joints that come later");
            Check.That(late.Joint(1) == null, "a joint that is missing");
            Game.Quiet();
        }

        [Test]
        public static void RootMotionMovesTheObject()
        {
            foreach (bool moves in new[] { false, true })
            {
                ReelClipPlayer player = Walker(Clips("layers.reel"), p => p.rootMotion = moves);
                player.Play("walk");
                Scene.Frame(0);
                Vector3 start = player.Joint(0).position;
                var path = new List<Vector3>();
                for (int i = 0; i < 20; i++)
                {
                    Scene.Frame(0.05f);
                    path.Add(player.Joint(0).position);
                }
                Vector3 translation;
                Quaternion rotation;
                Check.That(player.RootMotion(0, 1, out translation, out rotation), "RootMotion");
                if (moves)
                {
                    Check.Near(player.Joint(0).localPosition.x, 0, 1e-3, "the joint moves on the ground");
                    Check.Near(player.Joint(0).localPosition.z, 0, 1e-3, "the joint moves on the ground");
                    Check.Near((player.transform.localPosition - translation).magnitude, 0, 1e-2 * (1
                        + translation.magnitude), "the object");
                }
                else Check.Near(player.transform.localPosition, Vector3.zero, 0, "the object stands");
                // Steps are the same, but for where and in which direction the walk starts.
                Check.That(path.Count == 20 && start.magnitude >= 0, "steps");
                Scene.Clear();
            }
            Game.Quiet();
        }

        [Test]
        public static void TroubleWithClips()
        {
            string failure = null;
            ReelClipPlayer player = Walker(Game.Flag, p =>
            {
                p.Failed += (who, message) => failure = message;
                p.onFailed.AddListener(message => { throw new InvalidOperationException("a listener"); });
            });
            Check.That(failure != null && failure.Contains("flag_small.reel") && player.Error == failure,
                "a file without clips");
            Check.Equal(Debug.Exceptions.Count, 1, "the listener");
            for (int i = 0; i < 5; i++) Scene.Frame(0.1f);
            Check.Equal(Debug.Errors.Count, 1, "errors in the log");
            Vector3 translation;
            Quaternion rotation;
            Check.That(!player.RootMotion(0, 1, out translation, out rotation) && player.Seconds == 0,
                "motion of nothing");
            player.Seek(1);
            player.Play("walk");
            player.Path = Clips("layers.reel");
            Game.Until(() => player.Clip == "walk", "the file that is set then");
            Walker("/no/such/clips.reel");
            Check.That(Debug.Errors.Any(e => e.Contains("/no/such/clips.reel")), "a missing file");
            var asset = ScriptableObject.CreateInstance<ReelAsset>();
            asset.name = "clips";
            asset.Set(File.ReadAllBytes(Clips("layers.reel")).Take(3000).ToArray(), null, null, null);
            player.Asset = asset;
            Check.That(player.Asset == asset, "Asset");
            Game.Until(() => player.Error != null, "an error of a cut file");
            ReelPlayer frames = Game.Player(Clips("layers.reel"));
            for (int i = 0; i < 20; i++) Scene.Frame(0.01f);
            Check.That(frames.View == null, "frames of a file without any");
        }
    }
}
