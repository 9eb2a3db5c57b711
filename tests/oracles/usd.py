"""World-space points of a USD file, by usd-core: skinning, blend shapes, instances and visibility included.

    usd.py FILE --times T,T,... -o OUT.npz

Times are in seconds; OUT.npz gets one array of shape (points, 3) per time, `frame_0` and so on, in the stage's unit,
Y up. Points that no face uses are left out where there are faces. Of shapes without points (spheres, cubes and such)
some points are given that every tessellation has; then `partial_0` and so on is true, as the program's has more.
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
# Which of x, y and z are across, across and along, by the axis of a shape.
ACROSS = {"X": (1, 2, 0), "Y": (2, 0, 1), "Z": (0, 1, 2)}


def points_array(values):
    return numpy.array(values, dtype=float).reshape(-1, 3)


def transformed(points, matrix):
    """Points as rows, times a matrix of USD (row vectors)."""
    m = numpy.array(matrix, dtype=float)
    return points @ m[:3, :3] + m[3, :3]


def skinned_prims(stage):
    """Path of each skinned prim: its skinning query, the query of its skeleton, and the skeleton's prim, which for
    instances is another one than the query's."""
    cache, found = UsdSkel.Cache(), {}
    for prim in Usd.PrimRange.Stage(stage, PREDICATE):
        if not prim.IsA(UsdSkel.Root):
            continue
        root = UsdSkel.Root(prim)
        cache.Populate(root, PREDICATE)
        for binding in cache.ComputeSkelBindings(root, PREDICATE):
            skeleton = cache.GetSkelQuery(binding.GetSkeleton())
            for query in binding.GetSkinningTargets():
                found[query.GetPrim().GetPath()] = (query, skeleton, binding.GetSkeleton().GetPrim())
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
        weights = mapper.Remap(weights)
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


def ring(radius, along):
    """Four points of a circle around an axis, as (across, across, along)."""
    return [(radius, 0.0, along), (-radius, 0.0, along), (0.0, radius, along), (0.0, -radius, along)]


def shape_points(prim, time):
    """Points on a shape that has none, in its own space; None for prims of other kinds."""
    get = lambda name: prim.GetAttribute(name).Get(time)
    kind = prim.GetTypeName()
    if kind == "Cube":
        half = get("size") / 2.0
        return numpy.array([(x, y, z) for x in (-half, half) for y in (-half, half) for z in (-half, half)])
    if kind == "Sphere":
        radius = get("radius")
        points, axis = [*ring(radius, 0.0), (0.0, 0.0, radius), (0.0, 0.0, -radius)], "Z"
    elif kind == "Plane":
        return plane_points(get("width") / 2.0, get("length") / 2.0, get("axis"))
    elif kind in ("Cylinder", "Cone", "Capsule", "Cylinder_1", "Capsule_1"):
        half, axis = get("height") / 2.0, get("axis")
        same = not kind.endswith("_1")
        below, above = (get("radius"),) * 2 if same else (get("radiusBottom"), get("radiusTop"))
        points = ring(below, -half)
        points += [(0.0, 0.0, half)] if kind == "Cone" else ring(above, half)
        if kind.startswith("Capsule"):
            points += [(0.0, 0.0, -half - below), (0.0, 0.0, half + above)]
    else:
        return None
    return numpy.array(points)[:, numpy.argsort(ACROSS[axis])]


def plane_points(width, length, axis):
    """Corners of a plane: its width is along x, or z where that is its axis's; its length along y, or z."""
    corners = [(w, l) for w in (-width, width) for l in (-length, length)]
    return numpy.array([{"X": (0.0, l, w), "Y": (w, 0.0, l), "Z": (w, l, 0.0)}[axis] for w, l in corners])


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
    query, skeleton, placed = skinned[prim.GetPath()]
    points = blended(query, skeleton, points, time)
    if not query.HasJointInfluences():
        return transformed(points_array(points), to_world)
    joints = skeleton.ComputeSkinningTransforms(time)
    if query.IsRigidlyDeformed():
        matrix = query.ComputeSkinnedTransform(joints, time)
        points = transformed(points_array(points), matrix)
    else:
        query.ComputeSkinnedPoints(joints, points, time)
    return transformed(points_array(points), cache.GetLocalToWorldTransform(placed))


def is_seen(prim, time):
    """Whether a prim is visible and made to be rendered."""
    imageable = UsdGeom.Imageable(prim)
    if not imageable:
        return True
    seen = imageable.ComputeVisibility(time) != UsdGeom.Tokens.invisible
    return seen and imageable.ComputePurpose() not in (UsdGeom.Tokens.guide, UsdGeom.Tokens.proxy)


class Parts(list):
    """Arrays of points, and whether a program has more points than these."""

    is_partial = False


def below(root, skinned, cache, time, out, depth=0):
    """Adds the points of all prims at and below `root`; an instancer's prototypes are added once per instance."""
    walk = iter(Usd.PrimRange(root, PREDICATE if depth == 0 else PROTOTYPES))
    for prim in walk:
        if prim.IsA(UsdGeom.PointInstancer):
            walk.PruneChildren()
            if depth < 4 and is_seen(prim, time):
                instanced(UsdGeom.PointInstancer(prim), skinned, cache, time, out, depth)
            continue
        if is_seen(prim, time):
            shape = shape_points(prim, time)
            if shape is not None:
                out.is_partial = True
                out.append(all_points(prim, shape, skinned, cache, time))
                continue
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
                parts = Parts()
                below(prototype, skinned, cache, time, parts, depth + 1)
                # The transform of an instance includes that of the prototype's root.
                inverse = cache.GetLocalToWorldTransform(prototype).GetInverse()
                made[index] = [transformed(points, inverse) for points in parts]
                out.is_partial |= parts.is_partial
        out.extend(transformed(points, matrix * world) for points in made[index])


def world_points(path, seconds):
    stage = Usd.Stage.Open(path)
    if stage is None:
        raise SystemExit("usd-core does not open it")
    skinned = skinned_prims(stage)
    for second in seconds:
        # A bit later, so that rounding does not hold the value of the sample before.
        code = second * stage.GetTimeCodesPerSecond()
        time = Usd.TimeCode(code + 1e-9 * max(1.0, abs(code)))
        cache, parts = UsdGeom.XformCache(time), Parts()
        below(stage.GetPseudoRoot(), skinned, cache, time, parts)
        points = numpy.concatenate(parts) if parts else numpy.zeros((0, 3))
        points = points @ Y_UP if UsdGeom.GetStageUpAxis(stage) == UsdGeom.Tokens.z else points
        yield points, parts.is_partial


if __name__ == "__main__":
    command.main(__doc__, world_points)
