using System;
using System.Collections.Generic;
using UnityEngine;

namespace Meshreel
{
    /// <summary>The normals of meshes that have none in the file.</summary>
    public enum ReelNormals
    {
        /// <summary>Unity computes them in each frame that is shown.</summary>
        Computed = 0,
        /// <summary>The meshes have none, for unlit materials.</summary>
        None = 1,
    }

    /// <summary>The objects of a file in the scene: one for each node, a child with a mesh renderer where it
    /// has a mesh, a child for each camera. It shows any frame of the file.</summary>
    /// <remarks>Nodes are in Unity's coordinates and not mirrored; only the objects of meshes are
    /// (`Coordinates.Mirror`), so that vertices are written by the library in their final place.</remarks>
    public sealed unsafe class ReelView : IDisposable
    {
        readonly ReelFile file;
        readonly Transform[] nodes;
        readonly int[] animated;
        readonly Native.mr_transform[] transforms;
        readonly byte[] visible;
        readonly List<ReelMesh> meshes = new List<ReelMesh>();
        readonly List<ShownSurface> surfaces = new List<ShownSurface>();
        readonly CameraSet cameras;
        readonly bool hidden;
        IVertexWriter writer;
        ReelLod lod;
        Native.mr_frame_info shown;
        bool hasShown;

        /// <summary>The object above all nodes, whose scale turns the file's unit into metres.</summary>
        public GameObject Root { get; private set; }

        /// <summary>The frame that is shown, or the first of two; -1 before the first one.</summary>
        public int Frame
        {
            get { return hasShown ? (int)shown.first : -1; }
        }

        /// <summary>The weight of the frame after it.</summary>
        public float Blend
        {
            get { return shown.blend; }
        }

        /// <summary>True if what is shown is older than it should be, because data are not in memory
        /// yet.</summary>
        public bool IsLate
        {
            get { return shown.late != 0; }
        }

        /// <summary>The number of nodes.</summary>
        public int NodeCount
        {
            get { return nodes.Length; }
        }

        /// <summary>The number of cameras.</summary>
        public int CameraCount
        {
            get { return cameras.Count; }
        }

        /// <summary>The number of renderers.</summary>
        public int SurfaceCount
        {
            get { return surfaces.Count; }
        }

        internal List<ReelMesh> Meshes
        {
            get { return meshes; }
        }

        internal byte[] Visible
        {
            get { return visible; }
        }

        /// <summary>Creates the objects of a file below a parent, in their first frame.</summary>
        public static ReelView Create(ReelDecoder decoder, Transform parent, ReelMaterials materials)
        {
            IntPtr frame = decoder.Decode(0);
            var view = new ReelView(decoder.File, frame, parent, new ReelViewOptions
            {
                Materials = materials, Flags = HideFlags.DontSave,
            });
            view.Show(frame);
            return view;
        }

        internal ReelView(ReelFile file, IntPtr frame, Transform parent, ReelViewOptions options)
        {
            this.file = file;
            writer = options.Writer;
            hidden = options.Hidden;
            nodes = new Transform[file.Nodes];
            transforms = new Native.mr_transform[nodes.Length];
            visible = new byte[nodes.Length];
            Root = new GameObject("Meshreel") { hideFlags = options.Flags, layer = parent.gameObject.layer };
            Root.transform.SetParent(parent, false);
            Root.transform.localScale = Vector3.one * file.MetresPerUnit;
            var moving = new List<int>();
            var byNumber = new Dictionary<int, ReelMesh>();
            try
            {
                for (int node = 0; node < nodes.Length; node++)
                {
                    ReelNodeInfo info = file.Node(node);
                    CreateNode(node, info);
                    if (info.IsAnimated) moving.Add(node);
                    if (info.Mesh >= 0 && info.Visibility != ReelVisibility.Never)
                        CreateSurface(frame, node, info, byNumber, options);
                }
                cameras = new CameraSet(file, nodes);
            }
            catch
            {
                Dispose();
                throw;
            }
            animated = moving.ToArray();
            if (writer != null && !IsWorthCard())
            {
                writer.Dispose();
                writer = null;
            }
        }

