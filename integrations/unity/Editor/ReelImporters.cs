using System;
using System.IO;
using UnityEditor;
using UnityEditor.AssetImporters;
using UnityEngine;

namespace Meshreel.Editor
{
    /// <summary>Where a game reads a file.</summary>
    public enum ReelStorage
    {
        /// <summary>The bytes are a part of the asset, and in memory with it: for small files.</summary>
        Embedded = 0,
        /// <summary>A build has the file below StreamingAssets, and players stream it: for large
        /// files.</summary>
        Streamed = 1,
    }

    /// <summary>Imports `.reel` files.</summary>
    [ScriptedImporter(1, "reel")]
    public sealed class ReelImporter : ScriptedImporter
    {
        /// <summary>Where a game reads the file.</summary>
        public ReelStorage storage = ReelStorage.Streamed;

        /// <summary>Imports a file.</summary>
        public override void OnImportAsset(AssetImportContext context)
        {
            ReelImport.Add(context, context.assetPath, storage, "");
        }
    }

    /// <summary>Compiles files of content tools when they are imported. For extensions that others import as well,
    /// choose it as the importer in the inspector, or by Assets > Meshreel > Import as Animation.</summary>
    [ScriptedImporter(1, new[] { "bvh" }, new[] { "abc", "usd", "usda", "usdc", "usdz", "glb", "gltf", "fbx" })]
    public sealed class ReelSourceImporter : ScriptedImporter
    {
        /// <summary>Where a game reads the compiled file.</summary>
        public ReelStorage storage = ReelStorage.Streamed;
        /// <summary>Options of the compiler.</summary>
        public ReelCompileOptions options = new ReelCompileOptions();

        /// <summary>Compiles and imports a file.</summary>
        public override void OnImportAsset(AssetImportContext context)
        {
            string output = ReelImport.CompiledPath(context.assetPath);
            Directory.CreateDirectory(Path.GetDirectoryName(output));
            ReelCompileResult result;
            try
            {
                string title = "Meshreel: " + Path.GetFileName(context.assetPath);
                result = ReelCompiler.Compile(context.assetPath, output, options,
                    step => EditorUtility.DisplayCancelableProgressBar(title, step, 0.5f));
            }
            finally
            {
                EditorUtility.ClearProgressBar();
            }
            if (result.Error != null)
            {
                context.LogImportError("meshreel: " + result.Error);
                // The file before remains, so that what was there can be played.
                if (!File.Exists(output)) return;
            }
            else if (result.Report != null)
            {
                foreach (ReelReport.Remark remark in result.Report.remarks ?? new ReelReport.Remark[0])
                    context.LogImportWarning("meshreel: " + remark.node + ": " + remark.what);
            }
            ReelImport.Add(context, output, storage, result.Json);
        }
    }

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
