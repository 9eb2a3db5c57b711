using System;
using System.Collections.Generic;
using UnityEngine;

namespace Meshreel
{
    /// <summary>Levels of detail of the meshes of a view, chosen by the distance from a camera.</summary>
    internal sealed unsafe class ReelLod
    {
        readonly float[][] errors;
        readonly float[] nearest;

        public ReelLod(IntPtr frame, List<ReelMesh> meshes)
        {
            errors = new float[meshes.Count][];
            nearest = new float[meshes.Count];
            for (int i = 0; i < errors.Length; i++) errors[i] = meshes[i].LevelErrors(frame);
        }

        /// <summary>A mesh that several nodes show has the level of the nearest one.</summary>
        public void Choose(IntPtr frame, List<ReelMesh> meshes, List<ShownSurface> surfaces, Camera camera,
            float pixels)
        {
            Vector3 eye = camera.transform.position;
            for (int i = 0; i < meshes.Count; i++)
            {
                if (errors[i].Length == 0) continue;
                float scale = 1;
                nearest[i] = float.PositiveInfinity;
                for (int s = 0; s < surfaces.Count; s++)
                {
                    Transform place = surfaces[s].Place;
                    ReelMesh mesh = surfaces[s].Mesh;
                    if (mesh != meshes[i] || place == null) continue;
                    float distance = Distance(place, mesh.Mesh.bounds, eye);
                    if (distance >= nearest[i]) continue;
                    nearest[i] = distance;
                    Vector3 lossy = place.lossyScale;
                    scale = Mathf.Max(Mathf.Abs(lossy.x), Mathf.Max(Mathf.Abs(lossy.y), Mathf.Abs(lossy.z)));
                }
                if (float.IsPositiveInfinity(nearest[i])) continue;
                meshes[i].SetLevel(frame, (int)Level(i, meshes[i].Level, scale, camera, pixels));
            }
        }

        uint Level(int mesh, int before, float scale, Camera camera, float pixels)
        {
            uint level;
            Native.mr_lod_distances distances;
            fixed (float* values = errors[mesh])
            {
                Native.Check(Native.mr_lod_within(values, (UIntPtr)errors[mesh].Length, scale,
                    camera.fieldOfView * Mathf.Deg2Rad, camera.pixelHeight, pixels, &distances));
            }
            Native.Check(Native.mr_lod_at(&distances, nearest[mesh], (uint)before, &level));
            return level;
        }

        /// <summary>The distance from the eye to the ball around a mesh.</summary>
        static float Distance(Transform place, Bounds bounds, Vector3 eye)
        {
            Vector3 centre = place.TransformPoint(Vector3.Scale(bounds.center, Coordinates.Mirror));
            Vector3 lossy = place.lossyScale;
            float scale = Mathf.Max(Mathf.Abs(lossy.x), Mathf.Max(Mathf.Abs(lossy.y), Mathf.Abs(lossy.z)));
            return Mathf.Max(0, Vector3.Distance(centre, eye) - bounds.extents.magnitude * scale);
        }
    }
}
