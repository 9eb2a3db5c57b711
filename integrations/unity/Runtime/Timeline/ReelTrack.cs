using System;
using UnityEngine;
using UnityEngine.Playables;
using UnityEngine.Timeline;

namespace Meshreel.Timeline
{
    /// <summary>A track of a timeline: its clips say which part of the file of a player is shown
    /// when.</summary>
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
}
