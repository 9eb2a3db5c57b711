// Points of three.js with a width each, in the mesh's own units: a group's scale and the camera's angle count.

import { PointsMaterial } from 'three'

/** Width of points where a file has none. */
const DEFAULT_WIDTH = 0.01

/** `hasWidths`: the geometry has the attribute `width`; `unit`: its positions count in so many of the mesh's units. */
export class PointWidthMaterial extends PointsMaterial {
    constructor({ hasWidths, unit, ...options }) {
        super({ ...options, size: hasWidths ? 1 : DEFAULT_WIDTH })
        this.hasWidths = hasWidths
        this.unit = unit
    }

    /** Edits the shader of PointsMaterial, whose `scale` is half the height of the picture. */
    onBeforeCompile(shader) {
        const width = `
            float scaled = size * ${this.hasWidths ? 'width' : '1.0'} * length(modelViewMatrix[0].xyz) * projectionMatrix[1][1];
            #ifdef USE_INSTANCING
                scaled *= length(instanceMatrix[0].xyz);
            #endif
            gl_PointSize = scaled / unit * (isPerspectiveMatrix(projectionMatrix) ? 1.0 : scale);`
        shader.uniforms.unit = { value: this.unit }
        shader.vertexShader = shader.vertexShader
            .replace('uniform float size;', `uniform float size, unit;${this.hasWidths ? ' attribute float width;' : ''}`)
            .replace('gl_PointSize = size;', width)
    }

    customProgramCacheKey() {
        return `meshreel points ${this.hasWidths}`
    }
}
