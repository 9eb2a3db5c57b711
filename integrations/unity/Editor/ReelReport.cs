using System;
using System.Text;
using UnityEngine;

namespace Meshreel.Editor
{
    /// <summary>What `meshreel compile --json` prints, as far as the inspector shows it.</summary>
    [Serializable]
    public sealed class ReelReport
    {
        /// <summary>A mesh of the file.</summary>
        [Serializable]
        public sealed class MeshReport
        {
            /// <summary>The path in the source.</summary>
            public string path;
            /// <summary>The method.</summary>
            public string method;
            /// <summary>The number of vertices.</summary>
            public int vertices;
            /// <summary>The promised largest error.</summary>
            public double tolerance;
            /// <summary>The largest error that was found.</summary>
            public double max_error;
        }

        /// <summary>A clip of the file.</summary>
        [Serializable]
        public sealed class ClipReport
        {
            /// <summary>The name.</summary>
            public string name;
            /// <summary>The number of joints.</summary>
            public int joints;
            /// <summary>The number of samples.</summary>
            public int samples;
        }

        /// <summary>Something that the source has and the file has not, or otherwise.</summary>
        [Serializable]
        public sealed class Remark
        {
            /// <summary>The node.</summary>
            public string node;
            /// <summary>The remark.</summary>
            public string what;
        }

        /// <summary>The reason of a failure.</summary>
        [Serializable]
        public sealed class ErrorReport
        {
            /// <summary>The error.</summary>
            public string what;
            /// <summary>The file or node.</summary>
            public string where;
        }

        /// <summary>Bytes of the file.</summary>
        public long file_bytes;
        /// <summary>The number of frames.</summary>
        public int frames;
        /// <summary>The uncompressed size divided by that of the file.</summary>
        public double ratio;
        /// <summary>Seconds that compiling took.</summary>
        public double seconds;
        /// <summary>The meshes.</summary>
        public MeshReport[] meshes;
        /// <summary>The clips.</summary>
        public ClipReport[] clips;
        /// <summary>The remarks.</summary>
        public Remark[] remarks;
        /// <summary>The error, if it failed.</summary>
        public ErrorReport error;

        /// <summary>Reads a report; null if the text is none.</summary>
        public static ReelReport Read(string json)
        {
            if (string.IsNullOrEmpty(json)) return null;
            try
            {
                return JsonUtility.FromJson<ReelReport>(json);
            }
            catch (ArgumentException)
            {
                return null;
            }
        }

        /// <summary>The report as lines for an inspector.</summary>
        public string Summary()
        {
            var text = new StringBuilder();
            text.AppendFormat("{0:N0} bytes, {1} frames, ratio {2:F1} : 1, compiled in {3:F1} s", file_bytes, frames,
                ratio, seconds);
            foreach (MeshReport mesh in meshes ?? new MeshReport[0])
            {
                text.AppendFormat("\n{0}: {1}, {2:N0} vertices, error {3:G3} of {4:G3}", mesh.path, mesh.method,
                    mesh.vertices, mesh.max_error, mesh.tolerance);
            }
            foreach (ClipReport clip in clips ?? new ClipReport[0])
                text.AppendFormat("\nclip {0}: {1} joints, {2} samples", clip.name, clip.joints, clip.samples);
            foreach (Remark remark in remarks ?? new Remark[0])
                text.AppendFormat("\nremark: {0}: {1}", remark.node, remark.what);
            return text.ToString();
        }
    }
}
