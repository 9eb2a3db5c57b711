#!/usr/bin/env python3
"""Writes the USD files of this folder, and in expected.json what the library sees in them.

Needs the package usd-core. Run in this folder: python3 make.py. The files that it writes are small, and belong to
meshreel like the script.
"""

import json
import math
import os

import subprocess
import sys

from pxr import Gf, Sdf, Ts, Usd, UsdGeom, UsdShade, UsdSkel, UsdUtils, Vt

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
    api.CreatePrimvar("table", Sdf.ValueTypeNames.FloatArray, "vertex").Set([i % 3 / 10 for i in range(count)])
    api.CreatePrimvar("thin", Sdf.ValueTypeNames.HalfArray, "vertex").Set([float(i % 4 - 1) for i in range(count)])
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


def post(stage):
    """A prop with variants, in a file of its own."""
    root = UsdGeom.Xform.Define(stage, "/Post")
    stage.SetDefaultPrim(root.GetPrim())
    sets = root.GetPrim().GetVariantSets().AddVariantSet("size")
    for name, height in (("small", 1.0), ("large", 3.0)):
        sets.AddVariant(name)
        sets.SetVariantSelection(name)
        with sets.GetVariantEditContext():
            mesh = define(stage, "/Post/Board", 2, lambda x, y: height * x)
    sets.SetVariantSelection("small")
    look = UsdShade.Material.Define(stage, "/Post/Looks/Wood")
    UsdShade.MaterialBindingAPI.Apply(root.GetPrim()).Bind(look)


def swing(stage):
    """A prop that moves, at 12 time codes per second."""
    root = UsdGeom.Xform.Define(stage, "/Swing")
    turn = root.AddRotateXOp()
    for code in (0, 6, 12):
        turn.Set(10.0 * code, code)
    define(stage, "/Swing/Seat", 1)


