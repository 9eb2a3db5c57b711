using UnityEditor;

namespace Meshreel.Editor
{
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
