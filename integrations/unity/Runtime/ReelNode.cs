using UnityEngine;

namespace Meshreel
{
    /// <summary>A node of a file. Objects that are attached to it move with it; their axes are
    /// Unity's.</summary>
    [AddComponentMenu("")]
    public sealed class ReelNode : MonoBehaviour
    {
        /// <summary>The number of the node in the file.</summary>
        public int number;
        /// <summary>The path of the node in the source.</summary>
        public string path;
    }
}
