// Stand-ins for com.unity.timeline.
using System;
using UnityEngine.Playables;

namespace UnityEngine.Timeline
{
    [Flags]
    public enum ClipCaps
    {
        None = 0, Looping = 1, Extrapolation = 2, ClipIn = 4, SpeedMultiplier = 8, Blending = 16, All = -1
    }
    public interface ITimelineClipAsset { ClipCaps clipCaps { get; } }
    [AttributeUsage(AttributeTargets.Class)]
    public sealed class TrackClipTypeAttribute : Attribute { public TrackClipTypeAttribute(Type type) { } }
    [AttributeUsage(AttributeTargets.Class)]
    public sealed class TrackBindingTypeAttribute : Attribute { public TrackBindingTypeAttribute(Type type) { } }
    [AttributeUsage(AttributeTargets.Class)]
    public sealed class TrackColorAttribute : Attribute { public TrackColorAttribute(float r, float g, float b) { } }
    public abstract class TrackAsset : PlayableAsset
    {
        public virtual Playable CreateTrackMixer(PlayableGraph graph, GameObject owner, int inputCount)
        {
            return new Playable();
        }
        public override Playable CreatePlayable(PlayableGraph graph, GameObject owner) { return new Playable(); }
    }
}
