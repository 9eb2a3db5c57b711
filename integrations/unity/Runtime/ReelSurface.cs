using UnityEngine;

namespace Meshreel
{
    /// <summary>The mesh of a node of a file, on a child of the node that mirrors x
    /// (`Coordinates`).</summary>
    [AddComponentMenu("")]
    public sealed class ReelSurface : MonoBehaviour
    {
        /// <summary>The number of the node in the file.</summary>
        public int node;
        /// <summary>The number of the mesh in the file.</summary>
        public int mesh;
        /// <summary>The names of the materials in the file, one for each submesh.</summary>
        public string[] materials;
    }
}
