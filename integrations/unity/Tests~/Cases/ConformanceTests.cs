using System;
using System.Collections.Generic;
using System.ComponentModel;
using System.Diagnostics;
using System.Globalization;
using System.IO;
using System.Linq;
using UnityEngine;
using UnityEngine.Rendering;

namespace Meshreel.Tests
{
    /// <summary>What the objects of the scene hold of the conformance set, as numbers in Unity's space, compared with
    /// those of the sources by `tools/conformance/check.py`.</summary>
    public static class ConformanceTests
    {
        /// <summary>What is shown of a node: a mesh, its transform, and ranges of its indices with
        /// materials.</summary>
        sealed class ShownNode
        {
            public string Path;
            public bool IsVisible;
            public Matrix4x4 World;
            public Mesh Mesh;
            public readonly List<KeyValuePair<string, SubMeshDescriptor>> Ranges =
                new List<KeyValuePair<string, SubMeshDescriptor>>();
            public List<int> Levels;

            public void Add(Material material, int submesh)
            {
                Ranges.Add(new KeyValuePair<string, SubMeshDescriptor>(material.name, Mesh.GetSubMesh(submesh)));
            }
        }

        static string Folder
        {
            get { return Path.Combine(Game.Golden, "..", "conformance"); }
        }

        [Test]
        public static void PlayersShowTheNumbersOfTheSources()
        {
            Compare("unity", (name, times) => OfFile(name, times, false));
        }

        [Test]
        public static void CrowdsShowTheNumbersOfTheSources()
        {
            Compare("unity_crowd", (name, times) => OfFile(name, times, true));
        }

        static void Compare(string engine, Func<string, string[], string> show)
        {
            var files = new List<string>();
            foreach (string line in File.ReadAllLines(Path.Combine(Folder, "moments.txt")))
            {
                string[] words = line.Split(' ');
                string moments = show(words[0], words.Skip(1).ToArray());
                if (moments != null) files.Add(Quoted(words[0]) + ": {\"metres\": 1, \"moments\": [" + moments + "]}");
            }
            Check.That(files.Count > 10, "too few files");
            string shown = Path.GetTempFileName();
            try
            {
                string all = string.Join(",\n", files);
                File.WriteAllText(shown, "{\"engine\": " + Quoted(engine) + ", \"files\": {" + all + "}}");
                string script = Path.Combine(Game.Golden, "..", "..", "tools", "conformance", "check.py");
                var how = new ProcessStartInfo("python3", "\"" + script + "\" \"" + shown + "\"")
                {
                    UseShellExecute = false, RedirectStandardOutput = true,
                };
                using (Process check = Process.Start(how))
                {
                    string said = check.StandardOutput.ReadToEnd();
                    check.WaitForExit();
                    Check.That(check.ExitCode == 0, said);
                    Console.Write("     " + said);
                }
            }
            catch (Win32Exception error)
            {
                Console.Error.WriteLine("skipped: the conformance set: python3: " + error.Message);
            }
            finally
            {
                File.Delete(shown);
            }
            Game.Quiet();
        }

        /// <summary>Returns the moments of a file; null for a crowd if the file has only clips.</summary>
        static string OfFile(string name, string[] times, bool inCrowd)
        {
            string path = Path.Combine(Folder, name);
            bool isClip;
            var materials = ScriptableObject.CreateInstance<ReelMaterials>();
            using (ReelFile file = ReelFile.Open(path))
            {
                isClip = file.Frames == 0;
                for (int mesh = 0; mesh < file.Meshes; mesh++)
                    foreach (string each in file.Mesh(mesh).Materials)
                        materials.entries.Add(new ReelMaterials.Entry
                        {
                            name = each, material = new Material(Shader.Find("Standard")) { name = each },
                        });
            }
            if (isClip && inCrowd) return null;
            string moments = isClip ? Clip(path, times) : Frames(path, times, materials, inCrowd);
            Scene.Clear();
            return moments;
        }

