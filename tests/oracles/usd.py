"""World-space points of a USD file, by usd-core: skinning, blend shapes, instances and visibility included.

    usd.py FILE --times T,T,... -o OUT.npz

Times are in seconds; OUT.npz gets one array of shape (points, 3) per time, `frame_0` and so on, in the stage's unit,
Y up. Points that no face uses are left out where there are faces.
Needs the packages usd-core and numpy. It shares nothing with the program.
"""

import command
import numpy
from pxr import Usd, UsdGeom, UsdSkel

PREDICATE = Usd.TraverseInstanceProxies(Usd.PrimDefaultPredicate)
# Prototypes of instancers may lie below an `over`.
PROTOTYPES = Usd.TraverseInstanceProxies(Usd.PrimIsActive & Usd.PrimIsLoaded & ~Usd.PrimIsAbstract)
# Z-up to Y-up, for points as rows.
Y_UP = numpy.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
# The program tessellates these by itself, so their points cannot be compared.
IMPLICIT = (UsdGeom.Cube, UsdGeom.Sphere, UsdGeom.Cylinder, UsdGeom.Cone, UsdGeom.Capsule, UsdGeom.Plane)


def points_array(values):
    return numpy.array(values, dtype=float).reshape(-1, 3)


def transformed(points, matrix):
    """Points as rows, times a matrix of USD (row vectors)."""
    m = numpy.array(matrix, dtype=float)
    return points @ m[:3, :3] + m[3, :3]


def skinned_prims(stage):
    """Path of each skinned prim: its skinning query and the query of its skeleton."""
    cache, found = UsdSkel.Cache(), {}
    for prim in Usd.PrimRange.Stage(stage, PREDICATE):
        if not prim.IsA(UsdSkel.Root):
            continue
        root = UsdSkel.Root(prim)
        cache.Populate(root, PREDICATE)
        for binding in cache.ComputeSkelBindings(root, PREDICATE):
            skeleton = cache.GetSkelQuery(binding.GetSkeleton())
            for query in binding.GetSkinningTargets():
                found[query.GetPrim().GetPath()] = (query, skeleton)
    return found


def blended(query, skeleton, points, time):
    """Points with the blend shapes of their prim applied."""
    animation = skeleton.GetAnimQuery()
    if not query.HasBlendShapes() or not animation:
        return points
    weights = animation.ComputeBlendShapeWeights(time)
    if weights is None:
        return points
    mapper = query.GetBlendShapeMapper()
    if mapper and not mapper.IsNull() and not mapper.IsIdentity():
        weights = mapper.Remap(weights, 1, [0.0] * len(query.GetBlendShapeOrder() or []))
    shapes = UsdSkel.BlendShapeQuery(UsdSkel.BindingAPI(query.GetPrim()))
    sub_weights, shape_indices, sub_indices = shapes.ComputeSubShapeWeights(weights)
    shapes.ComputeDeformedPoints(
        sub_weights,
        shape_indices,
        sub_indices,
        shapes.ComputeBlendShapePointIndices(),
        shapes.ComputeSubShapePointOffsets(),
        points,
    )
    return points


def own_points(prim, skinned, cache, time):
    """World-space points of one prim at a time; None where it has none."""
    if not prim.IsA(UsdGeom.PointBased):
        return None
    points = UsdGeom.PointBased(prim).GetPointsAttr().Get(time)
    if points is None or len(points) == 0:
        return None
    used = used_points(prim, time, len(points))
    world = all_points(prim, points, skinned, cache, time)
    return world[used] if used is not None else world


def used_points(prim, time, count):
    """Indices of the points that faces of a mesh use; None for what has no faces, which keeps all."""
    if prim.IsA(UsdGeom.TetMesh):
        indices = surface_points(UsdGeom.TetMesh(prim), time)
    elif prim.IsA(UsdGeom.Mesh):
        indices = numpy.array(UsdGeom.Mesh(prim).GetFaceVertexIndicesAttr().Get(time) or [], dtype=int)
    else:
        return None
    if len(indices) == 0:
        return None
    return numpy.unique(indices[(indices >= 0) & (indices < count)])


