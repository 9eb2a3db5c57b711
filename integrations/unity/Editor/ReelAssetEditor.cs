using UnityEditor;

namespace Meshreel.Editor
{
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
                + (asset.Bytes != null ? asset.Bytes.Length + " bytes in the asset" : "streamed from "
                    + asset.StreamedPath);
            ReelReport report = ReelReport.Read(asset.Report);
            return report == null ? text : text + "\n" + report.Summary();
        }
    }
}
