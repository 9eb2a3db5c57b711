using System;
using UnityEngine;
using UnityEngine.Playables;
using UnityEngine.Timeline;

namespace Meshreel.Timeline
{
    /// <summary>A track of a timeline: its clips say which part of the file of a player is shown when.</summary>
    [Serializable, TrackClipType(typeof(ReelTimelineClip)), TrackBindingType(typeof(ReelPlayer))]
    [TrackColor(0.2f, 0.6f, 0.7f)]
    public sealed class ReelTrack : TrackAsset
    {
        /// <summary>True to hide the player where the track has no clip; otherwise what was shown last
        /// remains.</summary>
        public bool hideInGaps;

        /// <summary>Creates the mixer of the track's clips.</summary>
        public override Playable CreateTrackMixer(PlayableGraph graph, GameObject owner, int inputCount)
        {
            ScriptPlayable<ReelMixer> mixer = ScriptPlayable<ReelMixer>.Create(graph, inputCount);
            mixer.GetBehaviour().HideInGaps = hideInGaps;
            return mixer;
        }
    }

    /// <summary>A clip of a timeline: a part of a file.</summary>
    [Serializable]
    public sealed class ReelTimelineClip : PlayableAsset, ITimelineClipAsset
    {
        /// <summary>The seconds of animation at which the clip begins.</summary>
        public double start;
        /// <summary>The asset that tells how long a new clip is; the player's own asset is what is shown.</summary>
        public ReelAsset asset;

        /// <summary>What timelines may do with a clip.</summary>
        public ClipCaps clipCaps
        {
            get { return ClipCaps.Blending | ClipCaps.ClipIn | ClipCaps.SpeedMultiplier | ClipCaps.Extrapolation; }
        }

        /// <summary>The length of a new clip in seconds.</summary>
        public override double duration
        {
            get { return asset != null && asset.Duration > start ? asset.Duration - start : base.duration; }
        }

        /// <summary>Creates what plays the clip.</summary>
        public override Playable CreatePlayable(PlayableGraph graph, GameObject owner)
        {
            ScriptPlayable<ReelClipBehaviour> playable = ScriptPlayable<ReelClipBehaviour>.Create(graph);
            playable.GetBehaviour().Start = start;
            return playable;
        }
    }

    /// <summary>A clip while a timeline runs.</summary>
    public sealed class ReelClipBehaviour : PlayableBehaviour
    {
        /// <summary>The seconds of animation at which the clip begins.</summary>
        public double Start { get; set; }
    }

    /// <summary>Shows the clip of a track that has the largest weight.</summary>
    public sealed class ReelMixer : PlayableBehaviour
    {
        ReelPlayer player;
        bool hasClip;

        /// <summary>True to hide the player where there is no clip.</summary>
        public bool HideInGaps { get; set; }

        /// <summary>Called by the timeline once a frame. In a game the player follows the time, so that it
        /// streams ahead; in the editor it shows a preview.</summary>
        public override void ProcessFrame(Playable playable, FrameData info, object playerData)
        {
            player = playerData as ReelPlayer;
            if (player == null) return;
            int chosen = -1;
            float weight = 0;
            for (int i = 0; i < playable.GetInputCount(); i++)
            {
                if (playable.GetInputWeight(i) <= weight) continue;
                chosen = i;
                weight = playable.GetInputWeight(i);
            }
            if (chosen < 0)
            {
                Leave();
                return;
            }
            var input = (ScriptPlayable<ReelClipBehaviour>)playable.GetInput(chosen);
            double seconds = input.GetBehaviour().Start + input.GetTime();
            bool plays = info.evaluationType == FrameData.EvaluationType.Playback;
            double rate = plays ? info.effectiveSpeed * input.GetSpeed() : 0;
            Show(seconds, rate);
            hasClip = true;
        }

        void Show(double seconds, double rate)
        {
            if (!Application.isPlaying)
            {
                player.Preview(seconds);
                return;
            }
            if (player.View != null && player.View.Root != null && !hasClip && HideInGaps)
                player.View.Root.SetActive(true);
            player.Follow(seconds, rate);
        }

        void Leave()
        {
            if (!hasClip && !HideInGaps) return;
            if (!Application.isPlaying)
            {
                if (HideInGaps) player.EndPreview();
                return;
            }
            if (HideInGaps) player.Stop();
            else player.Pause();
            hasClip = false;
        }

        /// <summary>Called when the timeline is closed: ends a preview.</summary>
        public override void OnPlayableDestroy(Playable playable)
        {
            if (player != null && !Application.isPlaying) player.EndPreview();
        }
    }
}