        /// <summary>True if the card can compute at least half of the vertices that change. Uploads have all
        /// meshes of a frame, also those that it cannot compute.</summary>
        bool IsWorthCard()
        {
            long computable = 0, changing = 0;
            foreach (ReelMesh mesh in meshes)
            {
                if (mesh.IsAnimated) changing += mesh.MaxVertices;
                if (mesh.IsComputable) computable += mesh.MaxVertices;
            }
            return computable > 0 && 2 * computable >= changing;
        }

        void CreateNode(int node, ReelNodeInfo info)
        {
            var created = new GameObject(LastName(info.Path))
            {
                hideFlags = Root.hideFlags,
                layer = Root.layer,
            };
            nodes[node] = created.transform;
            created.transform.SetParent(info.Parent < 0 ? Root.transform : nodes[info.Parent], false);
            Native.mr_transform rest = info.Rest;
            Coordinates.Apply(created.transform, &rest);
            var component = created.AddComponent<ReelNode>();
            component.number = node;
            component.path = info.Path;
        }

        void CreateSurface(IntPtr frame, int node, ReelNodeInfo info, Dictionary<int, ReelMesh> byNumber,
            ReelViewOptions options)
        {
            ReelMesh mesh;
            if (!byNumber.TryGetValue(info.Mesh, out mesh))
            {
                mesh = new ReelMesh(file, frame, node, false, options.Normals == ReelNormals.Computed);
                byNumber.Add(info.Mesh, mesh);
                meshes.Add(mesh);
            }
            mesh.Nodes.Add(node);
            var created = new GameObject("Surface") { hideFlags = Root.hideFlags, layer = Root.layer };
            created.transform.SetParent(nodes[node], false);
            created.transform.localScale = Coordinates.Mirror;
            var component = created.AddComponent<ReelSurface>();
            component.node = node;
            component.mesh = info.Mesh;
            component.materials = mesh.Materials;
            created.AddComponent<MeshFilter>().sharedMesh = mesh.Mesh;
            var renderer = created.AddComponent<MeshRenderer>();
            var materials = new Material[mesh.Materials.Length];
            for (int i = 0; i < materials.Length; i++)
                materials[i] = ReelMaterials.Find(options.Materials, mesh.Materials[i]);
            renderer.sharedMaterials = materials;
            renderer.enabled = false;
            surfaces.Add(new ShownSurface { Node = node, Place = nodes[node], Mesh = mesh,
                Renderer = renderer });
        }

        /// <summary>The object of a node.</summary>
        public Transform Node(int number)
        {
            return nodes[number];
        }

        /// <summary>The object of the node with this path in the source, or null.</summary>
        public Transform Find(string path)
        {
            foreach (Transform node in nodes)
            {
                if (node.GetComponent<ReelNode>().path == path) return node;
            }
            return null;
        }

        /// <summary>A camera of the file.</summary>
        public ReelCamera Camera(int number)
        {
            return cameras[number];
        }

        /// <summary>A renderer, in the order of the nodes.</summary>
        public MeshRenderer Surface(int number)
        {
            return surfaces[number].Renderer;
        }

        /// <summary>Shows a frame of the library. It does nothing for the moment that is shown already, and
        /// it does not allocate.</summary>
        internal void Show(IntPtr frame)
        {
            Native.mr_frame_info info;
            info.size = (UIntPtr)sizeof(Native.mr_frame_info);
            Native.Check(Native.mr_frame_get(frame, &info));
            bool same = hasShown && info.first == shown.first && info.second == shown.second
                && info.blend == shown.blend && info.file == shown.file;
            shown.late = info.late;
            if (same) return;
            ReadNodes(frame);
            if (!hidden) ShowMeshes(frame);
            cameras.Update(new Native.mr_pair { first = info.first, second = info.second, blend = info.blend });
            shown = info;
            hasShown = true;
        }

