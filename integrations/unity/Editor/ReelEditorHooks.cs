using UnityEditor;

namespace Meshreel.Editor
{
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
