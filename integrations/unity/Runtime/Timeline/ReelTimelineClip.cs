using System;
using UnityEngine;
using UnityEngine.Playables;
using UnityEngine.Timeline;

namespace Meshreel.Timeline
{
    /// <summary>A clip of a timeline: a part of a file.</summary>
    [Serializable]
    public sealed class ReelTimelineClip : PlayableAsset, ITimelineClipAsset
    {
        /// <summary>The seconds of animation at which the clip begins.</summary>
        public double start;
        /// <summary>The asset that tells how long a new clip is; the player's own asset is what is
        /// shown.</summary>
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
}
