// Worlds, actors and components. A world's end of frame does what the engine's does: it creates, updates and
// destroys what the renderer has of each component, and runs the commands that were meant for the rendering
// thread.
#pragma once

#include "PrimitiveSceneProxy.h"

namespace EWorldType
{
enum Type
{
    None,
    Game,
    Editor,
    PIE,
    EditorPreview,
    GamePreview,
    Inactive,
};
} // namespace EWorldType
struct TStatId
{
};
#define STATGROUP_Tickables 0
#define RETURN_QUICK_DECLARE_CYCLE_STAT(Name, Group) return TStatId()

class UWorldSubsystem : public UObject
{
  public:
    virtual void Deinitialize() {}
    virtual bool DoesSupportWorldType(const EWorldType::Type) const { return true; }
};
class UTickableWorldSubsystem : public UWorldSubsystem
{
  public:
    virtual void Tick(float) {}
    virtual TStatId GetStatId() const = 0;
    virtual bool IsTickableInEditor() const { return false; }
    virtual bool IsTickableWhenPaused() const { return false; }
};

class UActorComponent;
class AActor;
struct FActorSpawnParameters
{
    int SpawnCollisionHandlingOverride = 0;
    bool bNoFail = false;
    EObjectFlags ObjectFlags = RF_NoFlags;
};
namespace ESpawnActorCollisionHandlingMethod
{
enum
{
    AlwaysSpawn = 1
};
} // namespace ESpawnActorCollisionHandlingMethod

class UWorld : public UObject
{
  public:
    EWorldType::Type WorldType = EWorldType::Game;
    bool bPaused = false;
    FSceneInterface Scene;
    std::vector<std::pair<const void *, UTickableWorldSubsystem *>> Subsystems;
    std::vector<UActorComponent *> Components;

    virtual ~UWorld() override { End(); }
    virtual UWorld *GetWorld() const override { return const_cast<UWorld *>(this); }
    bool IsPaused() const { return bPaused; }
    bool IsGameWorld() const
    {
        return WorldType == EWorldType::Game || WorldType == EWorldType::PIE ||
               WorldType == EWorldType::GamePreview;
    }
    template <typename T> static const void *KeyOf()
    {
        static const char Key = 0;
        return &Key;
    }
    template <typename T> void AddSubsystem()
    {
        struct FOpen : T
        {
            using T::DoesSupportWorldType;
        };
        T *Subsystem = NewObject<T>(this);
        if ((static_cast<T *>(Subsystem)->*(&FOpen::DoesSupportWorldType))(WorldType))
        {
            Subsystems.push_back({KeyOf<T>(), Subsystem});
        }
    }
    template <typename T> T *GetSubsystem() const
    {
        for (const auto &Each : Subsystems)
        {
            if (Each.first == KeyOf<T>())
            {
                return static_cast<T *>(Each.second);
            }
        }
        return nullptr;
    }
    template <typename T> T *SpawnActor(const FActorSpawnParameters & = FActorSpawnParameters());
    void Tick(float Seconds);
    void SendAllEndOfFrameUpdates();
    void End()
    {
        for (const auto &Each : Subsystems)
        {
            Each.second->Deinitialize();
        }
        Subsystems.clear();
    }
};

enum ELevelTick
{
    LEVELTICK_All
};
struct FActorComponentTickFunction
{
    bool bCanEverTick = false;
};

