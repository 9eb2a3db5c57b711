// From the axes and units of a file to those of Unreal Engine, and back.
//
// Files are right-handed, usually with y up; Unreal is left-handed, with z up, in centimetres. With y up, y
// and z are swapped; with z up, y is mirrored. Both change the handedness of the axes, so that the shape
// itself is not mirrored: seen from outside, triangles stay counter-clockwise, as Unreal wants them, and
// indices are not reordered.
#pragma once

#include "CoreMinimal.h"
#include "MeshreelLibrary.h"

/** The conversion of one file. */
struct MESHREEL_API FMeshreelAxes
{
    /** Centimetres per unit of the file. */
    float Scale = 100.0f;
    /** Whether z is up in the file; otherwise y is. */
    bool bZUp = false;

    /** Centimetres per unit of an `mr_reel_info.unit`; an unknown unit counts as metres. */
    static float CentimetresOf(uint32 Unit);

    FVector3f Direction(const float *Xyz) const
    {
        return bZUp ? FVector3f(Xyz[0], -Xyz[1], Xyz[2]) : FVector3f(Xyz[0], Xyz[2], Xyz[1]);
    }
    FVector3f Point(const float *Xyz) const { return Direction(Xyz) * Scale; }

    /** A transform relative to a parent. */
    FTransform Transform(const mr_transform &In) const;
    /** The inverse of `Transform`. */
    mr_transform ToFile(const FTransform &In) const;
    /** Three rows of four numbers for column vectors, as Unreal's matrix for row vectors. */
    FMatrix Matrix(const double *ThreeRowsOfFour) const;
    /** Min xyz, max xyz; an invalid box if nothing is in it. */
    FBox Box(const float *MinMax) const;
};

/** Converts the vertices of a node's mesh into the space of the component, axes and units included. */
struct MESHREEL_API FMeshreelVertexTransform
{
    /** `World` has three rows of four numbers, from the node to the file's world. */
    FMeshreelVertexTransform(const FMeshreelAxes &Axes, const double *World);

    FVector3f Point(const float *Xyz) const;
    /** A unit vector, orthogonal to surfaces. */
    FVector3f Normal(const float *Xyz) const;
    /** A unit vector along surfaces. */
    FVector3f Tangent(const float *Xyz) const;
    /** The factor for the sign of bitangents: -1, as the axes change their handedness, or 1 for mirroring
     * nodes. */
    float BitangentSign() const { return Sign; }
    /** The largest factor by which lengths grow, without the unit. */
    float LargestScale() const { return Largest; }

  private:
    /** Rows are the three coordinates of Unreal. */
    float Points[3][4];
    float Normals[3][3];
    float Sign = -1.0f;
    float Largest = 1.0f;
};
