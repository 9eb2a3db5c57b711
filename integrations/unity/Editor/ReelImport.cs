using System.IO;
using UnityEditor;
using UnityEditor.AssetImporters;
using UnityEngine;

namespace Meshreel.Editor
{
    /// <summary>What both importers do.</summary>
    internal static class ReelImport
    {
        /// <summary>The folder of compiled files, which belongs to no version control.</summary>
        const string Folder = "Library/Meshreel";

        /// <summary>The path of the file that an asset is compiled to.</summary>
        public static string CompiledPath(string assetPath)
        {
            return Folder + "/" + AssetDatabase.AssetPathToGUID(assetPath) + ".reel";
        }

        /// <summary>The path below StreamingAssets in a build.</summary>
        public static string StreamedPath(string assetPath)
        {
            return "Meshreel/" + AssetDatabase.AssetPathToGUID(assetPath) + ".reel";
        }

        /// <summary>Adds the asset of a file to an import.</summary>
        public static void Add(AssetImportContext context, string path, ReelStorage storage, string report)
        {
            var asset = ScriptableObject.CreateInstance<ReelAsset>();
            asset.name = Path.GetFileNameWithoutExtension(context.assetPath);
            byte[] bytes = storage == ReelStorage.Embedded ? File.ReadAllBytes(path) : null;
            string streamed = storage == ReelStorage.Streamed ? StreamedPath(context.assetPath) : "";
            asset.Set(bytes, streamed, path, report);
            try
            {
                using (ReelFile file = ReelFile.Open(path)) asset.Duration = file.Duration;
            }
            catch (ReelException error)
            {
                context.LogImportError("meshreel: " + error.Message);
            }
            context.AddObjectToAsset("reel", asset);
            context.SetMainObject(asset);
        }

        /// <summary>Selected files get the importer that compiles them.</summary>
        [MenuItem("Assets/Meshreel/Import as Animation")]
        static void Choose()
        {
            foreach (UnityEngine.Object selected in Selection.objects)
            {
                string path = AssetDatabase.GetAssetPath(selected);
                if (!string.IsNullOrEmpty(path)) Choose(path);
            }
        }

        /// <summary>A file gets the importer that compiles it.</summary>
        public static void Choose(string path)
        {
#if UNITY_2022_1_OR_NEWER
            AssetDatabase.SetImporterOverride<ReelSourceImporter>(path);
#else
            UnityEditor.Experimental.AssetDatabaseExperimental.SetImporterOverride<ReelSourceImporter>(path);
#endif
        }
    }
}
