"""Arrays of a frame as values of Blender's meshes, written whole."""

import bpy
import numpy as np

#: Normals can be an attribute like any other; before, setting custom ones takes milliseconds.
FREE_NORMALS = bpy.app.version >= (4, 5, 0)

VELOCITY = "velocity"


def channels(cache, info, scene) -> list[str]:
    """What a mesh is asked for beside positions and triangles."""
    wanted = ["uvs", "colours"]
    if normals_wanted(cache, info):
        wanted.append("normals")
    blur = cache.velocities == "ON" or cache.velocities == "AUTO" and scene.render.use_motion_blur
    if blur and "positions" in info.animated and not info.faces_change:
        wanted.append("velocities")
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


def write(mesh: bpy.types.Mesh, data, speed: float, rebuild: bool) -> None:
    """Puts a mesh of a frame into `mesh`: all of it, or values alone where the number of vertices and faces allows.

    speed: seconds of the file in a second of the scene.
    """
    corners = triangles(data)
    if rebuild or len(mesh.vertices) != len(data.positions) or len(mesh.loops) != corners.size:
        _build(mesh, data, corners)
    _put(mesh, "position", "FLOAT_VECTOR", "POINT", data.positions)
    _write_sets(mesh, data, corners)
    if data.velocities is not None:
        _put(mesh, VELOCITY, "FLOAT_VECTOR", "POINT", data.velocities * np.float32(speed))
    elif (stale := mesh.attributes.get(VELOCITY)) is not None:
        mesh.attributes.remove(stale)
    if data.normals is not None and FREE_NORMALS:
        _put(mesh, "custom_normal", "FLOAT_VECTOR", "POINT", data.normals)
    mesh.update()
    if data.normals is not None and not FREE_NORMALS and len(data.normals):
        mesh.normals_split_custom_set_from_vertices(data.normals.tolist())


def triangles(data) -> np.ndarray:
    """int32 (triangles, 3): without those that are a line or a point, which Blender takes for damage."""
    corners = data.triangles.astype(np.int32)
    a, b, c = corners.T
    flat = (a == b) | (b == c) | (c == a)
    return corners[~flat] if flat.any() else corners


def _build(mesh, data, corners) -> None:
    """Vertices without places, faces and their materials."""
    mesh.clear_geometry()
    mesh.vertices.add(len(data.positions))
    if not len(corners):
        return
    mesh.loops.add(corners.size)
    mesh.polygons.add(len(corners))
    mesh.loops.foreach_set("vertex_index", corners.ravel())
    mesh.polygons.foreach_set("loop_start", np.arange(0, corners.size, 3, dtype=np.int32))
    if len(data.materials) > 1:
        _put(mesh, "material_index", "INT", "FACE", material_of(data, corners))
    mesh.update(calc_edges=True)


def material_of(data, corners) -> np.ndarray:
    """int32 (triangles,): which slot each triangle has."""
    number = np.zeros(len(data.triangles), np.int32)
    for slot, (_, first, count) in enumerate(data.materials):
        number[first : first + count] = slot
    if len(corners) == len(number):
        return number
    a, b, c = data.triangles.T
    return number[(a != b) & (b != c) & (c != a)]


def _write_sets(mesh, data, corners) -> None:
    """Texture coordinates at corners, colours at vertices."""
    for number, values in enumerate(data.uvs):
        name = "UVMap" if number == 0 else f"UVMap.{number:03}"
        if name not in mesh.uv_layers and not mesh.uv_layers.new(name=name, do_init=False):
            continue
        _put(mesh, name, "FLOAT2", "CORNER", values[corners.ravel()])
    for number, values in enumerate(data.colours):
        name = "Color" if number == 0 else f"Color.{number:03}"
        _put(mesh, name, "FLOAT_COLOR", "POINT", values)


_FIELDS = {"FLOAT_VECTOR": "vector", "FLOAT2": "vector", "FLOAT_COLOR": "color", "INT": "value"}


def _put(mesh, name: str, kind: str, domain: str, values: np.ndarray) -> None:
    attribute = mesh.attributes.get(name)
    if attribute is not None and (attribute.data_type != kind or attribute.domain != domain):
        # Somebody else's, under our name.
        mesh.attributes.remove(attribute)
        attribute = None
    if attribute is None:
        attribute = mesh.attributes.new(name, kind, domain)
    attribute.data.foreach_set(_FIELDS[kind], np.ascontiguousarray(values).ravel())
