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
        string measured;

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
            // A file is opened once for its length, not whenever the inspector is drawn.
            string file = player.Asset != null ? player.Asset.name : player.Path;
            if (measured != file) duration = Duration(player);
            measured = file;
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
}