def surface_points(mesh, time):
    """Indices of points of the triangles that a mesh of tetrahedra says, or else of its surface."""
    triangles = mesh.GetSurfaceFaceVertexIndicesAttr().Get(time)
    if triangles is None:
        triangles = UsdGeom.TetMesh.ComputeSurfaceFaces(mesh, time)
    return numpy.array(triangles, dtype=int).reshape(-1)


def all_points(prim, points, skinned, cache, time):
    """The points of one prim in world space."""
    to_world = cache.GetLocalToWorldTransform(prim)
    if prim.GetPath() not in skinned:
        return transformed(points_array(points), to_world)
    query, skeleton = skinned[prim.GetPath()]
    points = blended(query, skeleton, points, time)
    if not query.HasJointInfluences():
        return transformed(points_array(points), to_world)
    joints = skeleton.ComputeSkinningTransforms(time)
    if query.IsRigidlyDeformed():
        matrix = query.ComputeSkinnedTransform(joints, time)
        points = transformed(points_array(points), matrix)
    else:
        query.ComputeSkinnedPoints(joints, points, time)
    return transformed(points_array(points), cache.GetLocalToWorldTransform(skeleton.GetPrim()))


def is_seen(prim, time):
    """Whether a prim is visible and made to be rendered."""
    imageable = UsdGeom.Imageable(prim)
    if not imageable:
        return True
    seen = imageable.ComputeVisibility(time) != UsdGeom.Tokens.invisible
    return seen and imageable.ComputePurpose() not in (UsdGeom.Tokens.guide, UsdGeom.Tokens.proxy)


def below(root, skinned, cache, time, out, depth=0):
    """Adds the points of all prims at and below `root`; an instancer's prototypes are added once per instance."""
    walk = iter(Usd.PrimRange(root, PREDICATE if depth == 0 else PROTOTYPES))
    for prim in walk:
        if prim.IsA(UsdGeom.PointInstancer):
            walk.PruneChildren()
            if depth < 4 and is_seen(prim, time):
                instanced(UsdGeom.PointInstancer(prim), skinned, cache, time, out, depth)
            continue
        if any(prim.IsA(kind) for kind in IMPLICIT):
            raise SystemExit("has shapes without points, which every program makes points of by itself")
        if is_seen(prim, time):
            points = own_points(prim, skinned, cache, time)
            if points is not None:
                out.append(points)


def instanced(instancer, skinned, cache, time, out, depth):
    transforms = instancer.ComputeInstanceTransformsAtTime(
        time, time, UsdGeom.PointInstancer.IncludeProtoXform, UsdGeom.PointInstancer.IgnoreMask
    )
    mask = instancer.ComputeMaskAtTime(time)
    indices = instancer.GetProtoIndicesAttr().Get(time) or []
    targets = instancer.GetPrototypesRel().GetForwardedTargets()
    stage, world = instancer.GetPrim().GetStage(), cache.GetLocalToWorldTransform(instancer.GetPrim())
    made = {}
    for i, (matrix, index) in enumerate(zip(transforms or [], indices)):
        if mask and not mask[i] or not 0 <= index < len(targets):
            continue
        if index not in made:
            prototype = stage.GetPrimAtPath(targets[index])
            made[index] = []
            if prototype:
                parts = []
                below(prototype, skinned, cache, time, parts, depth + 1)
                # The transform of an instance includes that of the prototype's root.
                inverse = cache.GetLocalToWorldTransform(prototype).GetInverse()
                made[index] = [transformed(points, inverse) for points in parts]
        out.extend(transformed(points, matrix * world) for points in made[index])


def world_points(path, seconds):
    stage = Usd.Stage.Open(path)
    if stage is None:
        raise SystemExit("usd-core does not open it")
    skinned = skinned_prims(stage)
    for second in seconds:
        time = Usd.TimeCode(second * stage.GetTimeCodesPerSecond())
        cache, parts = UsdGeom.XformCache(time), []
        below(stage.GetPseudoRoot(), skinned, cache, time, parts)
        points = numpy.concatenate(parts) if parts else numpy.zeros((0, 3))
        yield points @ Y_UP if UsdGeom.GetStageUpAxis(stage) == UsdGeom.Tokens.z else points


if __name__ == "__main__":
    command.main(__doc__, world_points)
