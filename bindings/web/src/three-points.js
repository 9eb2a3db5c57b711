// Points of three.js with a width each, in the mesh's units. Sizes on screen follow the group's scale and the
// camera's angle of view.

import { PointsMaterial } from 'three'

/** Width of points where a file has none. */
const DEFAULT_WIDTH = 0.01

/** `hasWidths`: the geometry has the attribute `width`; `unit`: mesh units per unit of its positions. */
export class PointWidthMaterial extends PointsMaterial {
    constructor({ hasWidths, unit, ...options }) {
        super({ ...options, size: hasWidths ? 1 : DEFAULT_WIDTH })
        this.hasWidths = hasWidths
        this.unit = unit
    }

    /** Edits the shader of PointsMaterial, whose `scale` is half the height of the picture. */
    onBeforeCompile(shader) {
        const [declaration, width] = this.hasWidths ? ['attribute float width;', 'width'] : ['', '1.0']
        const pointSize = `
            float scaled = size * ${width} / unit * length(modelViewMatrix[0].xyz) * projectionMatrix[1][1];
            #ifdef USE_INSTANCING
                scaled *= length(instanceMatrix[0].xyz);
            #endif
            gl_PointSize = isPerspectiveMatrix(projectionMatrix) ? scaled : scaled * scale;`
        shader.uniforms.unit = { value: this.unit }
        shader.vertexShader = shader.vertexShader
            .replace('uniform float size;', `uniform float size, unit; ${declaration}`)
            .replace('gl_PointSize = size;', pointSize)
    }

    customProgramCacheKey() {
        return `meshreel points ${this.hasWidths}`
    }
}