class UActorComponent : public UObject
{
  public:
    FActorComponentTickFunction PrimaryComponentTick;
    virtual ~UActorComponent() override
    {
        if (World != nullptr)
        {
            Forget();
        }
    }
    virtual UWorld *GetWorld() const override { return World != nullptr ? World : UObject::GetWorld(); }
    AActor *GetOwner() const;
    bool IsRegistered() const { return bRegistered; }
    void RegisterComponent() { RegisterComponentWithWorld(GetWorld()); }
    void RegisterComponentWithWorld(UWorld *In)
    {
        World = In;
        World->Components.push_back(this);
        bRegistered = true;
        OnRegister();
        bRenderStateDirty = true;
    }
    void UnregisterComponent()
    {
        DestroyRenderState();
        OnUnregister();
        bRegistered = false;
        Forget();
    }
    void MarkRenderStateDirty() { bRenderStateDirty = bRegistered; }
    void MarkRenderTransformDirty() { bTransformDirty = true; }
    void MarkRenderDynamicDataDirty() { bDynamicDirty = true; }
    virtual void BeginPlay() {}
    virtual void TickComponent(float, ELevelTick, FActorComponentTickFunction *) {}
    virtual void CreateRenderState() {}
    virtual void DestroyRenderState() {}
    void EndOfFrame()
    {
        if (bRenderStateDirty)
        {
            DestroyRenderState();
            CreateRenderState();
        }
        else if (bDynamicDirty)
        {
            SendRenderDynamicData_Concurrent();
        }
        bRenderStateDirty = bDynamicDirty = bTransformDirty = false;
    }
    /** An edit of a property in the editor registers the component again. */
    virtual void PostEditChangeProperty(FPropertyChangedEvent &) override
    {
        if (bRegistered)
        {
            UWorld *In = World;
            UnregisterComponent();
            RegisterComponentWithWorld(In);
        }
    }

  protected:
    virtual void OnRegister() {}
    virtual void OnUnregister() {}
    virtual void SendRenderDynamicData_Concurrent() {}
    bool bRegistered = false, bRenderStateDirty = false, bTransformDirty = false, bDynamicDirty = false;

  private:
    void Forget()
    {
        auto &All = World->Components;
        All.erase(std::remove(All.begin(), All.end(), this), All.end());
        World = nullptr;
    }
    UWorld *World = nullptr;
};

inline void UWorld::Tick(float Seconds)
{
    for (SIZE_T Index = 0; Index < Components.size(); Index++)
    {
        if (!bPaused && Components[Index]->PrimaryComponentTick.bCanEverTick)
        {
            Components[Index]->TickComponent(Seconds, LEVELTICK_All, nullptr);
        }
    }
    const auto All = Subsystems;
    for (const auto &Each : All)
    {
        if ((!bPaused || Each.second->IsTickableWhenPaused()) &&
            (WorldType != EWorldType::Editor || Each.second->IsTickableInEditor()))
        {
            Each.second->Tick(Seconds);
        }
    }
    SendAllEndOfFrameUpdates();
}
inline void UWorld::SendAllEndOfFrameUpdates()
{
    for (UActorComponent *Component : Components)
    {
        Component->EndOfFrame();
    }
    StandIn::RunRenderCommands();
}

class USceneComponent : public UActorComponent
{
  public:
    FBoxSphereBounds Bounds;
    virtual FBoxSphereBounds CalcBounds(const FTransform &LocalToWorld) const
    {
        return FBoxSphereBounds(LocalToWorld.GetLocation(), FVector(), 0.0);
    }
    void UpdateBounds() { Bounds = CalcBounds(Transform); }
    const FTransform &GetComponentTransform() const { return Transform; }
    USceneComponent *AttachParent = nullptr;
    void SetupAttachment(USceneComponent *Parent) { AttachParent = Parent; }
    void SetRelativeLocation(const FVector &In)
    {
        SetTransform(FTransform(Transform.GetRotation(), In, Transform.GetScale3D()));
    }
    void SetRelativeTransform(const FTransform &In) { SetTransform(In); }
    void SetVisibility(bool bNew)
    {
        bVisible = bNew;
        MarkRenderStateDirty();
    }
    bool ShouldRender() const { return bVisible; }

  protected:
    virtual void TransformChanged() {}

  private:
    void SetTransform(const FTransform &In)
    {
        Transform = In;
        UpdateBounds();
        TransformChanged();
    }
    FTransform Transform;
    bool bVisible = true;
};

