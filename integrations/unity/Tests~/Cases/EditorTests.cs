using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using Meshreel.Editor;
using UnityEditor;
using UnityEditor.AssetImporters;
using UnityEditor.Build;
using UnityEditor.Experimental;
using UnityEngine;
using Object = UnityEngine.Object;

namespace Meshreel.Tests
{
    public static class EditorTests
    {
        /// <summary>A folder of a project, which is the current folder as long as the test runs.</summary>
        sealed class Project : IDisposable
        {
            readonly string before = Directory.GetCurrentDirectory();
            public readonly string Folder;

            public Project()
            {
                Folder = Path.Combine(Path.GetTempPath(), "meshreel_unity_project_"
                    + System.Diagnostics.Process.GetCurrentProcess().Id);
                Directory.CreateDirectory(Path.Combine(Folder, "Assets"));
                Directory.SetCurrentDirectory(Folder);
                Application.isPlaying = false;
                Application.isEditor = true;
                AssetDatabase.Assets.Clear();
                EditorUtility.Steps.Clear();
                EditorUtility.Cancels = false;
                EditorGUILayout.Sliders.Clear();
                EditorGUILayout.Boxes.Clear();
            }

            public void Dispose()
            {
                Directory.SetCurrentDirectory(before);
                Directory.Delete(Folder, true);
            }
        }

        static string Inputs
        {
            get { return Path.Combine(Game.Golden, "../inputs"); }
        }

        static ReelAsset Import(ScriptedImporter importer, string path, out AssetImportContext context)
        {
            context = new AssetImportContext(path);
            importer.OnImportAsset(context);
            if (context.Main != null) AssetDatabase.Assets[path] = context.Main;
            return context.Main as ReelAsset;
        }

        [Test]
        public static void ReelFiles()
        {
            using (new Project())
            {
                File.Copy(Game.Flag, "Assets/flag.reel");
                AssetImportContext context;
                ReelAsset asset = Import(new ReelImporter { storage = ReelStorage.Embedded }, "Assets/flag.reel",
                    out context);
                Check.That(asset.name == "flag" && asset.Bytes.Length == new FileInfo(Game.Flag).Length, "embedded");
                Check.That(asset.Duration > 0.1 && context.Errors.Count == 0, "duration");
                Check.That(ReelAssetEditor.Summary(asset).Contains("bytes in the asset"),
                    ReelAssetEditor.Summary(asset));
                asset = Import(new ReelImporter(), "Assets/flag.reel", out context);
                Check.That(asset.Bytes == null && asset.StreamedPath.StartsWith("Meshreel/"), "streamed");
                Check.That(ReelAssetEditor.Summary(asset).Contains(asset.StreamedPath), ReelAssetEditor.Summary(asset));
                Check.Equal(asset.PathToOpen, Path.GetFullPath("Assets/flag.reel"), "the path in the editor");
                // A game in the editor plays the file of the project.
                Application.isPlaying = true;
                ReelPlayer player = Game.Player("", p => p.Asset = asset);
                Game.UntilReady(player);
                Scene.Clear();
                // A build has it below StreamingAssets.
                var build = new BuildPlayerContext();
                var processor = new ReelBuild();
                Check.Equal(processor.callbackOrder, 0, "order");
                processor.PrepareForBuild(build);
                Check.Equal(build.Added[asset.StreamedPath], "Assets/flag.reel", "a file of the build");
                File.Delete("Assets/flag.reel");
                string message = Check.Throws<BuildFailedException>(()
                    => processor.PrepareForBuild(new BuildPlayerContext()), "a missing file").Message;
                Check.That(message.Contains("flag"), message);
                File.WriteAllText("Assets/bad.reel", "this is no file");
                asset = Import(new ReelImporter(), "Assets/bad.reel", out context);
                Check.That(context.Errors.Count == 1 && context.Errors[0].Contains("bad.reel"), "a file that is none");
                Check.Near(asset.Duration, 0, 0, "its duration");
            }
            Game.Quiet();
        }

