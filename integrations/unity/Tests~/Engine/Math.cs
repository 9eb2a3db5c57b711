// Stand-ins for structures of UnityEngine, as its scripting reference describes them: only what the package
// uses.
using System;

namespace UnityEngine
{
    public struct Vector2
    {
        public float x, y;
        public Vector2(float x, float y) { this.x = x; this.y = y; }
        public static Vector2 zero { get { return new Vector2(); } }
        public static bool operator ==(Vector2 a, Vector2 b) { return a.x == b.x && a.y == b.y; }
        public static bool operator !=(Vector2 a, Vector2 b) { return !(a == b); }
        public override bool Equals(object o) { return o is Vector2 && this == (Vector2)o; }
        public override int GetHashCode() { return x.GetHashCode() ^ y.GetHashCode(); }
    }

    public struct Vector3
    {
        public float x, y, z;
        public Vector3(float x, float y, float z) { this.x = x; this.y = y; this.z = z; }
        public static Vector3 zero { get { return new Vector3(); } }
        public static Vector3 one { get { return new Vector3(1, 1, 1); } }
        public static Vector3 up { get { return new Vector3(0, 1, 0); } }
        public static Vector3 forward { get { return new Vector3(0, 0, 1); } }
        public static Vector3 right { get { return new Vector3(1, 0, 0); } }
        public float magnitude { get { return (float)Math.Sqrt(Dot(this, this)); } }
        public Vector3 normalized { get { float m = magnitude; return m > 1e-5f ? this / m : zero; } }
        public static float Dot(Vector3 a, Vector3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
        public static Vector3 Cross(Vector3 a, Vector3 b)
        {
            return new Vector3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
        }
        public static float Distance(Vector3 a, Vector3 b) { return (a - b).magnitude; }
        public static Vector3 Scale(Vector3 a, Vector3 b) { return new Vector3(a.x * b.x, a.y * b.y, a.z * b.z); }
        public static Vector3 Min(Vector3 a, Vector3 b)
        {
            return new Vector3(Math.Min(a.x, b.x), Math.Min(a.y, b.y), Math.Min(a.z, b.z));
        }
        public static Vector3 Max(Vector3 a, Vector3 b)
        {
            return new Vector3(Math.Max(a.x, b.x), Math.Max(a.y, b.y), Math.Max(a.z, b.z));
        }
        public static Vector3 operator +(Vector3 a, Vector3 b) { return new Vector3(a.x + b.x, a.y + b.y, a.z + b.z); }
        public static Vector3 operator -(Vector3 a, Vector3 b) { return new Vector3(a.x - b.x, a.y - b.y, a.z - b.z); }
        public static Vector3 operator -(Vector3 a) { return new Vector3(-a.x, -a.y, -a.z); }
        public static Vector3 operator *(Vector3 a, float s) { return new Vector3(a.x * s, a.y * s, a.z * s); }
        public static Vector3 operator *(float s, Vector3 a) { return a * s; }
        public static Vector3 operator /(Vector3 a, float s) { return a * (1 / s); }
        public static bool operator ==(Vector3 a, Vector3 b) { return a.x == b.x && a.y == b.y && a.z == b.z; }
        public static bool operator !=(Vector3 a, Vector3 b) { return !(a == b); }
        public override bool Equals(object o) { return o is Vector3 && this == (Vector3)o; }
        public override int GetHashCode() { return x.GetHashCode() ^ (y.GetHashCode() << 8) ^ z.GetHashCode(); }
        public override string ToString() { return "(" + x + ", " + y + ", " + z + ")"; }
    }

    public struct Vector4
    {
        public float x, y, z, w;
        public Vector4(float x, float y, float z, float w) { this.x = x; this.y = y; this.z = z; this.w = w; }
    }

    public struct Color
    {
        public float r, g, b, a;
        public Color(float r, float g, float b, float a = 1) { this.r = r; this.g = g; this.b = b; this.a = a; }
    }

    public struct Rect
    {
        public float x, y, width, height;
        public Rect(float x, float y, float width, float height)
        {
            this.x = x; this.y = y; this.width = width; this.height = height;
        }
    }

