// The library meshreel_c, as the archives of its releases contain it: the header in `include`, the library of
// each platform in `lib/TARGET`. `README.md` says which archive goes where.

using System.IO;
using UnrealBuildTool;

public class MeshreelLibrary : ModuleRules
{
    public MeshreelLibrary(ReadOnlyTargetRules Target) : base(Target)
    {
        Type = ModuleType.External;
        PublicSystemIncludePaths.Add(Path.Combine(ModuleDirectory, "include"));
        string Lib = Path.Combine(ModuleDirectory, "lib");
        if (Target.Platform == UnrealTargetPlatform.Win64)
        {
            // Loaded by the module when it starts: a missing or older library is a message then, and no crash.
            string Folder = Path.Combine(Lib, "x86_64-pc-windows-msvc");
            PublicAdditionalLibraries.Add(Path.Combine(Folder, "meshreel_c.dll.lib"));
            PublicDelayLoadDLLs.Add("meshreel_c.dll");
            RuntimeDependencies.Add("$(BinaryOutputDir)/meshreel_c.dll", Path.Combine(Folder, "meshreel_c.dll"));
        }
        else if (Target.Platform == UnrealTargetPlatform.Linux || Target.Platform == UnrealTargetPlatform.LinuxArm64)
        {
            string Machine = Target.Platform == UnrealTargetPlatform.Linux ? "x86_64" : "aarch64";
            PublicAdditionalLibraries.Add(Path.Combine(Lib, Machine + "-unknown-linux-gnu", "libmeshreel_c.a"));
        }
        else if (Target.Platform == UnrealTargetPlatform.Mac)
        {
            PublicAdditionalLibraries.Add(Path.Combine(Lib, "universal-apple-darwin", "libmeshreel_c.a"));
        }
        else if (Target.Platform == UnrealTargetPlatform.IOS)
        {
            PublicAdditionalLibraries.Add(Path.Combine(Lib, "aarch64-apple-ios", "libmeshreel_c.a"));
        }
        else if (Target.Platform == UnrealTargetPlatform.Android)
        {
            PublicAdditionalLibraries.Add(Path.Combine(Lib, "aarch64-linux-android", "libmeshreel_c.a"));
        }
    }
}
