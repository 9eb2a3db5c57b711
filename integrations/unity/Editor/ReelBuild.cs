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

    /// <summary>Ends players and previews where their objects or code are about to go.</summary>
    [InitializeOnLoad]
    internal static class ReelEditorHooks
    {
        static ReelEditorHooks()
        {
            AssemblyReloadEvents.beforeAssemblyReload += End;
            EditorApplication.playModeStateChanged += Change;
        }

        static void End()
        {
            ReelPreview.EndAll();
            ReelRuntime.Shutdown();
        }

        static void Change(PlayModeStateChange change)
        {
            if (change == PlayModeStateChange.ExitingEditMode) ReelPreview.EndAll();
            if (change == PlayModeStateChange.EnteredEditMode) ReelRuntime.Shutdown();
        }
    }
}
