// Loads a reel, shows a frame, plays, and leaves what was seen in `window.result`.

import { PerspectiveCamera, Scene, WebGLRenderer, MeshBasicMaterial } from 'three'
import { ReelLoader } from 'meshreel/three'

async function show() {
    const renderer = new WebGLRenderer({ preserveDrawingBuffer: true })
    renderer.setSize(160, 120)
    document.body.append(renderer.domElement)
    const [scene, camera] = [new Scene(), new PerspectiveCamera(40, 4 / 3, 0.01, 1000)]
    scene.overrideMaterial = new MeshBasicMaterial({ side: 2 })

    const loader = new ReelLoader()
    const reel = await loader.loadAsync('/golden.reel')
    scene.add(reel)
    await reel.still(20)
    const [mesh] = reel.children
    const positions = Array.from(mesh.geometry.attributes.position.array)
    mesh.updateWorldMatrix(true)
    const { center, radius } = mesh.geometry.boundingSphere.clone().applyMatrix4(mesh.matrixWorld)
    camera.position.copy(center).setZ(center.z + 3 * radius)
    renderer.render(scene, camera)
    const gl = renderer.getContext()
    const pixels = new Uint8Array(4 * 160 * 120)
    gl.readPixels(0, 0, 160, 120, gl.RGBA, gl.UNSIGNED_BYTE, pixels)
    const covered = pixels.filter((value, i) => i % 4 === 0 && value > 127).length

    const times = []
    await reel.play({ loop: true })
    for (let n = 0; n < 60; n++) {
        await reel.update(1 / 60)
        times.push(reel.time)
    }
    window.result = { positions, covered, times }
}

show().catch(error => (window.result = { error: `${error.class ?? ''} ${error.stack}` }))
