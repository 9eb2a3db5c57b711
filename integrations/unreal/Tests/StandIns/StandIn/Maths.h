// Stand-ins for the engine's vectors, transforms and boxes.
#pragma once

#include "StandIn/Text.h"

struct FMath
{
    template <typename T> static T Max(T A, T B) { return A < B ? B : A; }
    template <typename T> static T Min(T A, T B) { return B < A ? B : A; }
    template <typename T> static T Max3(T A, T B, T C) { return Max(Max(A, B), C); }
    template <typename T> static T Clamp(T Value, T Low, T High) { return Max(Low, Min(Value, High)); }
    template <typename T> static T Sqrt(T Value) { return std::sqrt(Value); }
    template <typename T> static T Abs(T Value) { return Value < T(0) ? -Value : Value; }
    template <typename T> static T Fmod(T A, T B) { return std::fmod(A, B); }
    template <typename T> static T Atan(T Value) { return std::atan(Value); }
    template <typename T> static T Tan(T Value) { return std::tan(Value); }
    template <typename T> static T DegreesToRadians(T Value)
    {
        return Value * static_cast<T>(3.14159265358979323846 / 180.0);
    }
};

template <typename T> struct TVector2
{
    T X{}, Y{};
    TVector2() = default;
    TVector2(T SetX, T SetY) : X(SetX), Y(SetY) {}
    bool operator==(const TVector2 &O) const { return X == O.X && Y == O.Y; }
};
using FVector2f = TVector2<float>;
using FVector2D = TVector2<double>;

template <typename T> struct TVector
{
    T X{}, Y{}, Z{};
    TVector() = default;
    explicit TVector(EForceInit) {}
    TVector(T SetX, T SetY, T SetZ) : X(SetX), Y(SetY), Z(SetZ) {}
    template <typename U> explicit TVector(const TVector<U> &O) : X(T(O.X)), Y(T(O.Y)), Z(T(O.Z)) {}
    static const TVector ZeroVector, OneVector;
    TVector operator+(const TVector &O) const { return {X + O.X, Y + O.Y, Z + O.Z}; }
    TVector operator-(const TVector &O) const { return {X - O.X, Y - O.Y, Z - O.Z}; }
    TVector operator-() const { return {-X, -Y, -Z}; }
    TVector operator*(T S) const { return {X * S, Y * S, Z * S}; }
    TVector operator/(T S) const { return {X / S, Y / S, Z / S}; }
    TVector operator*(const TVector &O) const { return {X * O.X, Y * O.Y, Z * O.Z}; }
    TVector &operator+=(const TVector &O) { return *this = *this + O; }
    bool operator==(const TVector &O) const { return X == O.X && Y == O.Y && Z == O.Z; }
    T Length() const { return std::sqrt(X * X + Y * Y + Z * Z); }
    T Size() const { return Length(); }
    static TVector CrossProduct(const TVector &A, const TVector &B)
    {
        return {A.Y * B.Z - A.Z * B.Y, A.Z * B.X - A.X * B.Z, A.X * B.Y - A.Y * B.X};
    }
    static T DotProduct(const TVector &A, const TVector &B) { return A.X * B.X + A.Y * B.Y + A.Z * B.Z; }
    static T Dist(const TVector &A, const TVector &B) { return (A - B).Length(); }
    void FindBestAxisVectors(TVector &Axis1, TVector &Axis2) const
    {
        const bool bMostlyZ = std::abs(Z) > std::abs(X) && std::abs(Z) > std::abs(Y);
        TVector First = bMostlyZ ? TVector(1, 0, 0) : TVector(0, 0, 1);
        First = First - *this * DotProduct(First, *this);
        Axis1 = First / First.Length();
        Axis2 = CrossProduct(Axis1, *this);
    }
};
template <typename T> inline const TVector<T> TVector<T>::ZeroVector{T(0), T(0), T(0)};
template <typename T> inline const TVector<T> TVector<T>::OneVector{T(1), T(1), T(1)};
using FVector3f = TVector<float>;
using FVector = TVector<double>;

template <typename T> struct TVector4
{
    T X{}, Y{}, Z{}, W{};
    TVector4() = default;
    TVector4(T SetX, T SetY, T SetZ, T SetW) : X(SetX), Y(SetY), Z(SetZ), W(SetW) {}
    explicit TVector4(const TVector<T> &V, T SetW = T(1)) : X(V.X), Y(V.Y), Z(V.Z), W(SetW) {}
};
using FVector4f = TVector4<float>;