    public struct Quaternion
    {
        public float x, y, z, w;
        public Quaternion(float x, float y, float z, float w) { this.x = x; this.y = y; this.z = z; this.w = w; }
        public static Quaternion identity { get { return new Quaternion(0, 0, 0, 1); } }
        /// About z, then x, then y, in degrees.
        public static Quaternion Euler(float x, float y, float z)
        {
            return About(1, y) * About(0, x) * About(2, z);
        }
        static Quaternion About(int axis, float degrees)
        {
            float s = (float)Math.Sin(degrees * Math.PI / 360), c = (float)Math.Cos(degrees * Math.PI / 360);
            return new Quaternion(axis == 0 ? s : 0, axis == 1 ? s : 0, axis == 2 ? s : 0, c);
        }
        public static Quaternion operator *(Quaternion a, Quaternion b)
        {
            return new Quaternion(
                a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y, a.w * b.y + a.y * b.w + a.z * b.x - a.x * b.z,
                a.w * b.z + a.z * b.w + a.x * b.y - a.y * b.x, a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z);
        }
        public static Vector3 operator *(Quaternion q, Vector3 v)
        {
            var u = new Vector3(q.x, q.y, q.z);
            Vector3 t = 2 * Vector3.Cross(u, v);
            return v + q.w * t + Vector3.Cross(u, t);
        }
    }

    public struct Matrix4x4
    {
        public float m00, m10, m20, m30, m01, m11, m21, m31, m02, m12, m22, m32, m03, m13, m23, m33;
        public static Matrix4x4 identity { get { return new Matrix4x4 { m00 = 1, m11 = 1, m22 = 1, m33 = 1 }; } }
        public static Matrix4x4 TRS(Vector3 t, Quaternion q, Vector3 s)
        {
            Vector3 x = q * new Vector3(s.x, 0, 0), y = q * new Vector3(0, s.y, 0), z = q * new Vector3(0, 0, s.z);
            return new Matrix4x4
            {
                m00 = x.x, m10 = x.y, m20 = x.z, m01 = y.x, m11 = y.y, m21 = y.z, m02 = z.x, m12 = z.y, m22 = z.z,
                m03 = t.x, m13 = t.y, m23 = t.z, m33 = 1,
            };
        }
        public static Matrix4x4 Translate(Vector3 t) { return TRS(t, Quaternion.identity, Vector3.one); }
        public float determinant
        {
            get
            {
                return m00 * (m11 * m22 - m12 * m21) - m01 * (m10 * m22 - m12 * m20) + m02 * (m10 * m21 - m11 * m20);
            }
        }
        public Vector3 MultiplyPoint3x4(Vector3 p) { return MultiplyVector(p) + new Vector3(m03, m13, m23); }
        public Vector3 MultiplyVector(Vector3 v)
        {
            return new Vector3(m00 * v.x + m01 * v.y + m02 * v.z, m10 * v.x + m11 * v.y + m12 * v.z,
                m20 * v.x + m21 * v.y + m22 * v.z);
        }
        public static Matrix4x4 operator *(Matrix4x4 a, Matrix4x4 b)
        {
            Vector3 x = a.MultiplyVector(new Vector3(b.m00, b.m10, b.m20));
            Vector3 y = a.MultiplyVector(new Vector3(b.m01, b.m11, b.m21));
            Vector3 z = a.MultiplyVector(new Vector3(b.m02, b.m12, b.m22));
            Vector3 t = a.MultiplyPoint3x4(new Vector3(b.m03, b.m13, b.m23));
            return new Matrix4x4
            {
                m00 = x.x, m10 = x.y, m20 = x.z, m01 = y.x, m11 = y.y, m21 = y.z, m02 = z.x, m12 = z.y, m22 = z.z,
                m03 = t.x, m13 = t.y, m23 = t.z, m33 = 1,
            };
        }
    }

    public struct Bounds
    {
        public Vector3 center, extents;
        public Bounds(Vector3 center, Vector3 size) { this.center = center; extents = size * 0.5f; }
        public Vector3 min { get { return center - extents; } }
        public Vector3 max { get { return center + extents; } }
        public Vector3 size { get { return extents * 2; } set { extents = value * 0.5f; } }
        public void SetMinMax(Vector3 min, Vector3 max)
        {
            extents = (max - min) * 0.5f;
            center = min + extents;
        }
        public void Encapsulate(Bounds other) { SetMinMax(Vector3.Min(min, other.min), Vector3.Max(max, other.max)); }
    }

    public static class Mathf
    {
        public const float Rad2Deg = 57.29578f, Deg2Rad = 0.0174532924f;
        public static float Abs(float v) { return Math.Abs(v); }
        public static float Max(float a, float b) { return Math.Max(a, b); }
        public static int Max(int a, int b) { return Math.Max(a, b); }
        public static float Min(float a, float b) { return Math.Min(a, b); }
        public static int Min(int a, int b) { return Math.Min(a, b); }
        public static float Clamp01(float v) { return v < 0 ? 0 : v > 1 ? 1 : v; }
        public static int CeilToInt(float v) { return (int)Math.Ceiling(v); }
        public static float Sqrt(float v) { return (float)Math.Sqrt(v); }
    }
}
