using System.IO;
using UnityEditor;
using UnityEditor.Build;
using UnityEngine;

namespace Meshreel.Editor
{
    /// <summary>Adds the files that games stream to StreamingAssets of a build. The project itself needs no
    /// copy.</summary>
    public sealed class ReelBuild : BuildPlayerProcessor
    {
        /// <summary>The order among others.</summary>
        public override int callbackOrder
        {
            get { return 0; }
        }

        /// <summary>Called before a build.</summary>
        public override void PrepareForBuild(BuildPlayerContext context)
        {
            foreach (string guid in AssetDatabase.FindAssets("t:ReelAsset"))
            {
                var asset = AssetDatabase.LoadAssetAtPath<ReelAsset>(AssetDatabase.GUIDToAssetPath(guid));
                if (asset == null || asset.StreamedPath.Length == 0) continue;
                if (File.Exists(asset.ProjectPath))
                {
                    context.AddAdditionalPathToStreamingAssets(asset.ProjectPath, asset.StreamedPath);
                    continue;
                }
                throw new BuildFailedException("meshreel: " + asset.name + ": " + asset.ProjectPath
                    + " is missing: import the asset again");
            }
        }
    }
}
