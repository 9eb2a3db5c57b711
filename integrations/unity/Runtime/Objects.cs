using UnityEngine;

namespace Meshreel
{
    /// <summary>Objects of the engine that this package creates.</summary>
    internal static class Objects
    {
        /// <summary>Destroys an object, at once outside of play mode. Null is allowed.</summary>
        public static void Destroy(Object target)
        {
            if (target == null) return;
            if (Application.isPlaying) Object.Destroy(target);
            else Object.DestroyImmediate(target);
        }
    }
}
