#!/usr/bin/env python3
"""Writes the USD files of this folder, and in expected.json what the library sees in them.

Needs the package usd-core. Run in this folder: python3 make.py. The files that it writes are small, and belong to
meshreel like the script.
"""

import json
import math
import os

from pxr import Gf, Sdf, Tf, Usd, UsdGeom, UsdShade, Vt

RATE = 24.0


def new(name, axis="Y", metres=1.0, rate=RATE):
    if os.path.exists(name):
        os.remove(name)
    stage = Usd.Stage.CreateNew(name)
    UsdGeom.SetStageUpAxis(stage, axis)
    UsdGeom.SetStageMetersPerUnit(stage, metres)
    stage.SetTimeCodesPerSecond(rate)
    stage.SetFramesPerSecond(rate)
    return stage


def grid(n, height):
    """A square of n by n faces; the height of a point is a function of x and y."""
    points = []
    for j in range(n + 1):
        for i in range(n + 1):
            x, y = i / n, j / n
            points.append(Gf.Vec3f(x, y, height(x, y)))
    corners = []
    for j in range(n):
        for i in range(n):
            a = j * (n + 1) + i
            corners += [a, a + 1, a + n + 2, a + n + 1]
    return points, [4] * (n * n), corners


def define(stage, path, n=2, height=lambda x, y: 0.0, scheme="none"):
    mesh = UsdGeom.Mesh.Define(stage, path)
    points, counts, corners = grid(n, height)
    mesh.CreatePointsAttr(points)
    mesh.CreateFaceVertexCountsAttr(counts)
    mesh.CreateFaceVertexIndicesAttr(corners)
    mesh.CreateSubdivisionSchemeAttr(scheme)
    return mesh