        static string Frames(string path, string[] times, ReelMaterials materials, bool inCrowd)
        {
            var eye = new GameObject("eye").AddComponent<Camera>();
            eye.fieldOfView = 60;
            eye.pixelHeight = 1080;
            ReelPlayer player = Game.Player(path, p =>
            {
                p.PlayOnEnable = false;
                p.Repeat = ReelRepeat.Once;
                p.materials = materials;
                p.lodPixels = 1;
                p.lodCamera = eye;
            });
            // Copies stand where their matrices say, wherever the player is.
            if (inCrowd) player.transform.localPosition = new Vector3(5, 6, 7);
            ReelCrowd crowd = inCrowd ? new GameObject("crowd").AddComponent<ReelCrowd>() : null;
            if (inCrowd)
            {
                SystemInfo.supportsIndirectArgumentsBuffer = false;
                crowd.Player = player;
                crowd.SetMatrices(new[] { Matrix4x4.Translate(Vector3.one), Matrix4x4.identity });
            }
            Game.UntilReady(player);
            for (int i = 0; i < player.View.CameraCount; i++) player.View.Camera(i).gameObject.AddComponent<Camera>();
            var moments = new List<string>();
            foreach (string time in times)
            {
                double seconds = double.Parse(time, CultureInfo.InvariantCulture);
                player.Seek(seconds);
                Game.Until(() => Math.Abs(ShownTime(player) - seconds) < 1e-5 && !player.View.IsLate,
                    path + ", " + time + " s");
                Graphics.Draws.Clear();
                Scene.Frame(0);
                List<ShownNode> nodes = inCrowd ? InCrowd(player, 1) : InView(player, eye);
                string cameras = inCrowd ? "" : Cameras(player.View);
                moments.Add("{\"seconds\": " + time + ", \"nodes\": [" + string.Join(",\n", nodes.Select(Json))
                    + "], \"cameras\": [" + cameras + "]}");
            }
            return string.Join(",\n", moments);
        }

        static double ShownTime(ReelPlayer player)
        {
            int frame = player.View.Frame;
            double time = player.File.TimeOfFrame(frame);
            if (player.View.Blend <= 0) return time;
            return time + player.View.Blend * (player.File.TimeOfFrame(frame + 1) - time);
        }

        /// <summary>The renderers below a player.</summary>
        static List<ShownNode> InView(ReelPlayer player, Camera eye)
        {
            var nodes = new List<ShownNode>();
            foreach (MeshRenderer renderer in player.GetComponentsInChildren<MeshRenderer>(true))
            {
                var node = new ShownNode
                {
                    Path = renderer.transform.parent.GetComponent<ReelNode>().path,
                    IsVisible = renderer.enabled && renderer.gameObject.activeInHierarchy,
                    World = renderer.transform.localToWorldMatrix,
                    Mesh = renderer.GetComponent<MeshFilter>().sharedMesh,
                };
                Material[] materials = renderer.sharedMaterials;
                Check.Equal(materials.Length, node.Mesh.subMeshCount, "materials");
                for (int i = 0; i < materials.Length; i++)
                    node.Add(materials[i], i);
                if (node.IsVisible) node.Levels = Levels(node.Mesh, eye);
                nodes.Add(node);
            }
            return nodes;
        }

        /// <summary>The triangles of a mesh while a camera goes away from it; then the camera is where it
        /// was.</summary>
        static List<int> Levels(Mesh mesh, Camera eye)
        {
            var counts = new List<int>();
            Vector3 start = eye.transform.position;
            for (float distance = 0; distance < 1e5f; distance = 1.2f * distance + 0.01f)
            {
                eye.transform.position = start + new Vector3(0, 0, -distance);
                Scene.Frame(0);
                int count = Enumerable.Range(0, mesh.subMeshCount).Sum(i => mesh.GetSubMesh(i).indexCount) / 3;
                if (counts.Count == 0 || counts[counts.Count - 1] != count) counts.Add(count);
            }
            eye.transform.position = start;
            Scene.Frame(0);
            return counts;
        }

        /// <summary>A copy of what a player shows. Calls are in the order of the nodes, without hidden
        /// ones.</summary>
        static List<ShownNode> InCrowd(ReelPlayer player, int copy)
        {
            var nodes = new List<ShownNode>();
            var shown = player.GetComponentsInChildren<MeshRenderer>(true).Where(r => r.enabled).ToArray();
            int last = -1;
            foreach (Graphics.Draw draw in Graphics.Draws)
            {
                Check.Equal(draw.instances, 2, "copies");
                ShownNode node = nodes.LastOrDefault();
                if (node == null || node.Mesh != draw.mesh || draw.submesh <= last)
                {
                    Check.That(nodes.Count < shown.Length, "a hidden node is drawn");
                    ReelNode own = shown[nodes.Count].transform.parent.GetComponent<ReelNode>();
                    node = new ShownNode
                    {
                        Path = own.path, IsVisible = true, World = draw.matrices[copy], Mesh = draw.mesh,
                    };
                    nodes.Add(node);
                }
                last = draw.submesh;
                node.Add(draw.how.material, draw.submesh);
            }
            return nodes;
        }

