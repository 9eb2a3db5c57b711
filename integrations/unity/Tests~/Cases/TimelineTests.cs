using System;
using Meshreel.Timeline;
using UnityEngine;
using UnityEngine.Playables;
using UnityEngine.Timeline;

namespace Meshreel.Tests
{
    public static class TimelineTests
    {
        static ScriptPlayable<ReelMixer> Graph(bool hides, out Playable[] clips)
        {
            var track = ScriptableObject.CreateInstance<ReelTrack>();
            track.hideInGaps = hides;
            var mixer = (ScriptPlayable<ReelMixer>)track.CreateTrackMixer(new PlayableGraph(), null, 2);
            Check.Equal(mixer.GetBehaviour().HideInGaps, hides, "HideInGaps");
            clips = new Playable[2];
            for (int i = 0; i < 2; i++)
            {
                var clip = ScriptableObject.CreateInstance<ReelTimelineClip>();
                clip.start = 0.1 * (i + 1);
                Check.That((clip.clipCaps & ClipCaps.Blending) != 0, "caps");
                Check.Near(clip.duration, 5, 0, "duration without an asset");
                clip.asset = ScriptableObject.CreateInstance<ReelAsset>();
                clip.asset.Duration = 2;
                Check.Near(clip.duration, 2 - clip.start, 1e-9, "duration");
                clips[i] = clip.CreatePlayable(new PlayableGraph(), null);
                Check.Near(((ScriptPlayable<ReelClipBehaviour>)clips[i]).GetBehaviour().Start, clip.start, 0, "Start");
                mixer.Handle.inputs[i] = clips[i].Handle;
            }
            return mixer;
        }

        static void Process(ScriptPlayable<ReelMixer> mixer, ReelPlayer player, bool plays)
        {
            var info = new FrameData
            {
                evaluationType = plays ? FrameData.EvaluationType.Playback : FrameData.EvaluationType.Evaluate,
                effectiveSpeed = 1,
            };
            mixer.GetBehaviour().ProcessFrame(mixer, info, player);
        }

        [Test]
        public static void ClipsOfATrack()
        {
            ReelPlayer player = Game.Player(Game.Flag, p => p.PlayOnEnable = false);
            Game.UntilReady(player);
            Playable[] clips;
            ScriptPlayable<ReelMixer> mixer = Graph(false, out clips);
            mixer.Handle.weights[0] = 1;
            for (int i = 0; i <= 10; i++)
            {
                clips[0].Handle.time = 0.02 * i;
                Process(mixer, player, true);
                Scene.Frame(0.02f);
            }
            Check.Near(player.Clock.Position, 0.32, 0.06, "the first clip");
            Check.That(player.Clock.IsPlaying, "it plays");
            mixer.Handle.weights[1] = 2;
            clips[1].Handle.time = 0.3;
            Process(mixer, player, false);
            Scene.Frame(0.02f);
            Check.Near(player.Clock.Position, 0.5, 1e-3, "the clip with the largest weight, at rest");
            mixer.Handle.weights[0] = mixer.Handle.weights[1] = 0;
            Process(mixer, player, true);
            Scene.Frame(0.02f);
            Check.That(!player.Clock.IsPlaying && player.View.Root.activeSelf, "a gap");
            Process(mixer, null, true);
            Game.Quiet();
        }

        [Test]
        public static void GapsThatHide()
        {
            ReelPlayer player = Game.Player(Game.Flag);
            Game.UntilReady(player);
            Playable[] clips;
            ScriptPlayable<ReelMixer> mixer = Graph(true, out clips);
            Process(mixer, player, true);
            Scene.Frame(0.02f);
            Check.That(!player.View.Root.activeSelf, "a gap");
            mixer.Handle.weights[1] = 1;
            Process(mixer, player, true);
            Scene.Frame(0.02f);
            Scene.Frame(0.02f);
            Check.That(player.View.Root.activeSelf, "a clip");
            Game.Quiet();
        }

        [Test]
        public static void PreviewsInTheEditor()
        {
            Application.isPlaying = false;
            Application.isEditor = true;
            var holder = new GameObject("player");
            var player = holder.AddComponent<ReelPlayer>();
            player.Path = Game.Flag;
            Playable[] clips;
            ScriptPlayable<ReelMixer> mixer = Graph(true, out clips);
            mixer.Handle.weights[0] = 1;
            clips[0].Handle.time = 0.15;
            Process(mixer, player, false);
            Check.Equal(holder.transform.childCount, 1, "objects of the preview");
            Check.That(!ReelRuntime.IsRunning, "a game runs in the editor");
            Check.Equal(holder.transform.GetChild(0).gameObject.hideFlags, HideFlags.DontSave, "saved with the scene");
            mixer.GetBehaviour().OnPlayableDestroy(mixer);
            Check.Equal(holder.transform.childCount, 0, "objects after the preview");
            Check.That(player.Preview(0.2), "Preview");
            mixer.Handle.weights[0] = 0;
            Process(mixer, player, false);
            Check.Equal(holder.transform.childCount, 0, "a gap");
            Check.That(player.Preview(0), "Preview");
            ReelPreview.EndAll();
            Check.Equal(holder.transform.childCount, 0, "after EndAll");
            Check.That(player.Preview(0), "a preview after EndAll");
            player.Path = "/no/such/file.reel";
            Check.That(!player.Preview(0) && player.Error.Contains("/no/such/file.reel"), "a missing file");
            player.Asset = ScriptableObject.CreateInstance<ReelAsset>();
            Check.That(!player.Preview(0), "an empty asset");
            player.Asset.name = "flag";
            player.Asset.Set(System.IO.File.ReadAllBytes(Game.Flag), null, null, null);
            Check.That(player.Preview(0.1), "bytes");
            using (var preview = new ReelPreview(player.Asset, null, holder.transform, null))
            {
                Check.Equal(preview.Show(1e9), preview.File.Frames - 1, "the last frame");
                Check.That(preview.View != null, "View");
            }
            player.EndPreview();
            Check.Throws<ReelException>(() => new ReelPreview(null, Game.Golden + "/clips/layers.reel",
                holder.transform, null), "no frames");
            Check.Throws<ReelException>(() => new ReelPreview(null, "", holder.transform, null), "nothing");
            UnityEngine.Object.DestroyImmediate(holder);
        }
    }
}
