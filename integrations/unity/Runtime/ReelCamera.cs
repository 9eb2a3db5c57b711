using System;
using UnityEngine;

namespace Meshreel
{
    /// <summary>A camera of a file, which moves and zooms with it. To look through it, add a Camera to its
    /// object: the lens is then applied to it.</summary>
    [AddComponentMenu("")]
    public sealed class ReelCamera : MonoBehaviour
    {
        /// <summary>The number of the camera in the file.</summary>
        public int number;
        /// <summary>The vertical angle of view in degrees; 0 for an orthographic camera.</summary>
        public float fieldOfView;
        /// <summary>True for a camera without perspective.</summary>
        public bool orthographic;
        /// <summary>Half the height of the visible area of an orthographic camera, in metres.</summary>
        public float orthographicSize;
        /// <summary>The near clipping distance in metres.</summary>
        public float near;
        /// <summary>The far clipping distance in metres.</summary>
        public float far;
        /// <summary>The focal length in millimetres.</summary>
        public float focalLength;
        /// <summary>The width and height of the picture plane in millimetres.</summary>
        public Vector2 sensorSize;
        /// <summary>The offset of the picture's centre, as a fraction of the picture plane.</summary>
        public Vector2 lensShift;
        /// <summary>The distance that is in focus, in metres.</summary>
        public float focusDistance;
        /// <summary>The focal length divided by the diameter of the aperture; 0 if everything is
        /// sharp.</summary>
        public float aperture;

        Camera added;

        void LateUpdate()
        {
            Camera target;
            if (!TryGetComponent(out target) || target == added) return;
            // Lenses that do not change are read only once, before anyone can add a camera.
            added = target;
            Apply(target);
        }

        /// <summary>Applies the lens to a camera. One whose centre is shifted becomes a physical
        /// camera.</summary>
        public void Apply(Camera target)
        {
            target.orthographic = orthographic;
            target.nearClipPlane = near;
            target.farClipPlane = far;
            if (orthographic)
            {
                target.orthographicSize = orthographicSize;
                return;
            }
            target.fieldOfView = fieldOfView;
            if (lensShift == Vector2.zero) return;
            target.usePhysicalProperties = true;
            target.focalLength = focalLength;
            target.sensorSize = sensorSize;
            target.lensShift = lensShift;
        }

        internal unsafe void Read(Native.mr_lens* lens, float metres)
        {
            orthographic = lens->orthographic != 0;
            fieldOfView = lens->vertical_angle * Mathf.Rad2Deg;
            // The aperture of an orthographic camera is in tenths of the file's unit.
            orthographicSize = lens->aperture[1] / 10 / 2 * metres;
            near = lens->clipping[0] * metres;
            far = lens->clipping[1] * metres;
            focalLength = lens->focal_length;
            sensorSize = new Vector2(lens->aperture[0], lens->aperture[1]);
            // What is on the right in the source is on the right here: the sign of x stays.
            lensShift = new Vector2(
                lens->aperture[0] > 0 ? lens->aperture_offset[0] / lens->aperture[0] : 0,
                lens->aperture[1] > 0 ? lens->aperture_offset[1] / lens->aperture[1] : 0);
            focusDistance = lens->focus_distance * metres;
            aperture = lens->f_stop;
            Camera target;
            if (TryGetComponent(out target)) Apply(target);
        }
    }

    /// <summary>The cameras of a file, and the objects that show them.</summary>
    internal sealed unsafe class CameraSet : IDisposable
    {
        readonly CamerasHandle handle;
        readonly float metres;
        readonly ReelCamera[] objects;
        readonly bool[] animated;

        public CameraSet(ReelFile file, Transform[] nodes)
        {
            IntPtr pointer;
            Native.Check(Native.mr_cameras_new(file.Pointer, &pointer));
            handle = new CamerasHandle(pointer);
            metres = file.MetresPerUnit;
            UIntPtr count;
            Native.Check(Native.mr_cameras_count(pointer, &count));
            objects = new ReelCamera[(int)count];
            animated = new bool[objects.Length];
            for (int i = 0; i < objects.Length; i++)
            {
                Native.mr_camera_info info;
                info.size = (UIntPtr)sizeof(Native.mr_camera_info);
                Native.Check(Native.mr_camera_get(pointer, (uint)i, &info, null, UIntPtr.Zero, null));
                Transform parent = nodes[info.node];
                var holder = new GameObject("Camera") { hideFlags = parent.gameObject.hideFlags };
                holder.transform.SetParent(parent, false);
                // Cameras of files look along -z, those of Unity along z.
                holder.transform.localRotation = new Quaternion(0, 1, 0, 0);
                objects[i] = holder.AddComponent<ReelCamera>();
                objects[i].number = i;
                animated[i] = info.animated != 0;
                Update(i, new Native.mr_pair());
            }
        }

        public int Count
        {
            get { return objects.Length; }
        }

        public ReelCamera this[int number]
        {
            get { return objects[number]; }
        }

        /// <summary>Updates the lenses that are animated.</summary>
        public void Update(Native.mr_pair pair)
        {
            for (int i = 0; i < objects.Length; i++)
            {
                if (animated[i] && objects[i] != null) Update(i, pair);
            }
        }

        void Update(int number, Native.mr_pair pair)
        {
            Native.mr_lens lens;
            lens.size = (UIntPtr)sizeof(Native.mr_lens);
            Native.Check(Native.mr_camera_lens(handle.Pointer, (uint)number, pair, &lens));
            objects[number].Read(&lens, metres);
        }

        public void Dispose()
        {
            handle.Dispose();
        }
    }
}
