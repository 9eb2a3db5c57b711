// The demo: plays one of three reels or one that is dropped; scrubs, reverses, draws ten thousand, and shows which
// bytes have been fetched.

import * as THREE from 'three'
import { OrbitControls } from 'three/addons/controls/OrbitControls.js'
import { ReelLoader } from 'meshreel/three'

const MANY = 10_000

const element = id => document.getElementById(id)
/** `{ name, file }`, and `source`, `sourceBytes` where the source's size is known. */
const scenes = JSON.parse(element('scenes').textContent)
const query = new URLSearchParams(location.search)
const given = query.get('file')
const options = { readSize: Number(query.get('read') ?? 64 << 10) }

/** Returns the renderer: with `?webgpu` the one for WebGPU, on whose device vertices are then made. */
async function makeRenderer() {
    const options = { canvas: element('view'), antialias: true }
    if (!query.has('webgpu')) return new THREE.WebGLRenderer(options)
    const { WebGPURenderer } = await import('three/webgpu')
    const made = new WebGPURenderer(options)
    await made.init()
    return made
}

const renderer = await makeRenderer()
const scene = new THREE.Scene()
scene.background = new THREE.Color('#23272e')
scene.add(new THREE.HemisphereLight('#dfe8f5', '#4a4038', 2))
const sun = new THREE.DirectionalLight('#fff3e0', 2.5)
sun.position.set(3, 5, 4)
scene.add(sun)
const camera = new THREE.PerspectiveCamera(40, 1, 0.01, 1000)
const controls = new OrbitControls(camera, renderer.domElement)

let [group, cloud, playing, rate] = [null, null, true, 1]
let opening = 0
let shownScene = null

function fail(error) {
    element('error').textContent = error ? `${error.class ?? 'Error'}: ${error.message}` : ''
}

async function show(input) {
    const own = ++opening
    fail(null)
    const loader = new ReelLoader().setOptions(options)
    loader.renderer = renderer
    let next
    try {
        next = typeof input === 'string' ? await loader.loadAsync(input) : await loader.parse(input)
    } catch (error) {
        return fail(error)
    }
    // Another one was chosen while this one was opened.
    if (own !== opening) return next.dispose()
    cloud = null
    element('many').checked = false
    shownScene = scenes.find(({ file }) => file === input) ?? null
    element('file').value = shownScene?.file ?? ''
    const before = group
    group = next
    await before?.dispose()
    scene.add(group)
    frame()
    rate = 1
    await group.play({ loop: true, rate })
    playing = true
}

/** Moves the camera to where all of the reel is visible, or above many of them. */
function frame(isAbove = false) {
    const box = new THREE.Box3()
    group.updateMatrixWorld(true)
    group.traverseVisible(object => object.isMesh && box.expandByObject(object))
    const sphere = box.getBoundingSphere(new THREE.Sphere())
    // The panel hides the lower edge.
    const distance = (1.2 * sphere.radius) / Math.sin((camera.fov / 2) * (Math.PI / 180))
    const direction = isAbove ? new THREE.Vector3(1, 2, 4) : new THREE.Vector3(0.4, 0.3, 1).normalize()
    camera.position.copy(sphere.center).addScaledVector(direction, distance)
    camera.near = distance / 100
    camera.far = distance * 100
    camera.updateProjectionMatrix()
    controls.target.copy(sphere.center)
}

function setMany(on) {
    if (!group) return
    // Each copy is small: all of them show the coarsest level of detail.
    group.setLevel(on ? Infinity : 0)
    group.visible = true
    frame(on)
    group.visible = !on
    if (!on) {
        if (cloud) cloud.visible = false
        return
    }
    if (!cloud) {
        cloud = group.instanced(MANY)
        const size = new THREE.Box3().setFromObject(group).getSize(new THREE.Vector3())
        const [step, side] = [1.3 * Math.max(size.x, size.y, size.z), Math.ceil(Math.sqrt(MANY))]
        const place = new THREE.Matrix4()
        for (let i = 0; i < MANY; i++) {
            const [column, row] = [(i % side) - side / 2, Math.floor(i / side)]
            cloud.setMatrixAt(i, place.makeTranslation(column * step, 0, -row * step))
        }
        cloud.follow()
        scene.add(cloud)
    }
    cloud.visible = true
}

