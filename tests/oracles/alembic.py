"""World-space points of an Alembic file, by Blender's own importer.

    alembic.py FILE --times T,T,... -o OUT.npz

Times are in seconds; OUT.npz gets one array of shape (points, 3) per time, `frame_0` and so on, in the file's own axes
and unit. Needs the packages bpy and numpy. It shares nothing with the program.
"""

import bpy
import command
import numpy


def world_points(path, seconds):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    # Frames so fine that every time of a file is one: an integer frame and a fraction of it.
    scene.render.fps, scene.render.fps_base = 1000, 1.0
    bpy.ops.wm.alembic_import(filepath=path, set_frame_range=False, always_add_cache_reader=True)
    for second in seconds:
        frame = second * 1000.0
        scene.frame_set(int(frame // 1), subframe=frame % 1)
        graph, parts = bpy.context.evaluated_depsgraph_get(), []
        for instance in graph.object_instances:
            thing = instance.object
            if thing.type != "MESH" or not instance.show_self:
                continue
            mesh = thing.data
            points = numpy.empty(3 * len(mesh.vertices))
            mesh.vertices.foreach_get("co", points)
            matrix = numpy.array(instance.matrix_world)
            x, y, z = (points.reshape(-1, 3) @ matrix[:3, :3].T + matrix[:3, 3]).T
            # Blender's z is up; Alembic's y is.
            parts.append(numpy.stack([x, z, -y], axis=1))
        yield numpy.concatenate(parts) if parts else numpy.zeros((0, 3))


if __name__ == "__main__":
    command.main(__doc__, world_points)
