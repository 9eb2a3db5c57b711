using UnityEngine;
using UnityEngine.Playables;

namespace Meshreel.Timeline
{
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
