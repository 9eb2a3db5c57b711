using System;
using System.Collections.Generic;
using UnityEngine;

namespace Meshreel
{
    /// <summary>Materials by the names that a file gives them.</summary>
    [CreateAssetMenu(menuName = "Meshreel/Materials", fileName = "Materials")]
    public sealed class ReelMaterials : ScriptableObject
    {
        /// <summary>A name of the source, and the material for it.</summary>
        [Serializable]
        public struct Entry
        {
            /// <summary>The name of the material in the file.</summary>
            public string name;
            /// <summary>The material of the scene.</summary>
            public Material material;
        }

        /// <summary>Materials by name.</summary>
        public List<Entry> entries = new List<Entry>();
        /// <summary>The material of all other names; if it is missing, a plain one.</summary>
        public Material fallback;

        static Material plain;

        /// <summary>The material of a name: that of the list or else the fallback.</summary>
        public Material Find(string name)
        {
            foreach (Entry entry in entries)
            {
                if (entry.name == name && entry.material != null) return entry.material;
            }
            return fallback;
        }

        /// <summary>The material of a name in a list that may be missing; never null where the project has
        /// any of the usual shaders.</summary>
        internal static Material Find(ReelMaterials materials, string name)
        {
            Material found = materials == null ? null : materials.Find(name);
            return found != null ? found : Plain();
        }

        static Material Plain()
        {
            if (plain != null) return plain;
            foreach (string name in new[] { "Universal Render Pipeline/Lit", "HDRP/Lit", "Standard" })
            {
                Shader shader = Shader.Find(name);
                if (shader == null || !shader.isSupported) continue;
                plain = new Material(shader) { name = "Meshreel", hideFlags = HideFlags.HideAndDontSave };
                break;
            }
            return plain;
        }
    }
}