const sizeOf = bytes => (bytes < 1e6 ? `${Math.round(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`)

/** The figures of the file, and of the last second of the page. */
function figures() {
    const { size, frames, fps, duration } = group.reel.description
    const rate = fps > 0 ? fps : duration > 0 ? (frames - 1) / duration : 0
    const list = [`${group.name.split('/').pop()}: ${sizeOf(size)}`]
    if (shownScene?.sourceBytes) {
        const { source, sourceBytes } = shownScene
        list.push(`source ${source}: ${sizeOf(sourceBytes)}, ${Math.round(sourceBytes / size)} times as large`)
    }
    list.push(`${frames} frames${rate > 0 ? ` at ${Math.round(100 * rate) / 100} per second` : ''}`)
    const triangles = renderer.info.render.triangles.toLocaleString('en')
    const copies = element('many').checked ? `${MANY.toLocaleString('en')} copies, ` : ''
    list.push(`${copies}${triangles} triangles, drawn ${perSecond} times per second`)
    element('figures').textContent = list.join(' · ')
}

/** Draws which bytes of the file have been fetched. */
function drawLoaded() {
    const canvas = element('loaded')
    const pen = canvas.getContext('2d')
    const { ranges, description } = group.reel
    pen.clearRect(0, 0, canvas.width, 1)
    pen.fillStyle = '#7fb3ff'
    for (const [offset, size] of ranges) {
        pen.fillRect((offset / description.size) * canvas.width, 0, Math.max(1, (size / description.size) * canvas.width), 1)
    }
}

element('file').append(new Option('choose a scene', ''), ...scenes.map(({ name, file }) => new Option(name, file)))
element('file').onchange = event => event.target.value && show(event.target.value)
element('own').onchange = event => event.target.files[0] && show(event.target.files[0])
element('play').onclick = () => {
    playing = !playing
    playing ? group?.play() : group?.pause()
}
element('reverse').onclick = () => group?.rate((rate = -rate))
element('many').onchange = event => setMany(event.target.checked)
element('time').oninput = event => group?.seek(Number(event.target.value) * group.duration)
addEventListener('dragover', event => {
    event.preventDefault()
    document.body.classList.add('drop')
})
addEventListener('dragleave', () => document.body.classList.remove('drop'))
addEventListener('drop', event => {
    event.preventDefault()
    document.body.classList.remove('drop')
    const [file] = event.dataTransfer.files
    if (file) show(file)
})

let last = performance.now()
let drawn = 0
// Pictures of the last second: their number, since when they are counted, and how many that were per second.
let [counted, since, perSecond] = [0, last, 0]
renderer.setAnimationLoop(now => {
    const dt = Math.min((now - last) / 1000, 0.1)
    last = now
    const size = renderer.getSize(new THREE.Vector2())
    if (size.x !== innerWidth || size.y !== innerHeight) {
        renderer.setSize(innerWidth, innerHeight, false)
        camera.aspect = innerWidth / innerHeight
        camera.updateProjectionMatrix()
    }
    if (group) {
        group.update(dt).catch(fail)
        if (group.error) fail(group.error)
        else if (element('error').textContent.startsWith('Io')) fail(null)
        if (document.activeElement !== element('time')) element('time').value = group.time / (group.duration || 1)
        element('play').textContent = playing ? 'pause' : 'play'
        element('status').textContent = `${group.time.toFixed(2)} s`
        drawLoaded()
    }
    controls.update()
    renderer.render(scene, camera)
    drawn++
    counted++
    if (now - since >= 1000) {
        const rate = (1000 * counted) / (now - since)
        ;[counted, since, perSecond] = [0, now, rate < 10 ? rate.toFixed(1) : Math.round(rate)]
    }
    if (group) figures()
})

// For tests, and the console.
window.demo = {
    get group() {
        return group
    },
    get cloud() {
        return cloud
    },
    get drawn() {
        return drawn
    },
    info: renderer.info,
    show,
}
show(given ?? scenes[0].file)
