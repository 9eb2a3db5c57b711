"""Clips as armatures."""

import bpy
import meshreel
import numpy as np
import pytest
from harness import add, evaluated, go_to, part, positions, rigged


def armature():
    return next(thing for thing in bpy.data.objects if thing.type == "ARMATURE")


def bone_matrices(thing):
    """float64 (joints, 4, 4): where bones are, in the armature's space."""
    bones = evaluated(thing).pose.bones
    return np.array([np.array(bones[name].matrix) for name in thing.data["meshreel_joints"]])


def expected(clip, pose, scales):
    """The same of the decoder, without the scale at rest."""
    armatures = part("armatures")
    local = armatures.matrices(pose.rotations, pose.translations, pose.scales)
    out = armatures.object_space(local, clip.parents)
    out[:, :3, :3] /= scales[:, None, None]
    return out


def scales_of(reel, clip):
    armatures = part("armatures")
    return armatures.rest_scales(armatures._rest(clip, reel.rigs))


def test_bones_are_where_the_clip_has_joints(made):
    path = made("prism.glb")
    root = add(path)
    thing, scene = armature(), bpy.context.scene
    fps = scene.render.fps / scene.render.fps_base
    with meshreel.open(path) as reel:
        clip = reel.clips[0]
        assert [bone.name for bone in thing.data.bones] == clip.joints
        for bone, parent in zip(thing.data.bones, clip.parents):
            assert (bone.parent.name if bone.parent else None) == (clip.joints[parent] if parent >= 0 else None)
        scales = scales_of(reel, clip)
        begin = root["meshreel_span"][0]
        for sample in range(clip.samples):
            seconds = clip.start + sample / clip.fps
            go_to(scene, root.meshreel.first_frame + (seconds - begin) * fps)
            pose = clip.pose(sample / clip.fps)
            assert np.allclose(bone_matrices(thing), expected(clip, pose, scales), atol=2e-4), sample
        # Between samples both blend, along a line and along an arc.
        go_to(scene, root.meshreel.first_frame + (clip.start - begin) * fps + 2.5)
        pose = clip.pose(2.5 / fps)
        assert np.allclose(bone_matrices(thing), expected(clip, pose, scales), atol=5e-3)


def test_bones_follow_the_settings_of_the_cache(made):
    path = made("prism.glb")
    root = add(path)
    thing, scene = armature(), bpy.context.scene
    fps = scene.render.fps / scene.render.fps_base
    with meshreel.open(path) as reel:
        clip, scales = reel.clips[0], scales_of(reel, reel.clips[0])
        root.meshreel.first_frame = 20
        root.meshreel.rate = 2.0
        go_to(scene, 23)
        assert np.allclose(bone_matrices(thing), expected(clip, clip.pose(6 / fps), scales), atol=2e-4)
        for _ in range(2):  # To and fro: keys are in their order again.
            root.meshreel.rate = -1.0
            go_to(scene, 23)
            end = root["meshreel_span"][1]
            pose = clip.pose(end - clip.start - 3 / fps)
            assert np.allclose(bone_matrices(thing), expected(clip, pose, scales), atol=2e-4)
            root.meshreel.rate = 1.0
            go_to(scene, 24)
            assert np.allclose(bone_matrices(thing), expected(clip, clip.pose(4 / fps), scales), atol=2e-4)


@pytest.mark.parametrize("scale", [1.0, 0.01])
def test_a_skin_follows_its_bones(tmp_path, scale):
    """With rig="only" meshes stand still in the file, and clips alone move them. Bones have no scale at rest."""
    path = tmp_path / "beam.reel"
    meshreel.compile(rigged(tmp_path / "beam.glb", scale), path, effort=1, rig="only")
    root = add(path)
    scene = bpy.context.scene
    fps = scene.render.fps / scene.render.fps_base
    skinned = [thing for thing in bpy.data.objects if thing.type == "MESH" and thing.modifiers]
    with meshreel.open(path) as reel:
        assert len(skinned) == len(reel.rigs) == 1
        rig, clip = reel.rigs[0], reel.clips[0]
        moved = set()
        for sample in range(0, clip.samples, 5):
            seconds = clip.start + sample / clip.fps
            go_to(scene, root.meshreel.first_frame + (seconds - root["meshreel_span"][0]) * fps)
            wanted = rig.positions(clip.pose(sample / clip.fps))
            bones = expected(clip, clip.pose(sample / clip.fps), scales_of(reel, clip))
            assert np.allclose(bone_matrices(armature()), bones, atol=1e-4)
            assert np.allclose(positions(skinned[0]), wanted, atol=1e-4), sample
            moved.add(wanted.tobytes())
        assert len(moved) > 1


def test_clips_alone(made, tmp_path, reported):
    """A file without a frame: BVH."""
    source = tmp_path / "walk.bvh"
    source.write_text(BVH)
    path = tmp_path / "walk.reel"
    meshreel.compile(source, path, effort=1)
    root = add(path)
    thing = armature()
    with meshreel.open(path) as reel:
        clip = reel.clips[0]
        scales = scales_of(reel, clip)
        fps = bpy.context.scene.render.fps / bpy.context.scene.render.fps_base
        for sample in range(clip.samples):
            go_to(bpy.context.scene, root.meshreel.first_frame + sample * fps / clip.fps)
            pose = clip.pose(sample / clip.fps)
            assert np.allclose(bone_matrices(thing), expected(clip, pose, scales), atol=1e-4 * 30), sample
    assert reported == []


BVH = """HIERARCHY
ROOT Hips
{
  OFFSET 0 10 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT Spine
  {
    OFFSET 0 5 1
    CHANNELS 3 Zrotation Xrotation Yrotation
    JOINT Head
    {
      OFFSET 0 4 0
      CHANNELS 3 Zrotation Xrotation Yrotation
      End Site
      {
        OFFSET 0 2 0
      }
    }
  }
}
MOTION
Frames: 4
Frame Time: 0.04
0 10 0 0 0 0 0 0 0 0 0 0
1 10 0 10 20 30 5 0 0 0 90 0
2 11 0 20 40 60 10 0 0 0 179 0
3 11 1 30 60 90 15 5 0 0 -100 0
"""
