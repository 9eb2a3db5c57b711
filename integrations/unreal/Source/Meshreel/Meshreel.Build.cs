// The runtime module: player, component, geometry cache, animation codec.

using UnrealBuildTool;

public class Meshreel : ModuleRules
{
    public Meshreel(ReadOnlyTargetRules Target) : base(Target)
    {
        PCHUsage = PCHUsageMode.UseExplicitOrSharedPCHs;
        CppStandard = CppStandardVersion.Cpp20;
        PublicDependencyModuleNames.AddRange(new string[]
        {
            "Core", "CoreUObject", "DeveloperSettings", "Engine", "GeometryCache", "MeshreelLibrary",
            "RenderCore", "RHI",
        });
        PrivateDependencyModuleNames.AddRange(new string[] { "Projects" });
    }
}
