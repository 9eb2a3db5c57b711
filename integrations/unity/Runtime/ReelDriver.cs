using UnityEngine;

namespace Meshreel
{
    /// <summary>Ticks the runtime once a frame, before the LateUpdate of other components.</summary>
    [AddComponentMenu(""), DefaultExecutionOrder(-1000)]
    internal sealed class ReelDriver : MonoBehaviour
    {
        public static ReelDriver Create()
        {
            var holder = new GameObject("Meshreel") { hideFlags = HideFlags.HideAndDontSave };
            if (Application.isPlaying) DontDestroyOnLoad(holder);
            return holder.AddComponent<ReelDriver>();
        }

        void LateUpdate()
        {
            ReelRuntime.Tick(Time.deltaTime);
        }
    }
}