def cloth(stage):
    """Points that move, and every kind of attribute."""
    root = UsdGeom.Xform.Define(stage, "/World")
    stage.SetDefaultPrim(root.GetPrim())
    mesh = define(stage, "/World/Cloth", 6)
    for frame in range(1, 9):
        points, _, _ = grid(6, lambda x, y: 0.2 * math.sin(x * 3 + frame) * y)
        mesh.GetPointsAttr().Set(points, frame)
    count = 49
    normals = UsdGeom.PrimvarsAPI(mesh).CreatePrimvar("normals", Sdf.ValueTypeNames.Normal3fArray, "vertex")
    for frame in (1, 8):
        normals.Set([Gf.Vec3f(0, math.sin(0.1 * i * frame), math.cos(0.1 * i * frame)) for i in range(count)], frame)
    api = UsdGeom.PrimvarsAPI(mesh)
    st = api.CreatePrimvar("st", Sdf.ValueTypeNames.TexCoord2fArray, "faceVarying")
    st.Set([Gf.Vec2f(0, 0), Gf.Vec2f(1, 0), Gf.Vec2f(1, 1), Gf.Vec2f(0, 1)])
    st.SetIndices(Vt.IntArray([0, 1, 2, 3] * 36))
    other = api.CreatePrimvar("atlas", Sdf.ValueTypeNames.Float2Array, "vertex")
    other.Set([Gf.Vec2f(i / 7, 0.5) for i in range(count)])
    mesh.CreateDisplayColorPrimvar("uniform").Set([Gf.Vec3f(i / 36, 0.5, 1) for i in range(36)])
    api.CreatePrimvar("piece", Sdf.ValueTypeNames.IntArray, "uniform").Set([i // 18 for i in range(36)])
    api.CreatePrimvar("heat", Sdf.ValueTypeNames.FloatArray, "constant").Set([0.25])
    api.CreatePrimvar("weights", Sdf.ValueTypeNames.FloatArray, "vertex").Set([float(i % 5) for i in range(count)])
    api.CreatePrimvar("odd", Sdf.ValueTypeNames.FloatArray, "vertex").Set([1.0, 2.0])
    mesh.CreateVelocitiesAttr([Gf.Vec3f(0, 0, 1)] * count)
    look = UsdShade.Material.Define(stage, "/World/Looks/Linen")
    seam = UsdShade.Material.Define(stage, "/World/Looks/Seam")
    UsdShade.MaterialBindingAPI.Apply(root.GetPrim()).Bind(look)
    subset = UsdGeom.Subset.CreateGeomSubset(mesh, "edge", "face", Vt.IntArray([0, 1, 2, 3, 4, 5]), "materialBind")
    UsdShade.MaterialBindingAPI.Apply(subset.GetPrim()).Bind(seam)


def moves(stage):
    """Transforms of all kinds; z is up."""
    arm = UsdGeom.Xform.Define(stage, "/Arm")
    arm.AddTranslateOp().Set(Gf.Vec3d(1, 2, 3))
    arm.AddTranslateOp(opSuffix="pivot").Set(Gf.Vec3d(0.5, 0, 0))
    turn = arm.AddRotateXYZOp()
    for frame, angles in ((0, (0, 0, 0)), (10, (30, 60, 90)), (24, (10, -40, 200))):
        turn.Set(Gf.Vec3f(*angles), frame)
    arm.AddScaleOp().Set(Gf.Vec3f(1, 2, 0.5))
    arm.AddTranslateOp(opSuffix="pivot", isInverseOp=True)
    define(stage, "/Arm/Hand", 1)
    child = UsdGeom.Xform.Define(stage, "/Arm/Wrist")
    orient = child.AddOrientOp()
    for frame, degrees in ((0, 0), (24, 120)):
        rotation = Gf.Rotation(Gf.Vec3d(1, 1, 0), degrees).GetQuat()
        orient.Set(Gf.Quatf(rotation), frame)
    shift = child.AddTranslateOp()
    for frame in (0, 5, 24):
        shift.Set(Gf.Vec3d(frame / 10, 0, 0), frame)
    define(stage, "/Arm/Wrist/Finger", 1)
    loose = UsdGeom.Xform.Define(stage, "/Arm/Loose")
    loose.SetResetXformStack(True)
    loose.AddTransformOp().Set(Gf.Matrix4d(1, 0, 0, 0, 0, 0, 1, 0, 0, -1, 0, 0, 5, 6, 7, 1))
    define(stage, "/Arm/Loose/Nut", 1)
    spin = define(stage, "/Top", 1)
    spin.AddRotateZOp().Set(90.0)
    hidden = define(stage, "/Arm/Wrist/Ghost", 1)
    hidden.CreateVisibilityAttr()
    hidden.GetVisibilityAttr().Set("inherited", 0)
    hidden.GetVisibilityAttr().Set("invisible", 6)
    hidden.GetVisibilityAttr().Set("inherited", 12)
    guide = define(stage, "/Arm/Guide", 1)
    guide.CreatePurposeAttr("guide")
    off = define(stage, "/Arm/Off", 1)
    off.GetPrim().SetActive(False)
    stage.CreateClassPrim("/Kind")
    stage.OverridePrim("/Nothing")


def changing(stage):
    """Faces that change from frame to frame; the first frame is empty."""
    mesh = UsdGeom.Mesh.Define(stage, "/Blob")
    mesh.CreateSubdivisionSchemeAttr("none")
    mesh.CreateOrientationAttr("leftHanded")
    for attribute in (mesh.CreatePointsAttr(), mesh.CreateFaceVertexCountsAttr(), mesh.CreateFaceVertexIndicesAttr()):
        attribute.Set([], 0)
    for frame in range(1, 6):
        points, counts, corners = grid(frame, lambda x, y: x * y * frame)
        mesh.GetPointsAttr().Set(points, frame)
        mesh.GetFaceVertexCountsAttr().Set(counts, frame)
        mesh.GetFaceVertexIndicesAttr().Set(corners, frame)


def sums(path, times):
    """Per time and mesh: points in the world, their sum and the last one; faces; whether it is shown."""
    stage = Usd.Stage.Open(path)
    turn = Gf.Matrix4d(1)
    if UsdGeom.GetStageUpAxis(stage) == "Z":
        turn = Gf.Matrix4d(1, 0, 0, 0, 0, 0, -1, 0, 0, 1, 0, 0, 0, 0, 0, 1)
    out = []
    for time in times:
        meshes = {}
        for prim in stage.Traverse(Usd.TraverseInstanceProxies()):
            if not prim.IsA(UsdGeom.Mesh) or UsdGeom.Imageable(prim).ComputePurpose() in ("guide", "proxy"):
                continue
            mesh = UsdGeom.Mesh(prim)
            world = mesh.ComputeLocalToWorldTransform(time) * turn
            points = [world.Transform(Gf.Vec3d(p)) for p in mesh.GetPointsAttr().Get(time) or []]
            total = sum(points, Gf.Vec3d(0))
            meshes[str(prim.GetPath())] = {
                "points": len(points),
                "sum": list(total),
                "last": list(points[-1]) if points else [0, 0, 0],
                "corners": len(mesh.GetFaceVertexIndicesAttr().Get(time) or []),
                "shown": mesh.ComputeVisibility(time) != "invisible",
            }
        out.append({"time": time / stage.GetTimeCodesPerSecond(), "meshes": meshes})
    return out


def main():
    expected = {}

    def write(name, fill, times, **options):
        stage = new(name, **options)
        fill(stage)
        stage.Save()
        expected[name] = sums(name, times)

    write("cloth.usdc", cloth, [1, 2.5, 4, 8])
    write("moves.usdc", moves, [0, 3.5, 5, 10, 17, 24], axis="Z", metres=0.01)
    write("changing.usdc", changing, [0, 1, 3, 5], rate=30)
    with open("expected.json", "w") as out:
        json.dump(expected, out, indent=1)
        out.write("\n")


if __name__ == "__main__":
    main()