        [Test]
        public static void OptionsAsArguments()
        {
            Check.Equal(new ReelCompileOptions().Arguments().Count, 0, "the defaults");
            var options = new ReelCompileOptions
            {
                tolerance = " 0.5mm ", method = ReelMethod.Rigid, preset = ReelPreset.Fast, unit = ReelUnit.Centimetre,
                rig = ReelRig.Keep, framesPerSecond = 29.97f, levelsOfDetail = 9, cullHidden = true, clipsOnly = true,
                cycle = true, effort = 12, further = "--include \"/a b/**\"  --strict \"\"",
            };
            string all = string.Join("|", options.Arguments().ToArray());
            Check.Equal(all, "--tolerance|0.5mm|--method|rigid|--preset|fast|--unit|cm|--rig|keep|--fps|29.97|--lod|7|"
                + "--cull-hidden|--clips-only|--cycle|--effort|9|--include|/a b/**|--strict|", "arguments");
        }

        [Test]
        public static void SourcesAreCompiled()
        {
            if (Game.Made == null) return;
            using (new Project())
            {
                File.Copy(Path.Combine(Inputs, "e_metaballs.abc"), "Assets/meta \"balls\".abc");
                AssetImportContext context;
                var importer = new ReelSourceImporter();
                importer.options.unit = ReelUnit.Centimetre;
                importer.options.tolerance = "0.1%";
                ReelAsset asset = Import(importer, "Assets/meta \"balls\".abc", out context);
                Check.That(context.Errors.Count == 0, string.Join("; ", context.Errors.ToArray()));
                Check.That(EditorUtility.Steps.Count > 0 && !EditorUtility.IsShown, "progress");
                ReelReport report = ReelReport.Read(asset.Report);
                Check.That(report.frames == 60 && report.meshes.Length == 1 && report.meshes[0].method == "fluid",
                    asset.Report);
                Check.That(report.meshes[0].max_error > 0
                    && report.meshes[0].max_error <= report.meshes[0].tolerance, "errors");
                Check.Equal(report.file_bytes, new FileInfo(asset.ProjectPath).Length, "bytes");
                string summary = ReelAssetEditor.Summary(asset);
                Check.That(summary.Contains("/Meta/Meta") && summary.Contains("fluid"), summary);
                using (ReelFile file = ReelFile.Open(asset.ProjectPath)) Check.Near(file.MetresPerUnit, 0.01, 1e-9,
                    "unit");
                // The source is damaged then: the error names it, and the file before remains.
                byte[] bytes = File.ReadAllBytes("Assets/meta \"balls\".abc");
                File.WriteAllBytes("Assets/meta \"balls\".abc", bytes.Take(3000).ToArray());
                asset = Import(importer, "Assets/meta \"balls\".abc", out context);
                Check.That(context.Errors.Count == 1 && context.Errors[0].Contains("balls"), "an error");
                Check.That(asset != null && asset.Duration > 1, "the file before");
                File.Copy(Path.Combine(Inputs, "a_flag_wind.abc"), "Assets/flag.abc");
                importer.options.tolerance = "nonsense";
                Check.That(Import(importer, "Assets/flag.abc", out context) == null, "an asset of nothing");
                Check.That(context.Errors.Count == 1 && context.Errors[0].Contains("flag.abc"),
                    "an option that is wrong");
                importer.options.tolerance = "";
                asset = Import(importer, "Assets/flag.abc", out context);
                Check.That(context.Warnings.Count == 1 && context.Warnings[0].Contains("/Flag/FlagMesh"), "a remark");
            }
            Game.Quiet();
        }