        static string Json(ShownNode node)
        {
            string text = "{\"path\": " + Quoted(node.Path) + ", \"visible\": " + (node.IsVisible ? "true" : "false");
            if (!node.IsVisible) return text + "}";
            Matrix4x4 m = node.World;
            text += Numbers("world", m.m00, m.m01, m.m02, m.m03, m.m10, m.m11, m.m12, m.m13, m.m20, m.m21, m.m22,
                m.m23);
            int count = node.Ranges[0].Value.vertexCount;
            text += Attribute(node.Mesh, "positions", VertexAttribute.Position, 3, count);
            text += Attribute(node.Mesh, "normals", VertexAttribute.Normal, 3, count);
            text += Attribute(node.Mesh, "uvs", VertexAttribute.TexCoord0, 2, count);
            text += Attribute(node.Mesh, "colours", VertexAttribute.Color, 4, count);
            var indices = new List<float>();
            var materials = new List<string>();
            foreach (KeyValuePair<string, SubMeshDescriptor> range in node.Ranges)
            {
                if (range.Value.topology != MeshTopology.Triangles) continue;
                for (int i = 0; i < range.Value.indexCount; i++)
                    indices.Add(node.Mesh.indexBuffer[range.Value.indexStart + i]);
                materials.Add("{\"name\": " + Quoted(range.Key) + ", \"count\": " + range.Value.indexCount + "}");
            }
            text += Numbers("indices", indices.ToArray());
            if (node.Levels != null) text += Numbers("levels", node.Levels.Select(l => (float)l).ToArray());
            return text + ", \"materials\": [" + string.Join(", ", materials) + "]}";
        }

        static string Attribute(Mesh mesh, string name, VertexAttribute attribute, int size, int count)
        {
            int stream, offset = mesh.Offset(attribute, out stream);
            if (offset < 0) return "";
            var values = new float[size * count];
            bool isColour = attribute == VertexAttribute.Color;
            for (int i = 0; i < values.Length; i++)
            {
                values[i] = isColour ? mesh.streams[stream][i / size * mesh.strides[stream] + offset + i % size] / 255f
                    : mesh.Read(attribute, i / size, i % size);
            }
            return Numbers(name, values);
        }

        /// <summary>Cameras that were added to the objects of a file's cameras, as one looks through them.</summary>
        static string Cameras(ReelView view)
        {
            var cameras = new List<string>();
            for (int i = 0; i < view.CameraCount; i++)
            {
                ReelCamera camera = view.Camera(i);
                Matrix4x4 world = camera.transform.localToWorldMatrix;
                // The cameras of the set have a picture 24 mm high.
                double half = camera.GetComponent<Camera>().fieldOfView / 2 * Math.PI / 180;
                cameras.Add("{\"path\": " + Quoted(camera.transform.parent.GetComponent<ReelNode>().path)
                    + Numbers("eye", world.MultiplyPoint3x4(Vector3.zero))
                    + Numbers("up", world.MultiplyVector(Vector3.up))
                    + Numbers("forward", world.MultiplyVector(Vector3.forward))
                    + Numbers("right", world.MultiplyVector(Vector3.right))
                    + ", \"focal_length\": " + Text(12 / Math.Tan(half)) + "}");
            }
            return string.Join(", ", cameras);
        }

        static string Clip(string path, string[] times)
        {
            var holder = new GameObject("character");
            holder.SetActive(false);
            var player = holder.AddComponent<ReelClipPlayer>();
            player.joints = ReelJoints.Created;
            player.repeats = false;
            player.playOnEnable = false;
            player.Path = path;
            holder.SetActive(true);
            Game.Until(() => player.Clip != null, "the clip of " + path);
            var moments = new List<string>();
            foreach (string time in times)
            {
                player.Seek(double.Parse(time, CultureInfo.InvariantCulture));
                Scene.Frame(0);
                var joints = new List<string>();
                int count = player.Clips[0].Joints;
                for (int i = 0; i < count; i++)
                {
                    Matrix4x4 world = player.Joint(i).localToWorldMatrix;
                    // The file's x points along -x of Unity.
                    Vector3 x = world.MultiplyVector(-Vector3.right), y = world.MultiplyVector(Vector3.up),
                        z = world.MultiplyVector(Vector3.forward);
                    joints.Add("{\"name\": " + Quoted(player.Joint(i).name)
                        + Numbers("position", player.Joint(i).position)
                        + Numbers("axes", x.x, x.y, x.z, y.x, y.y, y.z, z.x, z.y, z.z) + "}");
                }
                moments.Add("{\"seconds\": " + time + ", \"joints\": [" + string.Join(", ", joints) + "]}");
            }
            return string.Join(",\n", moments);
        }

        static string Numbers(string name, Vector3 vector)
        {
            return Numbers(name, vector.x, vector.y, vector.z);
        }

        /// <summary>A list as a further member of an object.</summary>
        static string Numbers(string name, params float[] values)
        {
            return ", " + Quoted(name) + ": [" + string.Join(", ", values.Select(v => Text(v))) + "]";
        }

        static string Text(double value)
        {
            return value.ToString("R", CultureInfo.InvariantCulture);
        }

        static string Quoted(string text)
        {
            return "\"" + text.Replace("\\", "\\\\").Replace("\"", "\\\"") + "\"";
        }
    }
}
