// Many copies of a reel in a scene of three.js.

import { DynamicDrawUsage, Group, InstancedBufferAttribute, InstancedMesh, Matrix4 } from 'three'

/** Copies of points or lines: three.js draws any object that has these properties many times. */
function instancedParticles({ constructor: Shape, geometry, material }, count) {
    const instanceMatrix = new InstancedBufferAttribute(new Float32Array(16 * count), 16)
    const copies = new Shape(geometry, material)
    return Object.assign(copies, {
        isInstancedMesh: true,
        count,
        instanceMatrix,
        instanceColor: null,
        morphTexture: null,
        setMatrixAt: (i, matrix) => matrix.toArray(instanceMatrix.array, 16 * i),
        dispose: () => copies.dispatchEvent({ type: 'dispose' }),
    })
}

/** Copies of a skin, all in the pose of its skeleton. */
class InstancedSkin extends InstancedMesh {
    constructor(group, skin, count) {
        super(skin.geometry, skin.material, count)
        const { skeleton, bindMatrix } = skin
        const bindMatrixInverse = new Matrix4()
        Object.assign(this, { isSkinnedMesh: true, group, skeleton, bindMatrix, bindMatrixInverse })
    }

    /** Bones have world transforms; copies do without that of the group. */
    updateMatrixWorld(force) {
        super.updateMatrixWorld(force)
        this.group.updateWorldMatrix(true, true)
        this.bindMatrixInverse.copy(this.group.matrixWorld).invert()
    }
}

/** Copies of a group: one draw call for each of its meshes. */
export class ReelInstances extends Group {
    constructor(source, count) {
        super()
        this.source = source
        this.count = count
        this.places = Array.from({ length: count }, () => new Matrix4())
        const shown = source.parts.flatMap(({ skin, objects }) => (skin ? [skin] : objects))
        this.pairs = shown.map(object => {
            const mesh = this.copiesOf(object)
            mesh.instanceMatrix.setUsage(DynamicDrawUsage)
            mesh.frustumCulled = false
            this.add(mesh)
            return { object, mesh, last: new Matrix4().set(...Array(16).fill(NaN)) }
        })
        this.follow()
    }

    copiesOf(object) {
        if (object.isSkinnedMesh) return new InstancedSkin(this.source, object, this.count)
        if (object.isMesh) return new InstancedMesh(object.geometry, object.material, this.count)
        return instancedParticles(object, this.count)
    }

    setMatrixAt(i, matrix) {
        this.places[i].copy(matrix)
        this.moved = true
    }

    /** Updates the copies; call it after setting matrices. Also called whenever the group has changed. */
    follow() {
        const matrix = new Matrix4()
        for (const pair of this.pairs) {
            pair.mesh.visible = pair.object.visible
            if (!this.moved && pair.last.equals(pair.object.matrix)) continue
            pair.last.copy(pair.object.matrix)
            this.places.forEach((place, i) => pair.mesh.setMatrixAt(i, matrix.multiplyMatrices(place, pair.last)))
            pair.mesh.instanceMatrix.needsUpdate = true
            // Made anew by what asks for them, such as rays; points and lines have none.
            if (pair.mesh.isMesh) pair.mesh.boundingSphere = pair.mesh.boundingBox = null
        }
        this.moved = false
    }

    dispose() {
        this.removeFromParent()
        this.pairs.forEach(({ mesh }) => mesh.dispose())
    }
}
