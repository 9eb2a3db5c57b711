using System.Collections.Generic;
using UnityEngine.Rendering;

namespace Meshreel
{
    /// <summary>The vertex streams of a mesh: 0 for what changes and for directions, 1 for what does
    /// not.</summary>
    internal sealed unsafe class VertexStreams
    {
        /// <summary>Unity has eight sets of texture coordinates.</summary>
        const uint MaxSets = 8;

        /// <summary>What the library writes into each stream.</summary>
        public readonly Native.mr_attribute[][] Attributes;
        /// <summary>Bytes of a vertex of each stream.</summary>
        public readonly int[] Strides = new int[2];
        /// <summary>The layout for Unity.</summary>
        public readonly VertexAttributeDescriptor[] Descriptors;
        /// <summary>True if stream 0 changes besides positions.</summary>
        public readonly bool Changes;
        /// <summary>True if stream 0 has nothing but positions, normals and tangents.</summary>
        public readonly bool OnlyDirectionsChange = true;
        /// <summary>True if there are tangents.</summary>
        public readonly bool HasTangents;

        readonly bool hasNormals;
        readonly List<Native.mr_attribute>[] lists =
            { new List<Native.mr_attribute>(), new List<Native.mr_attribute>() };
        readonly List<VertexAttributeDescriptor> descriptors = new List<VertexAttributeDescriptor>();

        public VertexStreams(ref Native.mr_mesh_state state, List<Native.mr_stream_info> values, bool addsNormals)
        {
            hasNormals = state.normals != 0;
            HasTangents = hasNormals && state.tangents != 0;
            Changes = state.normals == 1 || HasTangents && state.tangents == 1;
            Add(0, Native.CHANNEL_POSITION, 0, Native.FORMAT_F32X3, VertexAttribute.Position);
            if (hasNormals) Add(0, Native.CHANNEL_NORMAL, 0, Native.FORMAT_F32X3, VertexAttribute.Normal);
            if (addsNormals) Describe(0, VertexAttribute.Normal, VertexAttributeFormat.Float32, 3);
            if (HasTangents) Add(0, Native.CHANNEL_TANGENT, 0, Native.FORMAT_F32X4, VertexAttribute.Tangent);
            foreach (Native.mr_stream_info stream in values)
            {
                if (stream.channel != Native.CHANNEL_COLOUR || stream.set != 0) continue;
                AddValue(stream, Native.FORMAT_U8X4, VertexAttribute.Color);
            }
            for (uint set = 0; set < MaxSets; set++)
            {
                foreach (Native.mr_stream_info stream in values)
                {
                    if (stream.channel != Native.CHANNEL_UV || stream.set != set) continue;
                    AddValue(stream, Native.FORMAT_F32X2, VertexAttribute.TexCoord0 + (int)set);
                }
            }
            OnlyDirectionsChange = lists[0].Count == 1 + (hasNormals ? 1 : 0) + (HasTangents ? 1 : 0);
            Changes |= !OnlyDirectionsChange;
            Attributes = new[] { lists[0].ToArray(), lists[1].ToArray() };
            Descriptors = descriptors.ToArray();
        }

        void AddValue(Native.mr_stream_info stream, uint format, VertexAttribute attribute)
        {
            Add(stream.animated != 0 ? 0 : 1, stream.channel, stream.set, format, attribute);
        }

        void Add(int stream, uint channel, uint set, uint format, VertexAttribute attribute)
        {
            lists[stream].Add(new Native.mr_attribute
            {
                channel = channel,
                set = set,
                format = format,
                offset = (uint)Strides[stream],
            });
            bool isColour = format == Native.FORMAT_U8X4;
            int size = isColour ? 4 : format == Native.FORMAT_F32X2 ? 2 : format == Native.FORMAT_F32X3 ? 3 : 4;
            Describe(stream, attribute, isColour ? VertexAttributeFormat.UNorm8 : VertexAttributeFormat.Float32,
                size);
        }

        void Describe(int stream, VertexAttribute attribute, VertexAttributeFormat format, int size)
        {
            descriptors.Add(new VertexAttributeDescriptor(attribute, format, size, stream));
            Strides[stream] += format == VertexAttributeFormat.UNorm8 ? size : 4 * size;
        }

        /// <summary>Mirrors x of all vertices of stream 0. The sign of the bitangent turns with it.</summary>
        public void MirrorVertices(byte* bytes, int count)
        {
            int stride = Strides[0] / 4;
            var values = (float*)bytes;
            int tangent = HasTangents ? 6 : -1;
            for (int i = 0; i < count; i++, values += stride)
            {
                values[0] = -values[0];
                if (hasNormals) values[3] = -values[3];
                if (tangent < 0) continue;
                values[tangent] = -values[tangent];
                values[tangent + 3] = -values[tangent + 3];
            }
        }
    }
}
