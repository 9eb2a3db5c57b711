// The editor module: importer, thumbnails, placement in levels.

using UnrealBuildTool;

public class MeshreelEditor : ModuleRules
{
    public MeshreelEditor(ReadOnlyTargetRules Target) : base(Target)
    {
        PCHUsage = PCHUsageMode.UseExplicitOrSharedPCHs;
        CppStandard = CppStandardVersion.Cpp20;
        PublicDependencyModuleNames.AddRange(new string[] { "Core", "CoreUObject", "Engine", "Meshreel", "UnrealEd" });
        PrivateDependencyModuleNames.AddRange(new string[]
        {
            "AssetRegistry", "AssetTools", "GeometryCache", "InputCore", "PropertyEditor", "RenderCore", "Slate",
            "SlateCore",
        });
    }
}
