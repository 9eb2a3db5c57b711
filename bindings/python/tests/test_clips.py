"""Clips as arrays, and poses at any time."""

import meshreel
import numpy as np
import pytest


@pytest.fixture
def clip(made):
    with meshreel.open(made("prism.glb")) as reel:
        clips = reel.clips
    assert len(clips) == 1
    return clips[0]


def test_skeleton_and_tracks(clip):
    assert clip.joints == ["hips", "spine", "tip"]
    assert clip.parents.tolist() == [-1, 0, 1] and clip.parents.dtype == np.int32
    assert clip.duration == pytest.approx((clip.samples - 1) / clip.fps) == pytest.approx(2)
    assert clip.rest.rotations.shape == (3, 4)
    assert len(clip.markers) == 2 and all(isinstance(name, str) for name, _ in clip.markers)
    assert clip.scalars["bulge"].shape == (clip.samples, 1)
    assert clip.scalars["bulge"].dtype == np.float32


def test_all_samples_are_the_poses_at_their_times(clip):
    poses = clip.poses()
    assert poses.rotations.shape == (clip.samples, 3, 4) and poses.rotations.dtype == np.float32
    assert poses.translations.shape == poses.scales.shape == (clip.samples, 3, 3)
    assert np.allclose(np.linalg.norm(poses.rotations, axis=2), 1, atol=1e-4)
    assert not np.allclose(poses.rotations[0], poses.rotations[clip.samples // 2])
    for sample in range(clip.samples):
        pose = clip.pose(sample / clip.fps)
        assert np.allclose(pose.rotations, poses.rotations[sample], atol=1e-5)
        assert np.allclose(pose.translations, poses.translations[sample], atol=1e-5)


def test_beyond_its_ends(clip):
    poses = clip.poses()
    assert np.array_equal(clip.pose(-1).rotations, poses.rotations[0])
    assert np.array_equal(clip.pose(99).rotations, poses.rotations[-1])
    period = clip.samples / clip.fps
    assert np.allclose(clip.pose(period + 0.5, wrap=True).rotations, clip.pose(0.5).rotations, atol=1e-5)


def test_a_time_that_is_none(clip):
    for wrong in (float("nan"), float("inf")):
        with pytest.raises(meshreel.MisuseError, match="finite"):
            clip.pose(wrong)


def test_poses_belong_to_whoever_has_them(clip):
    first = clip.pose(0)
    before = first.rotations.copy()
    clip.pose(1)
    assert np.array_equal(first.rotations, before)
