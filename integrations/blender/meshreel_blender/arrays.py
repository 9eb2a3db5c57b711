"""Arrays of a frame as values of Blender's meshes, written whole."""

import bpy
import numpy as np

#: Normals can be an attribute like any other; before, setting custom ones takes milliseconds.
FREE_NORMALS = bpy.app.version >= (4, 5, 0)

VELOCITY = "velocity"

#: Custom property of a mesh: how many triangles of the file are none of its faces.
DROPPED = "meshreel_dropped"


def channels(cache, info, scene, rebuild: bool) -> set[str]:
    """What a mesh is asked for beside positions and triangles: what is written now."""
    wanted = {name for name in ("uvs", "colours") if rebuild or name in info.animated}
    if normals_wanted(cache, info) and (rebuild or "normals" in info.animated):
        wanted.add("normals")
    blur = cache.velocities == "ON" or cache.velocities == "AUTO" and scene.render.use_motion_blur
    if blur and "positions" in info.animated and not info.faces_change:
        wanted.add("velocities")
    return wanted


def normals_wanted(cache, info) -> bool:
    """Whether the mesh gets the file's normals."""
    if cache.normals == "AUTO":
        return FREE_NORMALS or "normals" not in info.animated
    return cache.normals == "FILE"


def is_streamed(cache, info) -> bool:
    """Whether anything of the mesh is another in other frames."""
    changes = set(info.animated) - {"tangents"}
    if not normals_wanted(cache, info):
        changes.discard("normals")
    return bool(changes)


def fits(mesh: bpy.types.Mesh, info, lod: int) -> bool:
    """Whether `mesh` has the vertices and faces of the file: somebody may have edited it. How many faces coarser levels
    have, only a frame says."""
    faces = info.triangles - mesh.get(DROPPED, 0)
    return len(mesh.vertices) == info.vertices and (lod > 0 or len(mesh.polygons) == faces)


def write(mesh: bpy.types.Mesh, data, speed: float, wanted: set[str], rebuild: bool) -> None:
    """Puts a mesh of a frame into `mesh`: all of it, or values alone.

    speed: seconds of the file in a second of the scene. wanted: its channels; the frame may have more, for others.
    """
    if rebuild:
        _build(mesh, data)
    _write_attribute(mesh, "position", "FLOAT_VECTOR", "POINT", data.positions)
    _write_sets(mesh, data, wanted)
    if "velocities" in wanted:
        _write_attribute(mesh, VELOCITY, "FLOAT_VECTOR", "POINT", data.velocities * np.float32(speed))
    elif (stale := mesh.attributes.get(VELOCITY)) is not None:
        mesh.attributes.remove(stale)
    # As Blender's own points have them; its ids are of 32 bits.
    if data.ids is not None:
        _write_attribute(mesh, "id", "INT", "POINT", data.ids.astype(np.uint32).view(np.int32))
    if data.widths is not None:
        _write_attribute(mesh, "radius", "FLOAT", "POINT", data.widths * np.float32(0.5))
    normals = data.normals if "normals" in wanted else None
    if normals is not None and FREE_NORMALS:
        _write_attribute(mesh, "custom_normal", "FLOAT_VECTOR", "POINT", normals)
    mesh.update()
    if normals is not None and not FREE_NORMALS and len(normals):
        mesh.normals_split_custom_set_from_vertices(normals.tolist())


def triangles(data) -> np.ndarray:
    """int32 (triangles, 3): without those that are a line or a point, which Blender takes for damage."""
    corners = data.triangles.astype(np.int32)
    a, b, c = corners.T
    flat = (a == b) | (b == c) | (c == a)
    return corners[~flat] if flat.any() else corners


def _build(mesh, data) -> None:
    """Vertices without places, faces and their materials; of curves edges."""
    corners = triangles(data)
    mesh[DROPPED] = len(data.triangles) - len(corners)
    mesh.clear_geometry()
    mesh.vertices.add(len(data.positions))
    if data.curves is not None:
        edges = edges_of(data.curves)
        mesh.edges.add(len(edges))
        mesh.edges.foreach_set("vertices", edges.ravel())
    if not len(corners):
        return
    mesh.loops.add(corners.size)
    mesh.polygons.add(len(corners))
    mesh.loops.foreach_set("vertex_index", corners.ravel())
    mesh.polygons.foreach_set("loop_start", np.arange(0, corners.size, 3, dtype=np.int32))
    if len(data.materials) > 1:
        _write_attribute(mesh, "material_index", "INT", "FACE", material_of(data, corners))
    mesh.update(calc_edges=True)


def edges_of(curves) -> np.ndarray:
    """int32 (edges, 2): from each point of a curve to its next one."""
    last = np.cumsum(curves, dtype=np.int64) - 1
    first = np.setdiff1d(np.arange(int(curves.sum())), last).astype(np.int32)
    return np.stack([first, first + 1], axis=1)


def material_of(data, corners) -> np.ndarray:
    """int32 (triangles,): which slot each triangle has."""
    number = np.zeros(len(data.triangles), np.int32)
    for slot, (_, first, count) in enumerate(data.materials):
        number[first : first + count] = slot
    if len(corners) == len(number):
        return number
    a, b, c = data.triangles.T
    return number[(a != b) & (b != c) & (c != a)]


def _write_sets(mesh, data, wanted) -> None:
    """Texture coordinates at corners, colours at vertices."""
    if "uvs" in wanted and data.uvs:
        corners = triangles(data).ravel()
        for number, values in enumerate(data.uvs):
            name = "UVMap" if number == 0 else f"UVMap.{number:03}"
            if name in mesh.uv_layers or mesh.uv_layers.new(name=name, do_init=False):
                _write_attribute(mesh, name, "FLOAT2", "CORNER", values[corners])
    if "colours" in wanted:
        for number, values in enumerate(data.colours):
            name = "Color" if number == 0 else f"Color.{number:03}"
            _write_attribute(mesh, name, "FLOAT_COLOR", "POINT", values)


_FIELDS = {"FLOAT_VECTOR": "vector", "FLOAT2": "vector", "FLOAT_COLOR": "color", "INT": "value", "FLOAT": "value"}


def _write_attribute(mesh, name: str, kind: str, domain: str, values: np.ndarray) -> None:
    attribute = mesh.attributes.get(name)
    if attribute is not None and (attribute.data_type != kind or attribute.domain != domain):
        # Somebody else's, under our name.
        mesh.attributes.remove(attribute)
        attribute = None
    if attribute is None:
        attribute = mesh.attributes.new(name, kind, domain)
    attribute.data.foreach_set(_FIELDS[kind], np.ascontiguousarray(values).ravel())
