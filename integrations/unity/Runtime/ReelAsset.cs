using System.IO;
using UnityEngine;

namespace Meshreel
{
    /// <summary>A `.reel` file as an asset of a project.</summary>
    public sealed class ReelAsset : ScriptableObject
    {
        [SerializeField, HideInInspector] byte[] bytes;
        [SerializeField, HideInInspector] string streamedPath = "";
        [SerializeField, HideInInspector] string projectPath = "";
        [SerializeField, HideInInspector] string report = "";
        [SerializeField, HideInInspector] double duration;

        /// <summary>The content of the file, if it is a part of the asset; otherwise null.</summary>
        public byte[] Bytes
        {
            get { return bytes != null && bytes.Length > 0 ? bytes : null; }
        }

        /// <summary>The path below StreamingAssets, if players read the file from there; otherwise
        /// empty.</summary>
        public string StreamedPath
        {
            get { return streamedPath; }
        }

        /// <summary>The path of the file on the machine that has the project.</summary>
        public string ProjectPath
        {
            get { return projectPath; }
        }

        /// <summary>The report of the compiler in JSON; empty for files that were compiled before.</summary>
        public string Report
        {
            get { return report; }
        }

        /// <summary>Seconds from the first frame to the last; 0 if the importer does not know.</summary>
        public double Duration
        {
            get { return duration; }
            set { duration = value; }
        }

        /// <summary>Sets the content. Importers call it.</summary>
        public void Set(byte[] content, string pathToStream, string pathInProject, string compilerReport)
        {
            bytes = content;
            streamedPath = pathToStream ?? "";
            projectPath = pathInProject ?? "";
            report = compilerReport ?? "";
        }

        /// <summary>The path that a player opens: the file of the project in the editor, and the file below
        /// StreamingAssets elsewhere. Null if the content is a part of the asset.</summary>
        public string PathToOpen
        {
            get
            {
                // Paths of a project are relative to its folder, which is the current one of the editor.
                if (Application.isEditor && projectPath.Length > 0 && File.Exists(projectPath))
                    return Path.GetFullPath(projectPath);
                return streamedPath.Length > 0 ? streamedPath : null;
            }
        }
    }
}
