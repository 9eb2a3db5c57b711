#include "MeshreelAxes.h"

namespace
{
/** Row and sign of the file's coordinate that becomes one of Unreal's coordinates. */
struct FRow
{
    int32 Source;
    double Sign;
};

FRow RowOf(bool bZUp, int32 Coordinate)
{
    if (bZUp)
    {
        return {Coordinate, Coordinate == 1 ? -1.0 : 1.0};
    }
    const int32 Swapped[3] = {0, 2, 1};
    return {Swapped[Coordinate], 1.0};
}

FVector3f Normalized(float X, float Y, float Z)
{
    const float Length = FMath::Sqrt(X * X + Y * Y + Z * Z);
    return Length > 1e-20f ? FVector3f(X / Length, Y / Length, Z / Length) : FVector3f(0.0f, 0.0f, 1.0f);
}
} // namespace

float FMeshreelAxes::CentimetresOf(uint32 Unit)
{
    switch (Unit)
    {
    case 2:
        return 1.0f;
    case 3:
        return 0.1f;
    case 4:
        return 2.54f;
    default:
        return 100.0f;
    }
}

FTransform FMeshreelAxes::Transform(const mr_transform &In) const
{
    // The axis of a rotation is mapped as a direction, and its angle changes its sign with the handedness.
    const FVector3f Axis = Direction(In.rotation);
    const FQuat Rotation(-Axis.X, -Axis.Y, -Axis.Z, In.rotation[3]);
    const FVector3f Translation = Point(In.translation);
    const FVector Size = bZUp ? FVector(In.scale[0], In.scale[1], In.scale[2])
                              : FVector(In.scale[0], In.scale[2], In.scale[1]);
    return FTransform(Rotation, FVector(Translation.X, Translation.Y, Translation.Z), Size);
}

mr_transform FMeshreelAxes::ToFile(const FTransform &In) const
{
    const FQuat Rotation = In.GetRotation();
    const FVector Translation = In.GetTranslation() / static_cast<double>(Scale);
    const FVector Size = In.GetScale3D();
    const float Axis[3] = {float(-Rotation.X), float(-Rotation.Y), float(-Rotation.Z)};
    const float Point[3] = {float(Translation.X), float(Translation.Y), float(Translation.Z)};
    // Both maps of axes are their own inverses.
    const FVector3f A = Direction(Axis), T = Direction(Point);
    mr_transform Out{
        {A.X, A.Y, A.Z, float(Rotation.W)}, {T.X, T.Y, T.Z}, {float(Size.X), float(Size.Y), float(Size.Z)}};
    if (!bZUp)
    {
        Swap(Out.scale[1], Out.scale[2]);
    }
    return Out;
}

FMatrix FMeshreelAxes::Matrix(const double *ThreeRowsOfFour) const
{
    FMatrix Out = FMatrix::Identity;
    for (int32 Row = 0; Row < 3; Row++)
    {
        const FRow R = RowOf(bZUp, Row);
        for (int32 Column = 0; Column < 3; Column++)
        {
            const FRow C = RowOf(bZUp, Column);
            Out.M[Column][Row] = R.Sign * C.Sign * ThreeRowsOfFour[4 * R.Source + C.Source];
        }
        Out.M[3][Row] = R.Sign * ThreeRowsOfFour[4 * R.Source + 3] * Scale;
    }
    return Out;
}

FBox FMeshreelAxes::Box(const float *MinMax) const
{
    if (!(MinMax[0] <= MinMax[3] && MinMax[1] <= MinMax[4] && MinMax[2] <= MinMax[5]))
    {
        return FBox(ForceInit);
    }
    const FVector3f A = Point(MinMax), B = Point(MinMax + 3);
    FBox Out(ForceInit);
    Out += FVector(A.X, A.Y, A.Z);
    Out += FVector(B.X, B.Y, B.Z);
    return Out;
}

FMeshreelVertexTransform::FMeshreelVertexTransform(const FMeshreelAxes &Axes, const double *World)
{
    double L[3][3];
    for (int32 Row = 0; Row < 3; Row++)
    {
        for (int32 Column = 0; Column < 3; Column++)
        {
            L[Row][Column] = World[4 * Row + Column];
        }
    }
    double Cofactors[3][3];
    double Squares[3] = {0, 0, 0};
    for (int32 Row = 0; Row < 3; Row++)
    {
        const int32 R1 = (Row + 1) % 3, R2 = (Row + 2) % 3;
        for (int32 Column = 0; Column < 3; Column++)
        {
            const int32 C1 = (Column + 1) % 3, C2 = (Column + 2) % 3;
            Cofactors[Row][Column] = L[R1][C1] * L[R2][C2] - L[R1][C2] * L[R2][C1];
            Squares[Column] += L[Row][Column] * L[Row][Column];
        }
    }
    const double Determinant =
        L[0][0] * Cofactors[0][0] + L[0][1] * Cofactors[0][1] + L[0][2] * Cofactors[0][2];
    // The cofactors of a mirroring node point inwards.
    const double Outwards = Determinant < 0 ? -1.0 : 1.0;
    for (int32 Row = 0; Row < 3; Row++)
    {
        const FRow R = RowOf(Axes.bZUp, Row);
        for (int32 Column = 0; Column < 3; Column++)
        {
            Points[Row][Column] = static_cast<float>(R.Sign * Axes.Scale * L[R.Source][Column]);
            Normals[Row][Column] = static_cast<float>(R.Sign * Outwards * Cofactors[R.Source][Column]);
        }
        Points[Row][3] = static_cast<float>(R.Sign * Axes.Scale * World[4 * R.Source + 3]);
    }
    Sign = Determinant < 0 ? 1.0f : -1.0f;
    Largest = static_cast<float>(FMath::Sqrt(FMath::Max3(Squares[0], Squares[1], Squares[2])));
}

FVector3f FMeshreelVertexTransform::Point(const float *P) const
{
    return FVector3f(Points[0][0] * P[0] + Points[0][1] * P[1] + Points[0][2] * P[2] + Points[0][3],
                     Points[1][0] * P[0] + Points[1][1] * P[1] + Points[1][2] * P[2] + Points[1][3],
                     Points[2][0] * P[0] + Points[2][1] * P[1] + Points[2][2] * P[2] + Points[2][3]);
}

FVector3f FMeshreelVertexTransform::Normal(const float *N) const
{
    return Normalized(Normals[0][0] * N[0] + Normals[0][1] * N[1] + Normals[0][2] * N[2],
                      Normals[1][0] * N[0] + Normals[1][1] * N[1] + Normals[1][2] * N[2],
                      Normals[2][0] * N[0] + Normals[2][1] * N[1] + Normals[2][2] * N[2]);
}

FVector3f FMeshreelVertexTransform::Tangent(const float *T) const
{
    return Normalized(Points[0][0] * T[0] + Points[0][1] * T[1] + Points[0][2] * T[2],
                      Points[1][0] * T[0] + Points[1][1] * T[1] + Points[1][2] * T[2],
                      Points[2][0] * T[0] + Points[2][1] * T[1] + Points[2][2] * T[2]);
}
