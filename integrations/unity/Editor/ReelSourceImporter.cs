using System.IO;
using UnityEditor;
using UnityEditor.AssetImporters;

namespace Meshreel.Editor
{
    /// <summary>Compiles files of content tools when they are imported. For extensions that others import as
    /// well, choose it as the importer in the inspector, or by Assets > Meshreel > Import as
    /// Animation.</summary>
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
}
