// Skeletons and skins for three.js, from the clips and rigs of a reel.

import { Bone, BufferAttribute, BufferGeometry, Float32BufferAttribute, Group, Matrix4, Skeleton } from 'three'
import { Uint16BufferAttribute } from 'three'

/** Makes the bones of a skeleton, under one root, in the rest pose. */
export function bonesOf({ name, joints }) {
    const root = new Group()
    root.name = name
    const bones = joints.map(joint => {
        const bone = new Bone()
        bone.name = joint.name
        bone.quaternion.fromArray(joint.rest.rotation)
        bone.position.fromArray(joint.rest.translation)
        bone.scale.fromArray(joint.rest.scale)
        return bone
    })
    joints.forEach(({ parent }, joint) => (parent === null ? root : bones[parent]).add(bones[joint]))
    root.updateMatrixWorld(true)
    return { root, bones, skeleton: new Skeleton(bones) }
}

/** Sets the bones to a pose: ten numbers per bone. */
export function poseBones({ root, bones }, pose) {
    bones.forEach((bone, joint) => {
        bone.quaternion.fromArray(pose, 10 * joint)
        bone.position.fromArray(pose, 10 * joint + 4)
        bone.scale.fromArray(pose, 10 * joint + 7)
    })
    root.updateWorldMatrix(false, true)
}

/**
 * Makes a mesh that the bones of its rig move. It shares triangles, uvs and colours with the mesh that frames
 * move.
 */
export function skinOf(rig, { root, bones }, part, make) {
    const geometry = new BufferGeometry()
    for (const [name, attribute] of Object.entries(part.geometry.attributes)) {
        if (!['position', 'tangent'].includes(name)) geometry.setAttribute(name, attribute)
    }
    geometry.setAttribute('position', new Float32BufferAttribute(rig.positions, 3))
    geometry.setAttribute('skinIndex', new Uint16BufferAttribute(rig.influences, 4))
    geometry.setAttribute('skinWeight', new BufferAttribute(rig.weights, 4))
    // Normals of the bind pose are computed from its triangles, without those of LOD levels.
    const { first, count, ranges } = part.levels[0]
    geometry.setIndex(new BufferAttribute(part.geometry.index.array.slice(first, first + count), 1))
    for (let i = 0; i < ranges.length; i += 3) geometry.addGroup(ranges[i], ranges[i + 1], ranges[i + 2])
    geometry.deleteAttribute('normal')
    geometry.computeVertexNormals()
    const inverses = rig.inverseBind.map(m => new Matrix4().set(...m, 0, 0, 0, 1))
    const skin = make(geometry, part.materials)
    skin.name = part.record.path
    skin.frustumCulled = false
    skin.bind(new Skeleton(rig.joints.map(joint => bones[joint]), inverses), new Matrix4())
    root.updateMatrixWorld(true)
    return skin
}
