// Stand-ins for UnityEditor, as its scripting reference describes them: only what the package uses.
using System;
using System.Collections.Generic;
using System.Linq;
using UnityEngine;
using Object = UnityEngine.Object;

namespace UnityEditor
{
    public static class EditorPrefs
    {
        static readonly Dictionary<string, string> all = new Dictionary<string, string>();
        public static string GetString(string key, string fallback)
        {
            string found;
            return all.TryGetValue(key, out found) ? found : fallback;
        }
        public static void SetString(string key, string value) { all[key] = value; }
    }

    public static class EditorUtility
    {
        public static readonly List<string> Steps = new List<string>();
        public static bool Cancels, IsShown;
        public static bool DisplayCancelableProgressBar(string title, string info, float progress)
        {
            Steps.Add(info);
            IsShown = true;
            return Cancels;
        }
        public static void ClearProgressBar() { IsShown = false; }
    }

    /// A database of assets that tests fill.
    public static class AssetDatabase
    {
        public static readonly Dictionary<string, Object> Assets = new Dictionary<string, Object>();
        public static string AssetPathToGUID(string path)
        {
            return path.Aggregate(17u, (hash, c) => hash * 31 + c).ToString("x32");
        }
        public static string GUIDToAssetPath(string guid)
        {
            return Assets.Keys.FirstOrDefault(p => AssetPathToGUID(p) == guid) ?? "";
        }
        public static string[] FindAssets(string filter)
        {
            if (!filter.StartsWith("t:")) throw new NotSupportedException();
            return Assets.Where(a => a.Value.GetType().Name == filter.Substring(2))
                .Select(a => AssetPathToGUID(a.Key)).ToArray();
        }
        public static T LoadAssetAtPath<T>(string path) where T : Object
        {
            Object found;
            return Assets.TryGetValue(path, out found) ? found as T : null;
        }
        public static string GetAssetPath(Object asset)
        {
            return Assets.Where(a => a.Value == asset).Select(a => a.Key).FirstOrDefault() ?? "";
        }
    }

    public static class Selection { public static Object[] objects = new Object[0]; }
    [AttributeUsage(AttributeTargets.Method)]
    public sealed class MenuItem : Attribute { public MenuItem(string path) { } }
    [AttributeUsage(AttributeTargets.Class)]
    public sealed class InitializeOnLoadAttribute : Attribute { }
    [AttributeUsage(AttributeTargets.Class)]
    public sealed class CustomEditor : Attribute { public CustomEditor(Type type) { } }

    public static class AssemblyReloadEvents
    {
        public delegate void Callback();
        public static event Callback beforeAssemblyReload;
        public static void Reload() { if (beforeAssemblyReload != null) beforeAssemblyReload(); }
    }
    public enum PlayModeStateChange { EnteredEditMode, ExitingEditMode, EnteredPlayMode, ExitingPlayMode }
    public static class EditorApplication
    {
        public static event Action<PlayModeStateChange> playModeStateChanged;
        public static void Change(PlayModeStateChange to)
        {
            if (playModeStateChanged != null) playModeStateChanged(to);
        }
    }
    public static class SceneView { public static int Repaints; public static void RepaintAll() { Repaints++; } }

    public enum MessageType { None, Info, Warning, Error }
    /// Draws nothing: sliders return what a test has set for their label, buttons are pressed once.
    public static class EditorGUILayout
    {
        public static readonly Dictionary<string, float> Sliders = new Dictionary<string, float>();
        public static readonly Dictionary<string, string> Texts = new Dictionary<string, string>();
        public static readonly List<string> Boxes = new List<string>();
        public static float Slider(string label, float value, float low, float high)
        {
            float set;
            return Sliders.TryGetValue(label, out set) ? Math.Max(low, Math.Min(high, set)) : value;
        }
        public static string TextField(string label, string value)
        {
            string set;
            return Texts.TryGetValue(label, out set) ? set : value;
        }
        public static void HelpBox(string text, MessageType type) { Boxes.Add(text); }
        public static void Space() { }
        public static void BeginHorizontal() { }
        public static void EndHorizontal() { }
    }
    public class Editor : ScriptableObject
    {
        public Object target { get; set; }
        public bool DrawDefaultInspector() { return false; }
        public virtual void OnInspectorGUI() { }
    }
    public enum SettingsScope { User, Project }
    [AttributeUsage(AttributeTargets.Method)]
    public sealed class SettingsProviderAttribute : Attribute { }
    public class SettingsProvider
    {
        public string path, label;
        public Action<string> guiHandler;
        public SettingsProvider(string path, SettingsScope scope) { this.path = path; }
    }
}

namespace UnityEditor.Experimental
{
    public static class AssetDatabaseExperimental
    {
        public static readonly Dictionary<string, Type> Overrides = new Dictionary<string, Type>();
        public static void SetImporterOverride<T>(string path) { Overrides[path] = typeof(T); }
    }
}

namespace UnityEditor.AssetImporters
{
    [AttributeUsage(AttributeTargets.Class)]
    public sealed class ScriptedImporterAttribute : Attribute
    {
        public ScriptedImporterAttribute(int version, string extension) { }
        public ScriptedImporterAttribute(int version, string[] extensions, string[] overrideExtensions) { }
    }
    public abstract class ScriptedImporter : Object { public abstract void OnImportAsset(AssetImportContext context); }
    public sealed class AssetImportContext
    {
        public readonly List<string> Errors = new List<string>(), Warnings = new List<string>();
        public Object Main;
        Object added;
        public string assetPath { get; private set; }
        public AssetImportContext(string path) { assetPath = path; }
        public void LogImportError(string message) { Errors.Add(message); }
        public void LogImportWarning(string message) { Warnings.Add(message); }
        public void AddObjectToAsset(string id, Object asset) { added = asset; }
        public void SetMainObject(Object asset)
        {
            if (asset != added) throw new InvalidOperationException("not added");
            Main = asset;
        }
    }
}

namespace UnityEditor.Build
{
    public sealed class BuildFailedException : Exception
    {
        public BuildFailedException(string message) : base(message) { }
    }
    public sealed class BuildPlayerContext
    {
        public readonly Dictionary<string, string> Added = new Dictionary<string, string>();
        public void AddAdditionalPathToStreamingAssets(string from, string to) { Added.Add(to, from); }
    }
    public abstract class BuildPlayerProcessor
    {
        public abstract int callbackOrder { get; }
        public abstract void PrepareForBuild(BuildPlayerContext context);
    }
}