        void ShowMeshes(IntPtr frame)
        {
            for (int i = 0; i < meshes.Count; i++)
            {
                ReelMesh mesh = meshes[i];
                if (writer != null && mesh.IsComputable) mesh.UpdateStatic(frame, visible);
                else mesh.Update(frame, visible);
            }
            if (writer != null) WriteOnCard(frame);
            for (int i = 0; i < surfaces.Count; i++)
            {
                ShownSurface surface = surfaces[i];
                bool shows = visible[surface.Node] != 0 && !surface.Mesh.IsEmpty;
                if (surface.Renderer != null && surface.Renderer.enabled != shows)
                    surface.Renderer.enabled = shows;
            }
        }

        /// <summary>Has the card compute vertices. If it cannot, the library writes them from now
        /// on.</summary>
        void WriteOnCard(IntPtr frame)
        {
            try
            {
                writer.Write(frame, meshes);
            }
            catch (ReelException error)
            {
                Debug.LogWarning("meshreel: " + file.Name + ": vertices are computed on the CPU: " + error.Message);
                writer.Dispose();
                writer = null;
                for (int i = 0; i < meshes.Count; i++) meshes[i].Update(frame, visible);
            }
        }

        void ReadNodes(IntPtr frame)
        {
            UIntPtr count;
            fixed (Native.mr_transform* all = transforms)
            fixed (byte* shows = visible)
            {
                var room = (UIntPtr)nodes.Length;
                Native.Check(Native.mr_frame_transforms(frame, all, room, &count));
                Native.Check(Native.mr_frame_visible(frame, shows, room, &count));
                for (int i = 0; i < animated.Length; i++)
                {
                    int node = animated[i];
                    if (nodes[node] != null) Coordinates.Apply(nodes[node], all + node);
                }
            }
        }

        /// <summary>Chooses levels of detail by the size of their errors on the screen: the coarsest one
        /// whose error is at most `pixels` pixels high.</summary>
        internal void ChooseLevels(IntPtr frame, Camera camera, float pixels)
        {
            if (lod == null) lod = new ReelLod(frame, meshes);
            lod.Choose(frame, meshes, surfaces, camera, pixels);
        }

        static string LastName(string path)
        {
            int slash = path.TrimEnd('/').LastIndexOf('/');
            string name = path.TrimEnd('/').Substring(slash + 1);
            return name.Length > 0 ? name : "Node";
        }

        /// <summary>Destroys the objects and meshes.</summary>
        public void Dispose()
        {
            Objects.Destroy(Root);
            foreach (ReelMesh mesh in meshes) mesh.Dispose();
            meshes.Clear();
            surfaces.Clear();
            if (cameras != null) cameras.Dispose();
            if (writer != null) writer.Dispose();
            writer = null;
        }

        /// <summary>True if the graphics card computes vertices.</summary>
        public bool IsOnCard
        {
            get { return writer != null; }
        }
    }

    /// <summary>A renderer, and what it shows.</summary>
    internal struct ShownSurface
    {
        public int Node;
        public Transform Place;
        public ReelMesh Mesh;
        public MeshRenderer Renderer;
    }

    /// <summary>Options of a view.</summary>
    internal struct ReelViewOptions
    {
        public ReelMaterials Materials;
        public ReelNormals Normals;
        public HideFlags Flags;
        /// <summary>Nothing is drawn, and no vertices are written.</summary>
        public bool Hidden;
        /// <summary>Computes vertices on the graphics card; null: the library writes them.</summary>
        public IVertexWriter Writer;
    }

    /// <summary>Writes the vertices of meshes that are computable, at the nodes that they have
    /// chosen.</summary>
    internal interface IVertexWriter : IDisposable
    {
        void Write(IntPtr frame, List<ReelMesh> meshes);
    }
}