template <typename T> struct TQuat
{
    T X{}, Y{}, Z{}, W{T(1)};
    TQuat() = default;
    TQuat(T SetX, T SetY, T SetZ, T SetW) : X(SetX), Y(SetY), Z(SetZ), W(SetW) {}
    template <typename U> explicit TQuat(const TQuat<U> &O) : X(T(O.X)), Y(T(O.Y)), Z(T(O.Z)), W(T(O.W)) {}
    static const TQuat Identity;
    TVector<T> RotateVector(const TVector<T> &V) const
    {
        const TVector<T> Q(X, Y, Z);
        const TVector<T> C = TVector<T>::CrossProduct(Q, V) * T(2);
        return V + C * W + TVector<T>::CrossProduct(Q, C);
    }
    TQuat operator*(const TQuat &O) const
    {
        return {W * O.X + X * O.W + Y * O.Z - Z * O.Y, W * O.Y - X * O.Z + Y * O.W + Z * O.X,
                W * O.Z + X * O.Y - Y * O.X + Z * O.W, W * O.W - X * O.X - Y * O.Y - Z * O.Z};
    }
    TQuat GetNormalized() const
    {
        const T L = std::sqrt(X * X + Y * Y + Z * Z + W * W);
        return {X / L, Y / L, Z / L, W / L};
    }
};
template <typename T> inline const TQuat<T> TQuat<T>::Identity{};
using FQuat = TQuat<double>;
using FQuat4f = TQuat<float>;

/** For row vectors. */
struct FMatrix
{
    double M[4][4];
    static const FMatrix Identity;
    FVector TransformPosition(const FVector &V) const
    {
        FVector Out;
        double *O[3] = {&Out.X, &Out.Y, &Out.Z};
        for (int32 C = 0; C < 3; C++)
        {
            *O[C] = V.X * M[0][C] + V.Y * M[1][C] + V.Z * M[2][C] + M[3][C];
        }
        return Out;
    }
    double GetMaximumAxisScale() const
    {
        double Out = 0.0;
        for (int32 R = 0; R < 3; R++)
        {
            Out = FMath::Max(Out, FVector(M[R][0], M[R][1], M[R][2]).Length());
        }
        return Out;
    }
};
inline const FMatrix FMatrix::Identity = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}};

class FTransform
{
  public:
    FTransform() = default;
    FTransform(const FQuat &SetRotation, const FVector &SetTranslation, const FVector &SetScale)
        : Rotation(SetRotation), Translation(SetTranslation), Scale(SetScale)
    {
    }
    /** Without shear: rotation and scale of the rows. */
    explicit FTransform(const FMatrix &In)
    {
        double R[3][3];
        double *S[3] = {&Scale.X, &Scale.Y, &Scale.Z};
        for (int32 I = 0; I < 3; I++)
        {
            *S[I] = FVector(In.M[I][0], In.M[I][1], In.M[I][2]).Length();
            for (int32 J = 0; J < 3; J++)
            {
                R[I][J] = *S[I] > 0 ? In.M[I][J] / *S[I] : 0.0;
            }
        }
        Translation = FVector(In.M[3][0], In.M[3][1], In.M[3][2]);
        const double W = std::sqrt(std::max(0.0, 1 + R[0][0] + R[1][1] + R[2][2])) / 2;
        const auto Part = [](double Square, double Sign)
        { return std::copysign(std::sqrt(std::max(0.0, Square)) / 2, Sign); };
        Rotation = FQuat(Part(1 + R[0][0] - R[1][1] - R[2][2], R[1][2] - R[2][1]),
                         Part(1 - R[0][0] + R[1][1] - R[2][2], R[2][0] - R[0][2]),
                         Part(1 - R[0][0] - R[1][1] + R[2][2], R[0][1] - R[1][0]), W);
    }
    static const FTransform Identity;
    void SetRotation(const FQuat &In) { Rotation = In; }
    void SetTranslation(const FVector &In) { Translation = In; }
    void SetScale3D(const FVector &In) { Scale = In; }
    FQuat GetRotation() const { return Rotation; }
    FVector GetTranslation() const { return Translation; }
    FVector GetLocation() const { return Translation; }
    FVector GetScale3D() const { return Scale; }
    FVector TransformPosition(const FVector &V) const
    {
        return Rotation.RotateVector(V * Scale) + Translation;
    }
    /** First this, then the other. */
    FTransform operator*(const FTransform &O) const
    {
        return {O.Rotation * Rotation, O.TransformPosition(Translation), Scale * O.Scale};
    }
    void Blend(const FTransform &A, const FTransform &B, float Alpha)
    {
        const double T = static_cast<double>(Alpha), S = 1.0 - T;
        const double Dot = A.Rotation.X * B.Rotation.X + A.Rotation.Y * B.Rotation.Y +
                           A.Rotation.Z * B.Rotation.Z + A.Rotation.W * B.Rotation.W;
        const double U = Dot < 0 ? -S : S;
        Rotation = FQuat(U * A.Rotation.X + T * B.Rotation.X, U * A.Rotation.Y + T * B.Rotation.Y,
                         U * A.Rotation.Z + T * B.Rotation.Z, U * A.Rotation.W + T * B.Rotation.W)
                       .GetNormalized();
        Translation = A.Translation * S + B.Translation * T;
        Scale = A.Scale * S + B.Scale * T;
    }

