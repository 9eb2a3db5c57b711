using UnityEditor;
using UnityEngine;

namespace Meshreel.Editor
{
    /// <summary>The inspector of a player: its fields, what it does in a game, and a preview outside of
    /// one.</summary>
    [CustomEditor(typeof(ReelPlayer))]
    public sealed class ReelPlayerEditor : UnityEditor.Editor
    {
        double seconds;
        double duration;

        /// <summary>Draws the inspector.</summary>
        public override void OnInspectorGUI()
        {
            DrawDefaultInspector();
            var player = (ReelPlayer)target;
            EditorGUILayout.Space();
            if (!string.IsNullOrEmpty(player.Error)) EditorGUILayout.HelpBox(player.Error, MessageType.Error);
            if (Application.isPlaying) DrawClock(player);
            else DrawPreview(player);
        }

        static void DrawClock(ReelPlayer player)
        {
            ReelClock clock = player.Clock;
            if (!clock.IsOpen) return;
            float position = EditorGUILayout.Slider("Position", (float)clock.Position, 0, (float)clock.Duration);
            if (Mathf.Abs(position - (float)clock.Position) > 1e-4f) player.Seek(position);
            EditorGUILayout.BeginHorizontal();
            if (GUILayout.Button("Play")) player.Play();
            if (GUILayout.Button("Pause")) player.Pause();
            if (GUILayout.Button("Stop")) player.Stop();
            EditorGUILayout.EndHorizontal();
        }

        void DrawPreview(ReelPlayer player)
        {
            if (duration <= 0) duration = Duration(player);
            float chosen = EditorGUILayout.Slider("Preview", (float)seconds, 0, (float)duration);
            if (Mathf.Abs(chosen - (float)seconds) > 1e-6f) Show(chosen);
            if (GUILayout.Button("End Preview")) player.EndPreview();
        }

        /// <summary>Shows a time of the file in the scene, without a game.</summary>
        public void Show(double time)
        {
            seconds = time;
            if (((ReelPlayer)target).Preview(time)) SceneView.RepaintAll();
        }

        static double Duration(ReelPlayer player)
        {
            if (player.Asset != null) return player.Asset.Duration;
            if (string.IsNullOrEmpty(player.Path)) return 0;
            try
            {
                using (ReelFile file = ReelFile.Open(SharedFile.FullPath(player.Path))) return file.Duration;
            }
            catch (ReelException)
            {
                // The preview says why.
                return 0;
            }
        }

        void OnDisable()
        {
            if (target != null && !Application.isPlaying) ((ReelPlayer)target).EndPreview();
        }
    }

    /// <summary>The inspector of an asset: the report of the compiler.</summary>
    [CustomEditor(typeof(ReelAsset))]
    public sealed class ReelAssetEditor : UnityEditor.Editor
    {
        /// <summary>Draws the inspector.</summary>
        public override void OnInspectorGUI()
        {
            EditorGUILayout.HelpBox(Summary((ReelAsset)target), MessageType.Info);
        }

        /// <summary>What the inspector says of an asset.</summary>
        public static string Summary(ReelAsset asset)
        {
            string text = asset.Duration.ToString("F2") + " s, "
                + (asset.Bytes != null ? asset.Bytes.Length + " bytes in the asset" : "streamed from " + asset.StreamedPath);
            ReelReport report = ReelReport.Read(asset.Report);
            return report == null ? text : text + "\n" + report.Summary();
        }
    }

    /// <summary>The page of the preferences: where the program is.</summary>
    public static class ReelPreferences
    {
        /// <summary>Creates the page.</summary>
        [SettingsProvider]
        public static SettingsProvider Create()
        {
            return new SettingsProvider("Preferences/Meshreel", SettingsScope.User)
            {
                label = "Meshreel",
                guiHandler = search => Draw(),
            };
        }

        static void Draw()
        {
            string before = ReelCompiler.Program;
            string program = EditorGUILayout.TextField("Program", before);
            if (program != before) ReelCompiler.Program = program;
        }
    }
}
