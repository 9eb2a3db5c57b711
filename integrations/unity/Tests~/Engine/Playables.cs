// Stand-ins for UnityEngine.Playables: a graph whose times and weights a test sets.
using System;
using System.Collections.Generic;

namespace UnityEngine.Playables
{
    public interface IPlayable { PlayableHandle Handle { get; } }

    /// What both kinds of playables refer to.
    public sealed class PlayableHandle
    {
        public PlayableBehaviour behaviour;
        public readonly List<PlayableHandle> inputs = new List<PlayableHandle>();
        public readonly List<float> weights = new List<float>();
        public double time, speed = 1;
    }

    public struct Playable : IPlayable
    {
        readonly PlayableHandle handle;
        public Playable(PlayableHandle handle) { this.handle = handle; }
        public PlayableHandle Handle { get { return handle; } }
    }

    public struct ScriptPlayable<T> : IPlayable where T : PlayableBehaviour, new()
    {
        readonly PlayableHandle handle;
        ScriptPlayable(PlayableHandle handle) { this.handle = handle; }
        public PlayableHandle Handle { get { return handle; } }
        public static ScriptPlayable<T> Create(PlayableGraph graph, int inputCount = 0)
        {
            var created = new PlayableHandle { behaviour = new T() };
            for (int i = 0; i < inputCount; i++) { created.inputs.Add(null); created.weights.Add(0); }
            return new ScriptPlayable<T>(created);
        }
        public T GetBehaviour() { return (T)handle.behaviour; }
        public static implicit operator Playable(ScriptPlayable<T> of) { return new Playable(of.handle); }
        public static explicit operator ScriptPlayable<T>(Playable of)
        {
            if (!(of.Handle.behaviour is T)) throw new InvalidCastException();
            return new ScriptPlayable<T>(of.Handle);
        }
    }

    public static class PlayableExtensions
    {
        public static int GetInputCount<U>(this U of) where U : struct, IPlayable { return of.Handle.inputs.Count; }
        public static float GetInputWeight<U>(this U of, int i) where U : struct, IPlayable
        {
            return of.Handle.weights[i];
        }
        public static Playable GetInput<U>(this U of, int i) where U : struct, IPlayable
        {
            return new Playable(of.Handle.inputs[i]);
        }
        public static double GetTime<U>(this U of) where U : struct, IPlayable { return of.Handle.time; }
        public static double GetSpeed<U>(this U of) where U : struct, IPlayable { return of.Handle.speed; }
    }

    public struct PlayableGraph { }

    public struct FrameData
    {
        public enum EvaluationType { Evaluate, Playback }
        public EvaluationType evaluationType { get; set; }
        public float effectiveSpeed { get; set; }
    }

    public abstract class PlayableBehaviour
    {
        public virtual void ProcessFrame(Playable playable, FrameData info, object playerData) { }
        public virtual void OnPlayableDestroy(Playable playable) { }
    }

    public abstract class PlayableAsset : ScriptableObject
    {
        public virtual double duration { get { return 5; } }
        public abstract Playable CreatePlayable(PlayableGraph graph, GameObject owner);
    }
}
