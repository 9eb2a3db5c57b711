// Runs the plugin, compiled with our stand-ins for the engine, on files, and compares it with the C interface
// itself.
//
//     driver GOLDEN MADE [PROGRAM]     all tests; GOLDEN is testdata/golden, MADE the files that the script
//     has compiled
//                                      ONLY=caches runs one part of them
//     driver --wrong-version           with a library of another version
#include "Checks.h"

namespace Driver
{
void RequireAt(bool bSo, const char *What, const char *File, int Line)
{
    if (!bSo)
    {
        std::fprintf(stderr, "%s:%d: not so: %s\n", File, Line, What);
        for (const std::string &Each : StandIn::FLog::Get().Errors)
        {
            std::fprintf(stderr, "    logged: %s\n", Each.c_str());
        }
        std::_Exit(1);
    }
}

void RequireErrors(SIZE_T Count, const std::string &Part)
{
    std::string Last;
    const SIZE_T Now = StandIn::FLog::Get().Take(&Last);
    if (Now != Count || Last.find(Part) == std::string::npos)
    {
        std::fprintf(stderr, "%zu errors instead of %zu, the last: %s\n    instead of one with: %s\n", Now,
                     Count, Last.c_str(), Part.c_str());
        REQUIRE(false);
    }
}

FArguments &Arguments()
{
    static FArguments Given;
    return Given;
}

TArray<uint8> ReadFile(const std::string &Path)
{
    TArray<uint8> Out;
    const bool bRead = FFileHelper::LoadFileToArray(Out, *ToText(Path));
    if (!bRead)
    {
        std::fprintf(stderr, "%s cannot be read\n", Path.c_str());
    }
    REQUIRE(bRead);
    return Out;
}

FString ToText(const std::string &Source) { return FString(UTF8_TO_TCHAR(Source.c_str())); }
std::string Golden(const std::string &Name) { return Arguments().Golden + "/" + Name; }

UMeshreelAsset *LoadAsset(const std::string &Path)
{
    UMeshreelAsset *Asset = NewObject<UMeshreelAsset>(nullptr, FName(*ToText(Path)));
    REQUIRE(Asset->SetBytes(ReadFile(Path)));
    return Asset;
}

FWorld::FWorld(EWorldType::Type Type) : World(NewObject<UWorld>())
{
    World->WorldType = Type;
    World->AddSubsystem<UMeshreelSubsystem>();
}

void FWorld::Tick(float Seconds)
{
    GFrameNumberRenderThread++;
    World->Tick(Seconds);
}

bool FWorld::TickUntil(const std::function<bool()> &Condition, float Seconds)
{
    const auto End = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    while (!Condition())
    {
        if (std::chrono::steady_clock::now() > End)
        {
            return false;
        }
        Tick(Seconds);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

UMeshreelComponent *FWorld::Add(UMeshreelAsset *Asset,
                                const std::function<void(UMeshreelComponent &)> &Before)
{
    UMeshreelComponent *Component = NewObject<UMeshreelComponent>();
    Component->SetAsset(Asset);
    if (Before)
    {
        Before(*Component);
    }
    Component->RegisterComponentWithWorld(World);
    return Component;
}

FInTick::FInTick() : Settings(GetMutableDefault<UMeshreelSettings>()) { Settings->bDecodeInTick = true; }
FInTick::~FInTick() { Settings->bDecodeInTick = false; }

FReference::FReference(const TArray<uint8> &Bytes)
{
    REQUIRE(mr_reel_open_memory(nullptr, Bytes.GetData(), static_cast<size_t>(Bytes.Num()), nullptr, &Reel) ==
            MR_STATUS_OK);
    Info.size = sizeof Info;
    REQUIRE(mr_reel_get(Reel, &Info) == MR_STATUS_OK);
    REQUIRE(mr_decoder_new(Reel, &Decoder) == MR_STATUS_OK);
    REQUIRE(mr_decoder_frame(Decoder, &Frame) == MR_STATUS_OK);
}
FReference::~FReference()
{
    mr_decoder_free(Decoder);
    mr_reel_free(Reel);
}
const mr_frame *FReference::Decode(uint32 Number)
{
    REQUIRE(mr_decoder_decode(Decoder, Number) == MR_STATUS_OK);
    return Frame;
}

bool Near(double A, double B, double Tolerance)
{
    return std::fabs(A - B) <= Tolerance * (1.0 + std::fabs(B));
}
} // namespace Driver

int main(int Count, char **Values)
{
    using namespace Driver;
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    if (Count == 2 && std::string(Values[1]) == "--wrong-version")
    {
        TestWrongVersion();
        StandIn::FObjects::Get().DestroyAll();
        std::printf("a library of another version is refused\n");
        return 0;
    }
    if (Count < 3)
    {
        std::fprintf(stderr, "driver GOLDEN MADE [PROGRAM]\n");
        return 2;
    }
    Arguments() = {Values[1], Values[2], Count > 3 ? Values[3] : ""};
    FPaths::Project() = ToText(Arguments().Made + "/project");
    for (const auto &Module : StandIn::Modules())
    {
        Module->StartupModule();
    }
    const std::pair<const char *, void (*)()> Tests[] = {
        {"surfaces", TestSurfaces},   {"playing", TestPlaying},        {"trouble", TestTrouble},
        {"renderer", TestRenderer},   {"caches", TestCaches},          {"clips", TestClips},
        {"importing", TestImporting}, {"conformance", TestConformance}};
    for (const auto &Test : Tests)
    {
        if (std::getenv("ONLY") != nullptr && std::string(std::getenv("ONLY")) != Test.first)
        {
            continue;
        }
        const auto Start = std::chrono::steady_clock::now();
        Test.second();
        RequireErrors(0);
        StandIn::FTasks::Get().Wait();
        StandIn::FObjects::Get().DestroyAll();
        StandIn::RunRenderCommands();
        REQUIRE(StandIn::OpenHandles == 0);
        std::printf("%s: %.2f s\n", Test.first,
                    std::chrono::duration<double>(std::chrono::steady_clock::now() - Start).count());
    }
    for (const auto &Module : StandIn::Modules())
    {
        Module->ShutdownModule();
    }
    StandIn::Modules().clear();
    std::printf("the plugin works\n");
    return 0;
}
