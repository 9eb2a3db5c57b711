// Many copies of a reel in a scene of three.js.

import { DynamicDrawUsage, Group, Matrix4, InstancedMesh } from 'three'

/** Copies of a group: one draw call for each of its meshes. */
export class ReelInstances extends Group {
    constructor(source, count) {
        super()
        this.source = source
        this.count = count
        this.places = Array.from({ length: count }, () => new Matrix4())
        this.pairs = source.parts.flatMap(part => part.objects).map(object => {
            const mesh = new InstancedMesh(object.geometry, object.material, count)
            mesh.instanceMatrix.setUsage(DynamicDrawUsage)
            mesh.frustumCulled = false
            this.add(mesh)
            return { object, mesh, last: new Matrix4().set(...Array(16).fill(NaN)) }
        })
        this.follow()
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
        }
        this.moved = false
    }

    dispose() {
        this.removeFromParent()
        this.pairs.forEach(({ mesh }) => mesh.dispose())
    }
}
