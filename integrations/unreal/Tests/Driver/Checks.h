// What all parts of the driver need: requirements, files, worlds.
#pragma once

#include "Components/MeshComponent.h"
#include "HAL/PlatformFileManager.h"
#include "MeshreelAsset.h"
#include "MeshreelComponent.h"
#include "MeshreelSettings.h"
#include "MeshreelSubsystem.h"

#include <chrono>
#include <set>

namespace Driver
{
/** Ends the test unless the condition holds. */
void RequireAt(bool bSo, const char *What, const char *File, int Line);
#define REQUIRE(Condition) ::Driver::RequireAt((Condition), #Condition, __FILE__, __LINE__)

/** Requires exactly this many errors in the log since the last call, the last of which contains a text. */
void RequireErrors(SIZE_T Count, const std::string &Part = "");

struct FArguments
{
    std::string Golden;  // testdata/golden
    std::string Made;    // Files that the test script has compiled.
    std::string Program; // `meshreel`, or empty.
};
FArguments &Arguments();

TArray<uint8> ReadFile(const std::string &Path);
FString ToText(const std::string &Source);
std::string Golden(const std::string &Name);

/** An asset with the bytes of a file. */
UMeshreelAsset *LoadAsset(const std::string &Path);

/** A world with a subsystem for players. */
struct FWorld
{
    explicit FWorld(EWorldType::Type Type = EWorldType::Game);
    ~FWorld() { World->End(); }
    UMeshreelSubsystem *Subsystem() const { return World->GetSubsystem<UMeshreelSubsystem>(); }
    /** Ticks until a condition holds, at most two minutes; returns whether it does. */
    bool TickUntil(const std::function<bool()> &Condition, float Seconds = 1.0f / 60.0f);
    void Tick(float Seconds = 1.0f / 60.0f);
    UMeshreelComponent *Add(UMeshreelAsset *Asset,
                            const std::function<void(UMeshreelComponent &)> &Before = nullptr);
    UWorld *World;
};

/**
 * Players that read and decode in the tick for as long as this lives, so that nothing depends on the clock.
 */
struct FInTick
{
    FInTick();
    ~FInTick();
    UMeshreelSettings *Settings;
};

/** A decoder of a file, straight from the C interface: what to compare with. */
struct FReference
{
    explicit FReference(const TArray<uint8> &Bytes);
    ~FReference();
    const mr_frame *Decode(uint32 Number);
    mr_reel *Reel = nullptr;
    mr_decoder *Decoder = nullptr;
    const mr_frame *Frame = nullptr;
    mr_reel_info Info{};
};

bool Near(double A, double B, double Tolerance);

void TestSurfaces();
void TestPlaying();
void TestTrouble();
void TestRenderer();
void TestCaches();
void TestClips();
void TestConformance();
void TestImporting();
void TestWrongVersion();
} // namespace Driver
