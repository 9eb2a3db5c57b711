using System;
using System.IO;
using System.Linq;
using UnityEngine;
using UnityEngine.Rendering;

namespace Meshreel.Tests
{
    public static class CrowdTests
    {
        static ReelCrowd Crowd(ReelPlayer player, int copies)
        {
            var crowd = new GameObject("crowd").AddComponent<ReelCrowd>();
            crowd.Player = player;
            var all = new Matrix4x4[copies];
            for (int i = 0; i < copies; i++) all[i] = Matrix4x4.Translate(new Vector3(10 * i, 0, 0));
            crowd.SetMatrices(all);
            Check.Equal(crowd.Count, copies, "Count");
            Check.That(crowd.Player == player, "Player");
            return crowd;
        }

        /// <summary>A material whose shader reads the matrices of copies.</summary>
        static ReelMaterials CrowdMaterials()
        {
            var list = ScriptableObject.CreateInstance<ReelMaterials>();
            list.fallback = new Material(Shader.Find("Meshreel/Crowd"));
            return list;
        }

        static void Frame(float seconds)
        {
            Graphics.Draws.Clear();
            Scene.Frame(seconds);
        }

        [Test]
        public static void CopiesAreWhereTheyBelong()
        {
            foreach (bool indirect in new[] { true, false })
            {
                SystemInfo.supportsInstancing = SystemInfo.supportsComputeShaders = true;
                ReelPlayer player = Game.Player(Game.Flag, p =>
                {
                    p.PlayOnEnable = false;
                    p.materials = CrowdMaterials();
                });
                player.transform.localPosition = new Vector3(100, 0, 0);
                ReelCrowd crowd = Crowd(player, 1200);
                crowd.indirect = indirect;
                Game.UntilReady(player);
                Game.Seek(player, 3);
                Frame(0);
                var draws = Graphics.Draws;
                Check.Equal(draws.Sum(d => d.instances), 1200 * player.View.SurfaceCount, "copies");
                Check.That(indirect || draws.All(d => d.instances <= 511 && d.how.material.enableInstancing), "calls");
                Mesh own = player.View.Surface(0).GetComponent<MeshFilter>().sharedMesh, copied = draws[0].mesh;
                Check.That(own != copied, "the mesh of the player");
                Transform surface = player.View.Surface(0).transform;
                for (int v = 0; v < own.vertexCount; v += 37)
                {
                    // The seventh copy, relative to the player.
                    Vector3 wanted = surface.TransformPoint(own.Position(v)) - player.transform.localPosition
                        + new Vector3(60, 0, 0);
                    Matrix4x4 place = Matrix(draws, indirect, 6);
                    Check.Near(place.MultiplyPoint3x4(copied.Position(v)), wanted, 1e-3, "a vertex of a copy");
                    Check.That(place.determinant > 0, "a mirrored copy");
                    Check.Near(copied.Read(VertexAttribute.Normal, v, 0), -own.Read(VertexAttribute.Normal, v, 0), 0,
                        "normal");
                    Check.Near(copied.Read(VertexAttribute.Normal, v, 1), own.Read(VertexAttribute.Normal, v, 1), 0,
                        "normal");
                }
                Check.That(own.indexBuffer[1] == copied.indexBuffer[2]
                    && own.indexBuffer[0] == copied.indexBuffer[0], "winding");
                Bounds bounds = draws[0].how.worldBounds;
                Check.That(bounds.min.x < 5 && bounds.max.x > 11985, "bounds");
                Scene.Clear();
            }
            Game.Quiet();
        }

        static Matrix4x4 Matrix(System.Collections.Generic.List<Graphics.Draw> draws, bool indirect, int copy)
        {
            if (!indirect) return draws[0].matrices[copy];
            GraphicsBuffer buffer = draws[0].how.matProps.buffers[Shader.PropertyToID("_MeshreelMatrices")];
            Check.Equal(draws[0].how.matProps.ints[Shader.PropertyToID("_MeshreelFirst")], 0, "first matrix");
            var f = new float[16];
            Buffer.BlockCopy(buffer.content, 64 * copy, f, 0, 64);
            return new Matrix4x4
            {
                m00 = f[0], m10 = f[1], m20 = f[2], m30 = f[3], m01 = f[4], m11 = f[5], m21 = f[6], m31 = f[7],
                m02 = f[8], m12 = f[9], m22 = f[10], m32 = f[11], m03 = f[12], m13 = f[13], m23 = f[14], m33 = f[15],
            };
        }

        [Test]
        public static void HierarchiesAndObjectsAsPlaces()
        {
            // Indirect drawing is there, but materials do not read the matrices.
            SystemInfo.supportsInstancing = SystemInfo.supportsComputeShaders = true;
            ReelPlayer player = Game.Player(Path.Combine(Game.Golden, "v0/robot_small.reel"), p => p.hidden = true);
            ReelCrowd crowd = new GameObject("crowd").AddComponent<ReelCrowd>();
            crowd.Player = player;
            for (int i = 0; i < 3; i++)
            {
                crowd.places.Add(new GameObject("place").transform);
                crowd.places[i].localPosition = new Vector3(0, 0, 7 * i);
            }
            Game.UntilReady(player);
            Frame(0.1f);
            Check.That(player.View.SurfaceCount > 1 && Graphics.Draws.Count >= player.View.SurfaceCount, "draws");
            for (int i = 0; i < player.View.SurfaceCount; i++)
                Check.That(!player.View.Surface(i).enabled, "a hidden player is drawn");
            // Each draw is a node at its place.
            for (int i = 0; i < player.View.SurfaceCount; i++)
            {
                Matrix4x4 node = player.View.Surface(i).transform.parent.localToWorldMatrix;
                Vector3 got = Graphics.Draws[i].matrices[2].MultiplyPoint3x4(new Vector3(1, 2, 3));
                Check.Near(got, node.MultiplyPoint3x4(new Vector3(1, 2, 3)) + new Vector3(0, 0, 14), 1e-3, "node " + i);
            }
            UnityEngine.Object.DestroyImmediate(crowd.places[1].gameObject);
            Frame(0.1f);
            Check.Near(Graphics.Draws[0].matrices[1].determinant, 0, 0, "a copy without a place");
            crowd.Player = null;
            Frame(0.1f);
            Check.Equal(Graphics.Draws.Count, 0, "draws without a player");
            Check.That(crowd.Error == null, "Error");
            Game.Quiet();
        }

        [Test]
        public static void FluidsAndPoints()
        {
            SystemInfo.supportsInstancing = SystemInfo.supportsComputeShaders = true;
            foreach (string name in new[] { "everything_zstd.reel", "particles_small.reel" })
            {
                ReelPlayer player = Game.Player(name, p =>
                {
                    p.hidden = true;
                    p.materials = CrowdMaterials();
                });
                Crowd(player, 5);
                Game.UntilReady(player);
                int calls = 0;
                for (int i = 0; i < 30; i++)
                {
                    Frame(0.03f);
                    foreach (Graphics.Draw draw in Graphics.Draws)
                    {
                        SubMeshDescriptor range = draw.mesh.GetSubMesh(draw.submesh);
                        Check.Equal((int)draw.commands.Word(5 * draw.submesh), range.indexCount, "indices");
                        Check.Equal((int)draw.commands.Word(5 * draw.submesh + 2), range.indexStart, "first index");
                        calls++;
                    }
                }
                Check.That(calls > 10, name + ": " + calls + " calls");
                Scene.Clear();
            }
            Game.Quiet();
        }
    }
}