def figure(stage):
    """A skeleton, a skinned mesh with two blend shapes, and a rigid one."""
    root = UsdSkel.Root.Define(stage, "/Figure")
    UsdGeom.Xformable(root).AddTranslateOp().Set(Gf.Vec3d(2, 0, 0))
    UsdGeom.Xform.Define(stage, "/Figure/Bones")
    UsdGeom.Xform.Define(stage, "/Figure/Body")
    skeleton = UsdSkel.Skeleton.Define(stage, "/Figure/Bones/Rig")
    UsdGeom.Xformable(skeleton).AddRotateYOp().Set(20.0)
    joints = ["hip", "hip/knee", "hip/knee/foot"]
    skeleton.CreateJointsAttr(joints)
    skeleton.CreateBindTransformsAttr([Gf.Matrix4d().SetTranslate(Gf.Vec3d(0, 0.5 * i, 0)) for i in range(3)])
    rest = [Gf.Matrix4d().SetTranslate(Gf.Vec3d(0, 0.5 if i else 0, 0)) for i in range(3)]
    skeleton.CreateRestTransformsAttr(rest)
    walk = UsdSkel.Animation.Define(stage, "/Figure/Walk")
    walk.CreateJointsAttr(["hip/knee", "hip"])
    walk.CreateBlendShapesAttr(["wide", "bent"])
    for code in range(0, 25, 4):
        walk.CreateTranslationsAttr().Set([Gf.Vec3f(0, 0.5, 0), Gf.Vec3f(code / 24, 0, 0)], code)
        turns = [Gf.Rotation(Gf.Vec3d(0, 0, 1), degrees * code).GetQuat() for degrees in (3.0, -1.0)]
        walk.CreateRotationsAttr().Set([Gf.Quatf(turn) for turn in turns], code)
        walk.CreateScalesAttr().Set([Gf.Vec3h(1, 1, 1), Gf.Vec3h(1, 1 + code / 48, 1)], code)
        walk.CreateBlendShapeWeightsAttr().Set([code / 24, 0.5], code)
    UsdSkel.BindingAPI.Apply(skeleton.GetPrim()).CreateAnimationSourceRel().SetTargets([walk.GetPath()])
    mesh = define(stage, "/Figure/Body/Skin", 6)
    UsdGeom.Xformable(mesh).AddScaleOp().Set(Gf.Vec3f(2, 2, 2))
    binding = UsdSkel.BindingAPI.Apply(mesh.GetPrim())
    binding.CreateSkeletonRel().SetTargets([skeleton.GetPath()])
    places = [i // 7 / 6 for i in range(49)]
    binding.CreateJointIndicesPrimvar(False, 2).Set([j for y in places for j in ((0, 1) if y < 0.5 else (1, 2))])
    binding.CreateJointWeightsPrimvar(False, 2).Set([w for y in places for w in (1 - y % 0.5, y % 0.5)])
    binding.CreateGeomBindTransformAttr(Gf.Matrix4d().SetTranslate(Gf.Vec3d(-0.5, 0, 0)))
    wide = UsdSkel.BlendShape.Define(stage, "/Figure/Body/Skin/Wide")
    wide.CreateOffsetsAttr([Gf.Vec3f(0, 0, 0.1 * i) for i in range(49)])
    bent = UsdSkel.BlendShape.Define(stage, "/Figure/Body/Skin/Bent")
    bent.CreateOffsetsAttr([Gf.Vec3f(0.5, 0, 0), Gf.Vec3f(0, 0.5, 0)])
    bent.CreatePointIndicesAttr([3, 48])
    binding.CreateBlendShapesAttr(["wide", "bent"])
    binding.CreateBlendShapeTargetsRel().SetTargets([wide.GetPath(), bent.GetPath()])
    shoe = define(stage, "/Figure/Body/Shoe", 1)
    binding = UsdSkel.BindingAPI.Apply(shoe.GetPrim())
    binding.CreateSkeletonRel().SetTargets([skeleton.GetPath()])
    binding.CreateJointsAttr(["hip/knee/foot"])
    binding.CreateJointIndicesPrimvar(True, 1).Set([0])
    binding.CreateJointWeightsPrimvar(True, 1).Set([1.0])


def tube(stage):
    """A skin whose skeleton and mesh are in one space: a rig that any clip of the skeleton moves."""
    UsdSkel.Root.Define(stage, "/Tube")
    skeleton = UsdSkel.Skeleton.Define(stage, "/Tube/Rig")
    skeleton.CreateJointsAttr(["root", "root/tip"])
    skeleton.CreateBindTransformsAttr([Gf.Matrix4d(1), Gf.Matrix4d().SetTranslate(Gf.Vec3d(0, 1, 0))])
    skeleton.CreateRestTransformsAttr([Gf.Matrix4d(1), Gf.Matrix4d().SetTranslate(Gf.Vec3d(0, 1, 0))])
    bend = UsdSkel.Animation.Define(stage, "/Tube/Rig/Bend")
    bend.CreateJointsAttr(["root", "root/tip"])
    for code in range(25):
        bend.CreateTranslationsAttr().Set([Gf.Vec3f(code / 24, 0, 0), Gf.Vec3f(0, 1, 0)], code)
        turn = Gf.Rotation(Gf.Vec3d(1, 0, 0), 3.0 * code).GetQuat()
        bend.CreateRotationsAttr().Set([Gf.Quatf(1), Gf.Quatf(turn)], code)
        bend.CreateScalesAttr().Set([Gf.Vec3h(1)] * 2, code)
    UsdSkel.BindingAPI.Apply(skeleton.GetPrim()).CreateAnimationSourceRel().SetTargets([bend.GetPath()])
    mesh = UsdGeom.Mesh.Define(stage, "/Tube/Skin")
    mesh.CreateSubdivisionSchemeAttr("none")
    ring, rings = 8, 9
    points, counts, corners, joints, weights = [], [], [], [], []
    for j in range(rings):
        y = 2 * j / (rings - 1)
        for i in range(ring):
            angle = 2 * math.pi * i / ring
            points.append(Gf.Vec3f(0.2 * math.cos(angle), y, 0.2 * math.sin(angle)))
            share = min(max(y - 0.5, 0.0), 1.0)
            joints += [0, 1]
            weights += [1 - share, share]
            if j:
                a, b = (j - 1) * ring + i, (j - 1) * ring + (i + 1) % ring
                counts.append(4)
                corners += [a, a + ring, b + ring, b]
    mesh.CreatePointsAttr(points)
    mesh.CreateFaceVertexCountsAttr(counts)
    mesh.CreateFaceVertexIndicesAttr(corners)
    binding = UsdSkel.BindingAPI.Apply(mesh.GetPrim())
    binding.CreateSkeletonRel().SetTargets([skeleton.GetPath()])
    binding.CreateJointIndicesPrimvar(False, 2).Set(joints)
    binding.CreateJointWeightsPrimvar(False, 2).Set(weights)


def mask(stage):
    """Blend shapes with shapes in between, normals that joints and shapes move, and a mesh that shapes alone move."""
    UsdSkel.Root.Define(stage, "/Mask")
    skeleton = UsdSkel.Skeleton.Define(stage, "/Mask/Rig")
    skeleton.CreateJointsAttr(["jaw", "jaw/chin"])
    skeleton.CreateBindTransformsAttr([Gf.Matrix4d(1), Gf.Matrix4d().SetTranslate(Gf.Vec3d(0, 0.5, 0))])
    skeleton.CreateRestTransformsAttr([Gf.Matrix4d(1), Gf.Matrix4d().SetTranslate(Gf.Vec3d(0, 0.5, 0))])
    talk = UsdSkel.Animation.Define(stage, "/Mask/Rig/Talk")
    talk.CreateJointsAttr(["jaw", "jaw/chin"])
    talk.CreateBlendShapesAttr(["smile", "frown"])
    for code in range(0, 25, 2):
        talk.CreateTranslationsAttr().Set([Gf.Vec3f(0), Gf.Vec3f(0, 0.5, code / 48)], code)
        turn = Gf.Rotation(Gf.Vec3d(1, 0, 0), 4.0 * code).GetQuat()
        talk.CreateRotationsAttr().Set([Gf.Quatf(1), Gf.Quatf(turn)], code)
        talk.CreateScalesAttr().Set([Gf.Vec3h(1, 1, 1 + code / 16), Gf.Vec3h(1, 2, 1)], code)
        talk.CreateBlendShapeWeightsAttr().Set([code / 8 - 1, 1 - code / 12], code)
    UsdSkel.BindingAPI.Apply(skeleton.GetPrim()).CreateAnimationSourceRel().SetTargets([talk.GetPath()])

    def shape(path, numbers, between):
        own = UsdSkel.BlendShape.Define(stage, path)
        count = len(numbers) or 16
        own.CreateOffsetsAttr([Gf.Vec3f(0, 0, 0.1 * i) for i in range(count)])
        own.CreateNormalOffsetsAttr([Gf.Vec3f(0.05 * i, 0, 0) for i in range(count)])
        if numbers:
            own.CreatePointIndicesAttr(numbers)
        for name, weight in between:
            inner = own.CreateInbetween(name)
            inner.SetWeight(weight)
            inner.SetOffsets([Gf.Vec3f(0, 0.3 * weight * i, 0) for i in range(count)])
            inner.CreateNormalOffsetsAttr([Gf.Vec3f(0, 0.1 * i, weight) for i in range(count)])
        return own.GetPath()

    for name, skinned in (("Skin", True), ("Alone", False)):
        mesh = define(stage, f"/Mask/{name}", 3)
        normals = [Gf.Vec3f(0.1 * i, 0.2, 1).GetNormalized() for i in range(16)]
        mesh.CreateNormalsAttr(normals)
        mesh.SetNormalsInterpolation("vertex")
        binding = UsdSkel.BindingAPI.Apply(mesh.GetPrim())
        binding.CreateSkeletonRel().SetTargets([skeleton.GetPath()])
        if skinned:
            binding.CreateJointIndicesPrimvar(False, 1).Set([i // 8 for i in range(16)])
            binding.CreateJointWeightsPrimvar(False, 1).Set([1.0] * 16)
        smile = shape(f"/Mask/{name}/Smile", [], [("half", 0.5), ("back", -0.5), ("more", 1.5)])
        frown = shape(f"/Mask/{name}/Frown", [2, 9], [("third", 1 / 3)])
        binding.CreateBlendShapesAttr(["smile", "frown"])
        binding.CreateBlendShapeTargetsRel().SetTargets([smile, frown])


def tint(stage):
    """Primvars that prims leave to all below: hidden by others, changing, with indices, through instances."""

    def primvar(path, name, kind, value, interpolation="constant", indices=None):
        own = UsdGeom.PrimvarsAPI(stage.GetPrimAtPath(path)).CreatePrimvar(name, kind, interpolation)
        own.Set(value)
        if indices:
            own.SetIndices(Vt.IntArray(indices))
        return own

    kinds = Sdf.ValueTypeNames
    for path in ("/Tint", "/Tint/Group"):
        UsdGeom.Xform.Define(stage, path)
    stage.DefinePrim("/Tint/Group/Plain")
    for path in ("/Tint/High", "/Tint/Group/Low", "/Tint/Group/Own", "/Tint/Group/Plain/Deep"):
        define(stage, path, 1)
    primvar("/Tint", "displayColor", kinds.Color3fArray, [Gf.Vec3f(1, 0, 0)])
    primvar("/Tint", "weight", kinds.Float, 0.5)
    primvar("/Tint", "piece", kinds.IntArray, [7])
    heat = primvar("/Tint", "heat", kinds.FloatArray, [0.0])
    for code in (0, 10):
        heat.Set([1.0 + code], code)
    primvar("/Tint", "named", kinds.StringArray, ["red", "green"], indices=[1])
    primvar("/Tint/Group", "displayColor", kinds.Color3fArray, [Gf.Vec3f(0, 1, 0), Gf.Vec3f(0, 0, 1)], indices=[1])
    # Of this there is nothing to inherit, and it hides the one above.
    primvar("/Tint/Group", "weight", kinds.FloatArray, [1.0, 2.0], "vertex")
    primvar("/Tint/Group/Own", "displayColor", kinds.Color3fArray, [Gf.Vec3f(0.1 * i) for i in range(4)], "vertex")
    primvar("/Tint/Group/Own", "piece", kinds.IntArray, [9])
    kind = stage.CreateClassPrim("/_Kind")
    define(stage, "/_Kind/Part", 1)
    for number in range(3):
        path = f"/Copies{number}"
        UsdGeom.Xform.Define(stage, path)
        primvar(path, "piece", kinds.IntArray, [number // 2])
        prim = stage.DefinePrim(f"{path}/Copy", "Xform")
        prim.GetInherits().AddInherit("/_Kind")
        prim.SetInstanceable(True)


def eased(stage):
    """Splines: curves of both kinds, steps, lines, jumps, tangents that would go back in time, and how they go on."""
    stage.SetStartTimeCode(-6)
    stage.SetEndTimeCode(40)

    def spline(attribute, knots, kind=Ts.CurveTypeBezier, pre=Ts.ExtrapHeld, post=Ts.ExtrapHeld, slope=0.0):
        name = {"float": "float", "double": "double", "half": "half"}[str(attribute.GetTypeName())]
        own = Ts.Spline(name)
        own.SetCurveType(kind)
        for time, value, before, interpolation, (width, angle) in knots:
            knot = Ts.Knot(name)
            knot.SetTime(time)
            knot.SetValue(value)
            if before is not None:
                knot.SetPreValue(before)
            knot.SetNextInterpolation(interpolation)
            if kind == Ts.CurveTypeBezier:
                knot.SetPreTanWidth(width)
                knot.SetPostTanWidth(width)
            knot.SetPreTanSlope(angle)
            knot.SetPostTanSlope(-angle)
            own.SetKnot(knot)
        for mode, put in ((pre, own.SetPreExtrapolation), (post, own.SetPostExtrapolation)):
            how = Ts.Extrapolation(mode)
            if mode == Ts.ExtrapSloped:
                how.slope = slope
            put(how)
        attribute.SetSpline(own)

    curve, line, held = Ts.InterpCurve, Ts.InterpLinear, Ts.InterpHeld
    wave = [(0, 10, None, curve, (2, 3)), (6, 40, None, line, (1, 0)), (12, -20, None, held, (1, 1)), (18, 5, -30, curve, (4, 8)), (25, 90, None, curve, (1, 2))]
    back = [(0, 0, None, curve, (30, 2)), (10, 50, None, curve, (8, -4)), (20, 0, None, curve, (0, 0))]
    modes = [Ts.ExtrapHeld, Ts.ExtrapLinear, Ts.ExtrapSloped, Ts.ExtrapLoopRepeat, Ts.ExtrapLoopReset, Ts.ExtrapLoopOscillate]
    for number, mode in enumerate(modes):
        top = UsdGeom.Xform.Define(stage, f"/Way{number}")
        spline(top.AddRotateXOp().GetAttr(), wave, pre=mode, post=mode, slope=1.5)
        inner = UsdGeom.Xform.Define(stage, f"/Way{number}/Inner")
        spline(inner.AddXformOp(UsdGeom.XformOp.TypeTranslateY).GetAttr(), back, pre=mode, post=mode, slope=-0.5)
        part = define(stage, f"/Way{number}/Inner/Part", 1)
        spline(part.AddRotateZOp().GetAttr(), back, Ts.CurveTypeHermite, mode, mode)
    camera = UsdGeom.Camera.Define(stage, "/View")
    spline(camera.CreateFocalLengthAttr(), wave)


def below(stage):
    """What the set lies over."""
    UsdGeom.Xform.Define(stage, "/Set").AddTranslateOp().Set(Gf.Vec3d(0, 10, 0))
    define(stage, "/Set/Floor", 3)


def whole(stage):
    """Every arc: sublayer, reference, payload, inherit, variant, instances; and a point instancer."""
    stage.GetRootLayer().subLayerPaths.append("./parts/below.usdc")
    root = UsdGeom.Xform.Define(stage, "/Set")
    stage.SetDefaultPrim(root.GetPrim())
    kind = stage.CreateClassPrim("/_Tall")
    UsdGeom.Xform(kind).AddScaleOp().Set(Gf.Vec3f(1, 2, 1))
    for number in range(3):
        prim = stage.DefinePrim(f"/Set/Post{number}", "Xform")
        prim.GetReferences().AddReference("./parts/post.usda")
        prim.SetInstanceable(number > 0)
        UsdGeom.Xformable(prim).AddTranslateOp().Set(Gf.Vec3d(number, 0, 0))
    stage.GetPrimAtPath("/Set/Post0").GetVariantSet("size").SetVariantSelection("large")
    tall = stage.DefinePrim("/Set/Tall", "Xform")
    tall.GetInherits().AddInherit("/_Tall")
    define(stage, "/Set/Tall/Board", 1)
    swing = stage.DefinePrim("/Set/Swing", "Xform")
    swing.GetPayloads().AddPayload(Sdf.Payload("./parts/swing.usdc", "/Swing", Sdf.LayerOffset(24, 2)))
    instancer = UsdGeom.PointInstancer.Define(stage, "/Set/Crowd")
    low = define(stage, "/Set/Crowd/Kinds/Low", 1)
    low.AddTranslateOp().Set(Gf.Vec3d(0, 0.5, 0))
    high = UsdGeom.Xform.Define(stage, "/Set/Crowd/Kinds/High")
    high.AddScaleOp().Set(Gf.Vec3f(1, 4, 1))
    define(stage, "/Set/Crowd/Kinds/High/Part", 1)
    instancer.CreatePrototypesRel().SetTargets([low.GetPath(), high.GetPath()])
    instancer.CreateProtoIndicesAttr([0, 1, 0, 1, 0])
    instancer.CreateInvisibleIdsAttr([4])
    positions = instancer.CreatePositionsAttr()
    for code in (0, 24):
        positions.Set([Gf.Vec3f(i, code / 24 * i, 0) for i in range(5)], code)
    turns = [Gf.Rotation(Gf.Vec3d(0, 1, 0), 30.0 * i).GetQuat() for i in range(5)]
    instancer.CreateOrientationsAttr([Gf.Quath(turn) for turn in turns])
    instancer.CreateScalesAttr([Gf.Vec3f(1 + i, 1, 1) for i in range(5)])
    bad = stage.DefinePrim("/Set/Bad", "Xform")
    bad.GetReferences().AddReference("../outside.usda")
    stage.DefinePrim("/Set/Lost", "Xform").GetReferences().AddReference("./parts/none.usda")


def wave(path, frames, amount, forms):
    """A clip of a cape: points at its own times; `forms`: whether it says its faces too."""
    stage = new(path)
    mesh = UsdGeom.Mesh.Define(stage, "/Take/Cape")
    for frame in frames:
        points, counts, corners = grid(3, lambda x, y: amount * math.sin(3 * x + frame))
        mesh.GetPointsAttr().Set(points, frame)
        if forms:
            mesh.GetFaceVertexCountsAttr().Set(counts, frame)
            mesh.GetFaceVertexIndicesAttr().Set(corners, frame)
    pole = UsdGeom.Xform.Define(stage, "/Take/Pole")
    turn = pole.AddOrientOp()
    for frame in frames[:: len(frames) - 1]:
        rotation = Gf.Rotation(Gf.Vec3d(0, 1, 0), 20.0 * frame).GetQuat()
        turn.Set(Gf.Quatf(rotation), frame)
    if amount > 0.3:
        pole.AddTranslateOp().Set(Gf.Vec3d(frames[0], 0, 0), frames[0])
    stage.Save()


def clips(stage):
    """Value clips: jumps, loops, another speed; a template; values that clips do not have; what is stronger than clips."""
    wave("clips/walk.usdc", [0, 2, 4, 6, 8], 0.2, False)
    wave("clips/run.usdc", [1, 2, 3, 5], 0.5, False)
    for frame in (1, 2, 4):
        wave(f"clips/part.{frame:03}.usda", [frame, frame + 0.5], 0.1 * frame, True)
    manifest = new("clips/manifest.usda")
    mesh = UsdGeom.Mesh.Define(manifest, "/Take/Cape")
    mesh.CreatePointsAttr()
    pole = UsdGeom.Xform.Define(manifest, "/Take/Pole")
    pole.AddOrientOp()
    pole.AddTranslateOp().Set(Gf.Vec3d(0, 2, 0))
    manifest.Save()
    model = new("clips/model.usda")
    root = UsdGeom.Xform.Define(model, "/Model")
    model.SetDefaultPrim(root.GetPrim())
    cape = define(model, "/Model/Cape", 3)
    cape.GetPointsAttr().Set(grid(3, lambda x, y: 9.0)[0], 0)
    post = UsdGeom.Xform.Define(model, "/Model/Pole")
    post.AddTranslateOp().Set(Gf.Vec3d(7, 7, 7))
    post.AddOrientOp().Set(Gf.Quatf(1))
    define(model, "/Model/Pole/Knob", 1)
    model.Save()

    def take(path, name="default", offset=Sdf.LayerOffset()):
        prim = stage.DefinePrim(path, "Xform")
        prim.GetReferences().AddReference("./clips/model.usda", offset)
        api = Usd.ClipsAPI(prim)
        api.SetClipPrimPath("/Take", name)
        return api

    def files(api, active, times=None, manifest="./clips/manifest.usda", name="default"):
        api.SetClipAssetPaths([Sdf.AssetPath("./clips/walk.usdc"), Sdf.AssetPath("./clips/run.usdc")], name)
        api.SetClipActive([Gf.Vec2d(*pair) for pair in active], name)
        if times:
            api.SetClipTimes([Gf.Vec2d(*pair) for pair in times], name)
        if manifest:
            api.SetClipManifestAssetPath(manifest, name)

    files(take("/Plain"), [(0, 0), (10, 1)])
    files(take("/Loop"), [(0, 0), (8, 0), (16, 1)], [(0, 0), (8, 8), (8, 0), (16, 8), (16, 1), (24, 5)])
    files(take("/Slow"), [(0, 1), (12, 0)], [(0, 1), (12, 5), (24, -1)], manifest=None)
    gap = take("/Gap")
    files(gap, [(0, 1), (6, 0), (14, 1)], manifest=None)
    gap.SetInterpolateMissingClipValues(True)
    parts = take("/Parts")
    parts.SetClipTemplateAssetPath("./clips/part.###.usda")
    parts.SetClipTemplateStride(1)
    parts.SetClipTemplateStartTime(1)
    parts.SetClipTemplateEndTime(5)
    early = take("/Early")
    early.SetClipTemplateAssetPath("./clips/part.###.usda")
    early.SetClipTemplateStride(1)
    early.SetClipTemplateStartTime(1)
    early.SetClipTemplateEndTime(5)
    early.SetClipTemplateActiveOffset(-0.25)
    over = take("/Over")
    files(over, [(0, 0)])
    own = UsdGeom.Mesh(stage.OverridePrim("/Over/Cape"))
    own.GetPointsAttr().Set(grid(3, lambda x, y: 0.5)[0])
    two = take("/Two", "b")
    files(two, [(0, 0)], name="b")
    two.SetClipPrimPath("/Take", "a")
    files(two, [(0, 1)], name="a")
    stage.GetPrimAtPath("/Two").SetMetadata("clipSets", Sdf.StringListOp.Create(prependedItems=["b"]))
    lost = take("/Lost")
    lost.SetClipAssetPaths([Sdf.AssetPath("./clips/none.usdc"), Sdf.AssetPath("../outside.usdc")])
    lost.SetClipActive([Gf.Vec2d(0, 0), Gf.Vec2d(12, 1)])
    lost.SetClipManifestAssetPath("./clips/manifest.usda")
    below = new("clips/shown.usda", rate=48)
    prim = below.DefinePrim("/Shown", "Xform")
    below.SetDefaultPrim(prim)
    prim.GetReferences().AddReference("./model.usda")
    api = Usd.ClipsAPI(prim)
    api.SetClipPrimPath("/Take")
    api.SetClipAssetPaths([Sdf.AssetPath("./walk.usdc")])
    api.SetClipActive([Gf.Vec2d(0, 0)])
    api.SetClipTimes([Gf.Vec2d(0, 0), Gf.Vec2d(16, 8)])
    below.Save()
    for number in range(2):
        prim = stage.DefinePrim(f"/Shown{number}", "Xform")
        prim.GetReferences().AddReference("./clips/shown.usda", layerOffset=Sdf.LayerOffset(2 * number, 1 + number))


def seen(mesh, world, time):
    points = [world.Transform(Gf.Vec3d(p)) for p in mesh.GetPointsAttr().Get(time) or []]
    return {
        "points": len(points),
        "sum": [round(v, 6) for v in sum(points, Gf.Vec3d(0))],
        "last": [round(v, 6) for v in (points[-1] if points else Gf.Vec3d(0))],
        "corners": len(mesh.GetFaceVertexIndicesAttr().Get(time) or []),
        "shown": mesh.ComputeVisibility(time) != "invisible",
    } | normals_of(mesh, time)


def normals_of(mesh, time):
    """The normals of points, where the mesh has some."""
    normals = mesh.GetNormalsAttr().Get(time)
    return {"normals": [round(v, 5) for n in normals for v in n.GetNormalized()]} if normals else {}


def primvars(path, times):
    """By mesh all primvars with those that it inherits: interpolation, and values at the times."""
    stage = Usd.Stage.Open(path)
    out = {}
    for prim in stage.Traverse(Usd.TraverseInstanceProxies()):
        if prim.IsA(UsdGeom.Mesh):
            own = UsdGeom.PrimvarsAPI(prim).FindPrimvarsWithInheritance()
            value = lambda one, time: [str(v) if isinstance(v, str) else (list(v) if hasattr(v, "__len__") else v) for v in listed(one.ComputeFlattened(time))]
            out[str(prim.GetPath())] = {
                one.GetPrimvarName(): [one.GetInterpolation(), [value(one, time) for time in times]] for one in own if one.HasAuthoredValue()
            }
    return out


def listed(value):
    return list(value) if hasattr(value, "__len__") and not isinstance(value, str) else [value]


def instances(instancer, time):
    """Meshes of all instances, by the number of the instance and the path below the prototype's parent."""
    stage = instancer.GetPrim().GetStage()
    kinds = instancer.GetProtoIndicesAttr().Get(time)
    prototypes = instancer.GetPrototypesRel().GetTargets()
    matrices = instancer.ComputeInstanceTransformsAtTime(
        time, time, UsdGeom.PointInstancer.ExcludeProtoXform, UsdGeom.PointInstancer.IgnoreMask
    )
    shown = instancer.ComputeMaskAtTime(time) or [True] * len(kinds)
    own = UsdGeom.Xformable(instancer).ComputeLocalToWorldTransform(time)
    meshes = {}
    for number, kind in enumerate(kinds):
        if not shown[number]:
            continue
        root = stage.GetPrimAtPath(prototypes[kind])
        above = UsdGeom.Xformable(root).ComputeParentToWorldTransform(time).GetInverse()
        for prim in Usd.PrimRange(root):
            if prim.IsA(UsdGeom.Mesh):
                mesh = UsdGeom.Mesh(prim)
                world = mesh.ComputeLocalToWorldTransform(time) * above * matrices[number] * own
                name = str(prim.GetPath())[len(str(root.GetParent().GetPath())) :]
                meshes[f"{instancer.GetPath()}/{number}{name}"] = seen(mesh, world, time)
    return meshes


def sums(path, times):
    """Per time and mesh: points in the world, their sum and the last one; faces; whether it is shown."""
    stage = Usd.Stage.Open(path)
    if any(prim.IsA(UsdSkel.Root) for prim in stage.Traverse()):
        # Skinned points instead of skins, in memory.
        stage = Usd.Stage.Open(stage.Flatten())
        for prim in stage.Traverse():
            if prim.IsA(UsdSkel.Root):
                assert UsdSkel.BakeSkinning(UsdSkel.Root(prim), Gf.Interval(times[0], times[-1]))
    turn = Gf.Matrix4d(1)
    if UsdGeom.GetStageUpAxis(stage) == "Z":
        turn = Gf.Matrix4d(1, 0, 0, 0, 0, 0, -1, 0, 0, 1, 0, 0, 0, 0, 0, 1)
    out = []
    for time in times:
        meshes = {}
        for prim in stage.Traverse(Usd.TraverseInstanceProxies()):
            if prim.IsA(UsdGeom.PointInstancer):
                meshes.update(instances(UsdGeom.PointInstancer(prim), time))
            above = prim
            while above and not above.IsA(UsdGeom.PointInstancer):
                above = above.GetParent()
            if above:
                continue
            if not prim.IsA(UsdGeom.Mesh) or UsdGeom.Imageable(prim).ComputePurpose() in ("guide", "proxy"):
                continue
            mesh = UsdGeom.Mesh(prim)
            world = mesh.ComputeLocalToWorldTransform(time) * turn
            meshes[str(prim.GetPath())] = seen(mesh, world, time)
        out.append({"time": time / stage.GetTimeCodesPerSecond(), "meshes": meshes})
    return out


def crowd(root, time, above, out):
    """All meshes that are seen below a prim, or are it, and of instances there: their points in the world."""
    prims = iter(Usd.PrimRange(root, Usd.TraverseInstanceProxies(Usd.PrimAllPrimsPredicate)))
    parent = UsdGeom.Xformable(root).ComputeParentToWorldTransform(time).GetInverse()
    for prim in prims:
        if not root.IsPseudoRoot() and UsdGeom.Imageable(prim).GetVisibilityAttr().Get(time) == "invisible":
            prims.PruneChildren()
            continue
        world = UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(time) * parent * above
        if prim.IsA(UsdGeom.PointInstancer):
            prims.PruneChildren()
            instancer = UsdGeom.PointInstancer(prim)
            matrices = instancer.ComputeInstanceTransformsAtTime(
                time, time, UsdGeom.PointInstancer.ExcludeProtoXform, UsdGeom.PointInstancer.ApplyMask
            )
            kinds = instancer.GetProtoIndicesAttr().Get(time) or []
            mask = instancer.ComputeMaskAtTime(time)
            kinds = [kind for number, kind in enumerate(kinds) if not mask or mask[number]]
            for kind, matrix in zip(kinds, matrices):
                path = instancer.GetPrototypesRel().GetTargets()[kind]
                crowd(root.GetStage().GetPrimAtPath(path), time, matrix * world, out)
        elif prim.IsA(UsdGeom.Mesh):
            points = [world.Transform(p) for p in UsdGeom.Mesh(prim).GetPointsAttr().Get(time)]
            out.append([[round(v, 5) for v in p] for p in points])


def visible(name, codes):
    """What is seen of a file that was written by hand at several times; and the file again in the binary form."""
    Sdf.Layer.FindOrOpen(name).Export(os.path.splitext(name)[0] + ".usdc")
    stage = Usd.Stage.Open(Usd.Stage.Open(name).Flatten())
    while instances := [prim for prim in stage.Traverse() if prim.IsInstance()]:
        for prim in instances:
            prim.SetInstanceable(False)
    for prim in stage.Traverse():
        if prim.IsA(UsdSkel.Root):
            assert UsdSkel.BakeSkinning(UsdSkel.Root(prim), Gf.Interval(codes[0], codes[-1]))
    expected = []
    for code in codes:
        seen = []
        for prim in stage.GetPseudoRoot().GetChildren():
            if prim.IsDefined() and not prim.IsAbstract():
                crowd(prim, code, Gf.Matrix4d(1), seen)
        expected.append({"time": code / stage.GetTimeCodesPerSecond(), "meshes": seen})
    return expected


def by_hand():
    """Of crowds, times between samples too; skins are baked at samples."""
    files = {"crowds.usda": (1, 2, 3, 4, 5, 6), "skins.usda": (1, 5)}
    with open("visible.json", "w") as out:
        json.dump({name: visible(name, codes) for name, codes in files.items()}, out)
        out.write("\n")


# The library still writes the oldest ones, but refuses to read them then. Version 0.3 was never in use.
OLDEST = ["0.0.1", "0.1.0", "0.2.0"]
VERSIONS = OLDEST + [f"0.{minor}.0" for minor in range(4, 14)]


def main():
    if len(sys.argv) == 3:
        # For one of the versions, which is fixed for as long as the library is loaded.
        Sdf.Layer.FindOrOpen(sys.argv[1]).Export(sys.argv[2])
        return
    by_hand()
    expected = {}
    os.makedirs("parts", exist_ok=True)
    os.makedirs("versions", exist_ok=True)
    os.makedirs("clips", exist_ok=True)

    def write(name, fill, times, **options):
        stage = new(name, **options)
        fill(stage)
        stage.Save()
        if times:
            expected[name] = sums(name, times)

    def again(name, other):
        """The same in another form."""
        Sdf.Layer.FindOrOpen(name).Export(other)
        expected[other] = name

    write("cloth.usdc", cloth, [1, 2.5, 4, 8])
    write("moves.usdc", moves, [0, 3.5, 5, 10, 17, 24], axis="Z", metres=0.01)
    write("changing.usdc", changing, [0, 1, 3, 5], rate=30)
    write("parts/post.usda", post, None)
    write("parts/swing.usdc", swing, None, rate=12)
    write("parts/below.usdc", below, None)
    write("set.usda", whole, [0, 24, 30, 36, 48])
    write("tube.usdc", tube, [0, 5, 12, 24])
    write("figure.usdc", figure, [0, 4, 12, 20, 24])
    write("mask.usdc", mask, [0, 2, 6, 8, 10, 12, 14, 16, 20, 24])
    write("tint.usda", tint, None)
    write("eased.usda", eased, [-6, -3, 0, 1, 3, 5, 6, 7, 9, 11, 12, 14, 17, 18, 19, 22, 24, 25, 27, 31, 36, 40])
    with open("primvars.json", "w") as out:
        json.dump(primvars("tint.usda", [0, 5, 10]), out)
        out.write("\n")
    write("clips.usda", clips, [-1, 0, 1, 1.25, 1.75, 2, 3.5, 4, 5, 7, 7.9, 8, 9, 10, 11, 12, 13, 14, 15.5, 16, 17, 20, 24])
    for name in ("cloth", "moves", "changing", "figure", "mask"):
        again(name + ".usdc", name + ".usda")
    again("set.usda", "set.usd")
    again("eased.usda", "eased.usdc")
    again("clips.usda", "clips.usdc")
    UsdUtils.CreateNewUsdzPackage("clips.usda", "clips.usdz")
    expected["clips.usdz"] = "clips.usda"
    UsdUtils.CreateNewUsdzPackage("set.usda", "set.usdz")
    expected["set.usdz"] = "set.usda"
    for version in VERSIONS:
        other = f"versions/{version}.usdc"
        environment = dict(os.environ, USD_WRITE_NEW_USDC_FILES_AS_VERSION=version)
        subprocess.run([sys.executable, __file__, "moves.usdc", other], env=environment, check=version not in OLDEST)
        expected[other] = "moves.usdc"
    with open("expected.json", "w") as out:
        json.dump(expected, out)
        out.write("\n")


if __name__ == "__main__":
    main()
