using UnityEditor.AssetImporters;

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
}