        [Test]
        public static void CancelledAndMissingPrograms()
        {
            if (Game.Made == null) return;
            using (new Project())
            {
                File.Copy(Path.Combine(Inputs, "d_snake_skinned.abc"), "Assets/snake.abc");
                EditorUtility.Cancels = true;
                AssetImportContext context;
                Check.That(Import(new ReelSourceImporter(), "Assets/snake.abc", out context) == null,
                    "a cancelled import");
                Check.That(context.Errors[0].Contains("cancelled") && context.Errors[0].Contains("snake.abc"),
                    context.Errors[0]);
                Check.That(Directory.GetFiles("Library/Meshreel").Length == 0, "a file of a cancelled import");
                EditorUtility.Cancels = false;
                string program = ReelCompiler.Program;
                try
                {
                    ReelCompiler.Program = "/no/such/program";
                    Check.That(Import(new ReelSourceImporter(), "Assets/snake.abc", out context) == null,
                        "a missing program");
                    Check.That(context.Errors[0].Contains("/no/such/program"), context.Errors[0]);
                    SettingsProvider page = ReelPreferences.Create();
                    EditorGUILayout.Texts["Program"] = program;
                    page.guiHandler("");
                    Check.Equal(ReelCompiler.Program, program, "the page of the preferences");
                }
                finally
                {
                    ReelCompiler.Program = "";
                    EditorGUILayout.Texts.Clear();
                }
                Check.That(ReelReport.Read("") == null && ReelReport.Read("{ broken") == null, "reports that are none");
            }
        }

        [Test]
        public static void ImportersAreChosen()
        {
            AssetDatabaseExperimental.Overrides.Clear();
            ReelImport.Choose("Assets/a.abc");
            Check.Equal(AssetDatabaseExperimental.Overrides["Assets/a.abc"], typeof(ReelSourceImporter),
                "the importer");
        }

        [Test]
        public static void InspectorsScrub()
        {
            using (new Project())
            {
                var player = new GameObject("player").AddComponent<ReelPlayer>();
                player.Path = Game.Flag;
                var inspector = ScriptableObject.CreateInstance<ReelPlayerEditor>();
                inspector.target = player;
                inspector.OnInspectorGUI();
                Check.Equal(player.transform.childCount, 0, "a preview that nobody wanted");
                EditorGUILayout.Sliders["Preview"] = 0.2f;
                int repaints = SceneView.Repaints;
                inspector.OnInspectorGUI();
                Check.That(player.transform.childCount == 1 && SceneView.Repaints > repaints, "a preview");
                GUILayout.Pressed.Add("End Preview");
                inspector.OnInspectorGUI();
                Check.Equal(player.transform.childCount, 0, "after the preview");
                EditorGUILayout.Sliders.Clear();
                inspector.Show(0.1);
                Check.Equal(player.transform.childCount, 1, "Show");
                // Playing ends previews, and so does loading assemblies.
                Type hooks = typeof(ReelBuild).Assembly.GetType("Meshreel.Editor.ReelEditorHooks");
                System.Runtime.CompilerServices.RuntimeHelpers.RunClassConstructor(hooks.TypeHandle);
                EditorApplication.Change(PlayModeStateChange.ExitingEditMode);
                Check.Equal(player.transform.childCount, 0, "before a game");
                inspector.Show(0.1);
                AssemblyReloadEvents.Reload();
                Check.Equal(player.transform.childCount, 0, "before assemblies are loaded");
                player.Path = "/no/such/file.reel";
                inspector.Show(0.1);
                inspector.OnInspectorGUI();
                Check.That(EditorGUILayout.Boxes.Any(b => b.Contains("/no/such/file.reel")), "an error");
                Debug.Errors.Clear();
                // In a game it has a slider and buttons.
                Application.isPlaying = true;
                Scene.Clear();
                player = Game.Player(Game.Flag);
                Game.UntilReady(player);
                inspector.target = player;
                EditorGUILayout.Sliders["Position"] = 0.25f;
                GUILayout.Pressed.Add("Pause");
                inspector.OnInspectorGUI();
                Scene.Frame(0.1f);
                Check.Near(player.Clock.Position, 0.25, 1e-3, "the position");
                foreach (string button in new[] { "Play", "Stop" }) GUILayout.Pressed.Add(button);
                inspector.OnInspectorGUI();
                Scene.Frame(0);
                Check.That(!player.View.Root.activeSelf && GUILayout.Pressed.Count == 0, "buttons");
                EditorApplication.Change(PlayModeStateChange.EnteredEditMode);
                Check.That(!ReelRuntime.IsRunning, "after a game");
                var assetInspector = ScriptableObject.CreateInstance<ReelAssetEditor>();
                assetInspector.target = ScriptableObject.CreateInstance<ReelAsset>();
                assetInspector.OnInspectorGUI();
            }
            Game.Quiet();
        }
    }
}