  private:
    FQuat Rotation;
    FVector Translation, Scale{1, 1, 1};
};
inline const FTransform FTransform::Identity{};

template <typename T> struct TBox
{
    TVector<T> Min, Max;
    uint8 IsValid = 0;
    TBox() = default;
    explicit TBox(EForceInit) {}
    template <typename U> explicit TBox(const TBox<U> &O) : Min(O.Min), Max(O.Max), IsValid(O.IsValid) {}
    TBox &operator+=(const TVector<T> &V)
    {
        Min = IsValid == 0
                  ? V
                  : TVector<T>(FMath::Min(Min.X, V.X), FMath::Min(Min.Y, V.Y), FMath::Min(Min.Z, V.Z));
        Max = IsValid == 0
                  ? V
                  : TVector<T>(FMath::Max(Max.X, V.X), FMath::Max(Max.Y, V.Y), FMath::Max(Max.Z, V.Z));
        IsValid = 1;
        return *this;
    }
    TBox &operator+=(const TBox &O)
    {
        if (O.IsValid != 0)
        {
            *this += O.Min;
            *this += O.Max;
        }
        return *this;
    }
    bool operator==(const TBox &O) const { return IsValid == O.IsValid && Min == O.Min && Max == O.Max; }
    TVector<T> GetCenter() const { return (Min + Max) * T(0.5); }
    TVector<T> GetExtent() const { return (Max - Min) * T(0.5); }
};
using FBox = TBox<double>;
using FBox3f = TBox<float>;

struct FBoxSphereBounds
{
    FVector Origin, BoxExtent;
    double SphereRadius = 0.0;
    FBoxSphereBounds() = default;
    FBoxSphereBounds(const FVector &SetOrigin, const FVector &SetExtent, double SetRadius)
        : Origin(SetOrigin), BoxExtent(SetExtent), SphereRadius(SetRadius)
    {
    }
    explicit FBoxSphereBounds(const FBox &Box)
        : Origin(Box.GetCenter()), BoxExtent(Box.GetExtent()), SphereRadius(BoxExtent.Length())
    {
    }
    FBoxSphereBounds TransformBy(const FTransform &T) const
    {
        FBox Out(ForceInit);
        for (int32 Corner = 0; Corner < 8; Corner++)
        {
            const FVector Sign((Corner & 1) != 0 ? 1 : -1, (Corner & 2) != 0 ? 1 : -1,
                               (Corner & 4) != 0 ? 1 : -1);
            Out += T.TransformPosition(Origin + BoxExtent * Sign);
        }
        return FBoxSphereBounds(Out);
    }
};

struct FColor
{
    uint8 B = 0, G = 0, R = 0, A = 255;
    FColor() = default;
    FColor(uint8 SetR, uint8 SetG, uint8 SetB, uint8 SetA = 255) : B(SetB), G(SetG), R(SetR), A(SetA) {}
    static const FColor White;
    bool operator==(const FColor &O) const { return B == O.B && G == O.G && R == O.R && A == O.A; }
};
inline const FColor FColor::White{255, 255, 255, 255};
struct FLinearColor
{
    float R, G, B, A;
    FLinearColor(float SetR, float SetG, float SetB, float SetA = 1.0f) : R(SetR), G(SetG), B(SetB), A(SetA)
    {
    }
};

/** Four signed bytes; -127 to 127 stand for -1 to 1. */
struct FPackedNormal
{
    int8 X = 0, Y = 0, Z = 0, W = 0;
    FPackedNormal() = default;
    FPackedNormal(const FVector3f &In) : FPackedNormal(FVector4f(In, 1.0f)) {}
    FPackedNormal(const FVector4f &In) : X(Pack(In.X)), Y(Pack(In.Y)), Z(Pack(In.Z)), W(Pack(In.W)) {}
    FVector3f ToFVector3f() const { return FVector3f(X / 127.0f, Y / 127.0f, Z / 127.0f); }
    bool operator==(const FPackedNormal &O) const { return X == O.X && Y == O.Y && Z == O.Z && W == O.W; }

  private:
    static int8 Pack(float V)
    {
        return static_cast<int8>(std::lround(FMath::Clamp(V, -1.0f, 1.0f) * 127.0f));
    }
};

struct FFrameRate
{
    int32 Numerator = 30, Denominator = 1;
};