class UPrimitiveComponent : public USceneComponent
{
  public:
    virtual ~UPrimitiveComponent() override { UPrimitiveComponent::DestroyRenderState(); }
    FPrimitiveSceneProxy *SceneProxy = nullptr;
    bool bCastDynamicShadow = true;
    void SetGenerateOverlapEvents(bool) {}
    virtual FPrimitiveSceneProxy *CreateSceneProxy() { return nullptr; }
    virtual int32 GetNumMaterials() const { return 0; }
    virtual UMaterialInterface *GetMaterial(int32) const { return nullptr; }
#if ENGINE_MINOR_VERSION < 7
    FMaterialRelevance GetMaterialRelevance(ERHIFeatureLevel::Type) const { return {}; }
#else
    FMaterialRelevance GetMaterialRelevance(EShaderPlatform) const { return {}; }
#endif
    FSceneInterface *GetScene() const { return &GetWorld()->Scene; }
    virtual void CreateRenderState() override
    {
        UpdateBounds();
        SceneProxy = ShouldRender() ? CreateSceneProxy() : nullptr;
        if (SceneProxy != nullptr)
        {
            TransformChanged();
            SceneProxy->CreateRenderThreadResources(FRHICommandListImmediate::Get());
        }
    }
    virtual void DestroyRenderState() override
    {
        StandIn::RunRenderCommands();
        delete std::exchange(SceneProxy, nullptr);
    }

  protected:
    virtual void TransformChanged() override
    {
        if (SceneProxy != nullptr)
        {
            SceneProxy->LocalToWorld = StandIn::ToMatrix(GetComponentTransform());
        }
    }
};
inline FPrimitiveSceneProxy::FPrimitiveSceneProxy(const UPrimitiveComponent *Component)
    : Scene(Component->GetScene())
{
}

class UMeshComponent : public UPrimitiveComponent
{
  public:
    TArray<TObjectPtr<UMaterialInterface>> OverrideMaterials;
    virtual int32 GetMaterialIndex(FName) const { return INDEX_NONE; }
    virtual TArray<FName> GetMaterialSlotNames() const { return {}; }
    virtual bool IsMaterialSlotNameValid(FName) const { return false; }
    void SetMaterial(int32 Index, UMaterialInterface *Material)
    {
        while (OverrideMaterials.Num() <= Index)
        {
            OverrideMaterials.Add(nullptr);
        }
        OverrideMaterials[Index] = Material;
        MarkRenderStateDirty();
    }
    void SetMaterialByName(FName Slot, UMaterialInterface *Material)
    {
        const int32 Index = GetMaterialIndex(Slot);
        if (Index >= 0)
        {
            SetMaterial(Index, Material);
        }
    }
};

class AActor : public UObject
{
  public:
    USceneComponent *RootComponent = nullptr;
    void SetRootComponent(USceneComponent *Set) { RootComponent = Set; }
    void SetActorEnableCollision(bool) {}
    void SetActorLocation(const FVector &In) { RootComponent->SetRelativeLocation(In); }
    virtual void BeginPlay() {}
    virtual void OnConstruction(const FTransform &) {}
    template <typename T> T *FindComponentByClass() const
    {
        for (const auto &Object : StandIn::FObjects::Get().All)
        {
            if (Object->Outer == this)
            {
                if (T *Out = dynamic_cast<T *>(Object.get()))
                {
                    return Out;
                }
            }
        }
        return nullptr;
    }
};
inline AActor *UActorComponent::GetOwner() const { return dynamic_cast<AActor *>(Outer); }
template <typename T> T *UWorld::SpawnActor(const FActorSpawnParameters &)
{
    T *Out = NewObject<T>(this);
    // Components that a constructor has created have no owner yet.
    for (const auto &Object : StandIn::FObjects::Get().All)
    {
        UActorComponent *Component = dynamic_cast<UActorComponent *>(Object.get());
        if (Component != nullptr && Component->Outer == Out && !Component->IsRegistered())
        {
            Component->RegisterComponentWithWorld(this);
        }
    }
    Out->OnConstruction(FTransform::Identity);
    Out->BeginPlay();
    return Out;
}

class UPoseableMeshComponent : public UMeshComponent
{
  public:
    TArray<FName> BoneNames;
    TArray<FTransform> BoneSpaceTransforms;
    int32 Refreshed = 0;
    int32 GetBoneIndex(FName Bone) const { return BoneNames.IndexOfByKey(Bone); }
    void MarkRefreshTransformDirty() { Refreshed++; }
};
