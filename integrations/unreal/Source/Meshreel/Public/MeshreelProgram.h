// Runs the program `meshreel`, which compiles files of content tools. For the editor.
#pragma once

#include "CoreMinimal.h"

#if WITH_EDITOR

/** One run of `meshreel compile`. */
struct FMeshreelCompile
{
    FString Input;
    FString Output;
    /** More options, as on the command line. */
    FString Options;
    /** Called every tenth of a second with what the program has printed so far; returns false to end the
     * program. Optional. */
    TFunction<bool(const FString &)> Progress;
};

struct MESHREEL_API FMeshreelProgram
{
    /**
     * The path of the program: of the settings, in the plugin, or its name alone, which the system looks up.
     */
    static FString Find();

    /** Compiles a file. Returns false, with the program's message, if that fails. Any thread may call it. */
    static bool Compile(const FMeshreelCompile &Job, FString &OutError);

    /** The line that begins with `error: ` of what the program has printed; all of it if there is none. */
    static FString MessageOf(const FString &Text);
};

#endif
