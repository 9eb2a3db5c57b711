using System;
using System.Collections.Generic;
using System.Globalization;

namespace Meshreel.Editor
{
    /// <summary>The prediction of positions.</summary>
    public enum ReelMethod { Auto, Static, Rigid, Skinned, Soft, Fluid }

    /// <summary>What matters most of a file.</summary>
    public enum ReelPreset { Small, Fast, Classic }

    /// <summary>The unit of length of inputs that name none.</summary>
    public enum ReelUnit { FromFile, Metre, Centimetre, Millimetre, Inch }

    /// <summary>What is made of the rigs of skinned meshes.</summary>
    public enum ReelRig { Bake, Keep, Only }

    /// <summary>Options of `meshreel compile`, as the inspector shows them.</summary>
    [Serializable]
    public sealed class ReelCompileOptions
    {
        /// <summary>The largest error of positions: a percentage of each mesh's size such as 0.01%, or a
        /// length such as 0.5mm. Empty: the default.</summary>
        public string tolerance = "";
        /// <summary>The method of meshes.</summary>
        public ReelMethod method = ReelMethod.Auto;
        /// <summary>What matters most.</summary>
        public ReelPreset preset = ReelPreset.Small;
        /// <summary>The unit of inputs that name none.</summary>
        public ReelUnit unit = ReelUnit.FromFile;
        /// <summary>What is made of rigs.</summary>
        public ReelRig rig = ReelRig.Bake;
        /// <summary>Frames per second to resample to; 0: the source's own.</summary>
        public float framesPerSecond;
        /// <summary>Levels of detail beside each mesh itself, 0 to 7.</summary>
        public int levelsOfDetail;
        /// <summary>True to leave out triangles while they cannot be seen.</summary>
        public bool cullHidden;
        /// <summary>True to compile clips only, without meshes.</summary>
        public bool clipsOnly;
        /// <summary>True if the animation is a closed cycle.</summary>
        public bool cycle;
        /// <summary>Effort spent on size, 1 to 9; 0: the default.</summary>
        public int effort;
        /// <summary>Further options, as on the command line.</summary>
        public string further = "";

        /// <summary>The options as arguments.</summary>
        public List<string> Arguments()
        {
            var all = new List<string>();
            if (!string.IsNullOrEmpty(tolerance)) Add(all, "--tolerance", tolerance.Trim());
            if (method != ReelMethod.Auto) Add(all, "--method", method.ToString().ToLowerInvariant());
            if (preset != ReelPreset.Small) Add(all, "--preset", preset.ToString().ToLowerInvariant());
            if (unit != ReelUnit.FromFile) Add(all, "--unit", new[] { "", "m", "cm", "mm", "in" }[(int)unit]);
            if (rig != ReelRig.Bake) Add(all, "--rig", rig.ToString().ToLowerInvariant());
            if (framesPerSecond > 0)
                Add(all, "--fps", framesPerSecond.ToString("R", CultureInfo.InvariantCulture));
            if (levelsOfDetail > 0) Add(all, "--lod", Math.Min(7, levelsOfDetail).ToString());
            if (cullHidden) all.Add("--cull-hidden");
            if (clipsOnly) all.Add("--clips-only");
            if (cycle) all.Add("--cycle");
            if (effort > 0) Add(all, "--effort", Math.Min(9, effort).ToString());
            if (!string.IsNullOrEmpty(further)) all.AddRange(Split(further));
            return all;
        }

        static void Add(List<string> all, string name, string value)
        {
            all.Add(name);
            all.Add(value);
        }

        /// <summary>Splits a text at spaces outside of quotes.</summary>
        static List<string> Split(string text)
        {
            var all = new List<string>();
            var part = new System.Text.StringBuilder();
            bool quoted = false, any = false;
            foreach (char each in text)
            {
                if (each == '"')
                {
                    quoted = !quoted;
                    any = true;
                }
                else if (char.IsWhiteSpace(each) && !quoted)
                {
                    if (any || part.Length > 0) all.Add(part.ToString());
                    part.Length = 0;
                    any = false;
                }
                else part.Append(each);
            }
            if (any || part.Length > 0) all.Add(part.ToString());
            return all;
        }
    }
}
