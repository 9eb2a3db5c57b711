"""Points with ids and widths, and cameras, as arrays."""

import meshreel
import numpy as np
import pytest

STAGE = """#usda 1.0
(
    startTimeCode = 0
    endTimeCode = 2
    timeCodesPerSecond = 24
    metersPerUnit = 1
    upAxis = "Y"
)
def Points "drops" {
    point3f[] points.timeSamples = {
        0: [(1, 0, 0), (0, 0, 0)],
        1: [(1, 1, 0), (0, 1, 0)],
        2: [(1, 2, 0), (3, 0, 0)],
    }
    int64[] ids.timeSamples = { 0: [9, 4], 1: [9, 4], 2: [9, 12] }
    float[] widths.timeSamples = { 0: [0.2, 0.4], 1: [0.2, 0.4], 2: [0.2, 0.3] } (interpolation = "vertex")
    vector3f[] velocities.timeSamples = {
        0: [(0, 24, 0), (0, 24, 0)],
        1: [(0, 24, 0), (0, 24, 0)],
        2: [(0, 24, 0), (0, 0, 0)],
    }
}
def BasisCurves "hair" {
    uniform token type = "linear"
    int[] curveVertexCounts = [2, 3]
    point3f[] points = [(0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 0), (1, 2, 0)]
}
def Xform "shot" {
    double3 xformOp:translate.timeSamples = { 0: (0, 0, 5), 2: (0, 0, 7) }
    uniform token[] xformOpOrder = ["xformOp:translate"]
    def Camera "lens" {
        float focalLength.timeSamples = { 0: 35, 2: 55 }
        float horizontalAperture = 24
        float verticalAperture = 18
        float2 clippingRange = (0.25, 100)
    }
}
"""


@pytest.fixture
def reel(tmp_path):
    stage = tmp_path / "stage.usda"
    stage.write_text(STAGE)
    meshreel.compile(stage, tmp_path / "stage.reel", tolerance="0.001")
    with meshreel.open(tmp_path / "stage.reel") as reel:
        yield reel


def mesh_of(frame, path):
    return next(mesh for mesh in frame.meshes if mesh.path == path)


def test_points_come_in_the_order_of_their_ids(reel):
    assert len(reel) == 3
    for number, (ids, widths) in enumerate([([4, 9], [0.4, 0.2]), ([4, 9], [0.4, 0.2]), ([9, 12], [0.2, 0.3])]):
        drops = mesh_of(reel.frame(number, ["velocities"]), "/drops")
        assert drops.ids.dtype == np.uint64 and drops.ids.tolist() == ids
        np.testing.assert_allclose(drops.widths, widths, atol=1e-3)
        want = {4: (0, number, 0), 9: (1, number, 0), 12: (3, 0, 0)}
        np.testing.assert_allclose(drops.positions, [want[i] for i in ids], atol=1.001e-3)
        want = {4: (0, 24, 0), 9: (0, 24, 0), 12: (0, 0, 0)}
        np.testing.assert_allclose(drops.velocities, [want[i] for i in ids], atol=0.05)
        assert drops.triangles.size == 0 and drops.curves is None


def test_curves_say_where_they_begin(reel):
    hair = mesh_of(reel.frame(1), "/hair")
    assert hair.ids is None and hair.positions.shape == (5, 3)
    assert hair.curves.dtype == np.uint32 and hair.curves.tolist() == [2, 3]


def test_cameras_say_all_of_their_lens(reel):
    (camera,) = reel.cameras
    assert camera.path == "/shot/lens" and camera.animated
    np.testing.assert_allclose(camera.focal_length, [35, 45, 55], rtol=1e-6)
    np.testing.assert_allclose(camera.aperture, [[24, 18]] * 3, rtol=1e-6)
    np.testing.assert_allclose(camera.clipping, [[0.25, 100]] * 3, rtol=1e-6)
    np.testing.assert_allclose(camera.vertical_angle, 2 * np.arctan(18 / 2 / camera.focal_length), rtol=1e-5)
    assert not camera.orthographic.any()
    node = reel.nodes[camera.node]
    assert node.path == "/shot"
