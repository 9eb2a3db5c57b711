using UnityEngine;

namespace Meshreel
{
    /// <summary>Converts from files, which are right-handed, to Unity, which is left-handed: x changes its
    /// sign. That is also how Unity imports FBX files, so names and rotations of skeletons agree.</summary>
    internal static unsafe class Coordinates
    {
        /// <summary>The scale of an object whose mesh has the vertices of the file. Its triangles are
        /// counter-clockwise in right-handed coordinates, hence clockwise when the same numbers are read as
        /// left-handed ones, as Unity wants them. The scale moves them where they belong, and Unity turns the
        /// winding round for mirrored objects by itself.</summary>
        public static readonly Vector3 Mirror = new Vector3(-1, 1, 1);

        public static Vector3 Point(float* values)
        {
            return new Vector3(-values[0], values[1], values[2]);
        }

        /// <summary>A rotation. Those of files need not have unit length; those of Unity must.</summary>
        public static Quaternion Rotation(float* values)
        {
            float square = values[0] * values[0] + values[1] * values[1] + values[2] * values[2]
                + values[3] * values[3];
            if (!(square > 1e-30f)) return Quaternion.identity;
            float scale = 1 / Mathf.Sqrt(square);
            return new Quaternion(values[0] * scale, -values[1] * scale, -values[2] * scale, values[3] * scale);
        }

        public static Vector3 Scale(float* values)
        {
            return new Vector3(values[0], values[1], values[2]);
        }

        /// <summary>Sets a transform relative to its parent.</summary>
        public static void Apply(Transform transform, Native.mr_transform* local)
        {
            transform.localPosition = Point(local->translation);
            transform.localRotation = Rotation(local->rotation);
            transform.localScale = Scale(local->scale);
        }

        /// <summary>The bounds of vertices as they are in the file; empty ones around the origin if there are
        /// none.</summary>
        public static Bounds FileBounds(float* values)
        {
            var bounds = new Bounds();
            bool valid = values[0] <= values[3] && values[1] <= values[4] && values[2] <= values[5];
            if (!valid) return bounds;
            bounds.SetMinMax(new Vector3(values[0], values[1], values[2]),
                new Vector3(values[3], values[4], values[5]));
            return bounds;
        }

        /// <summary>The metres of a unit of length of a file; 1 if it names none.</summary>
        public static float Metres(uint unit)
        {
            switch (unit)
            {
                case 2: return 0.01f;
                case 3: return 0.001f;
                case 4: return 0.0254f;
                default: return 1;
            }
        }
    }
}
