// A reel in a scene of three.js: its meshes change in place as it plays.

import { Box3, BufferAttribute, BufferGeometry, DoubleSide, DynamicDrawUsage, Group, Matrix4 } from 'three'
import { LineBasicMaterial, LineSegments, Mesh, MeshStandardMaterial, Points } from 'three'
import { SkinnedMesh, Sphere, StaticDrawUsage, Vector3 } from 'three'
import { finite, misuse } from './errors.js'
import { clipNumber } from './reel.js'
import { bonesOf, poseBones, skinOf } from './skin.js'
import { PointWidthMaterial } from './three-points.js'
import { ReelInstances } from './three-instances.js'

/** Names of attributes: second and further sets of uvs and colours have a number. */
function nameOf({ what, set }) {
    if (what === 'uv') return set === 0 ? 'uv' : `uv${set}`
    if (what === 'colour') return set === 0 ? 'color' : `color_${set}`
    return what === 'custom' ? `custom${set}` : what
}

/** Sections that are not vertex attributes. */
const OTHERS = ['indices', 'ranges', 'levelError', 'ids', 'curves']

/** Whether the number of vertices and all values change with each frame. */
const changes = record => record.method === 'fluid' || record.method === 'particles'

/** A reel in a scene. Its meshes are created once; `update` changes what is animated. */
export class ReelGroup extends Group {
    constructor(reel, material = null) {
        super()
        this.type = 'ReelGroup'
        this.name = reel.name
        this.reel = reel
        /** Materials by name. Meshes with vertex colours have their own where others share the name. */
        this.materials = new Map()
        this.makeMaterial = material
        /** Per mesh of the file: geometry, LOD levels, the objects that show it. */
        this.parts = reel.description.meshes.map((record, number) => ({ record, number, objects: [], levels: [] }))
        /** Clouds of instances that follow. */
        this.clouds = []
        /** The number of frames that were delivered. */
        this.frames = 0
        this.clip = null
        this.disposed = false
    }

    async begin(skins) {
        const { instance, description } = this.reel
        // A stopped instance is hidden.
        await instance.pause()
        if (description.frames > 0) this.build(await instance.shown(true))
        instance.complete = true
        instance.onFrame = frame => this.apply(frame)
        if (skins !== false) await this.addSkins(skins)
    }

    // Playing.

    get duration() {
        return this.reel.description.duration
    }
    /** Seconds from the first frame. */
    get time() {
        return this.reel.instance.frame?.position ?? 0
    }
    /** The current error: connection, damage; null if there is none. The last frame stays visible. */
    get error() {
        return this.reel.error
    }

    async play({ loop, rate } = {}) {
        const commands = []
        if (loop !== undefined) commands.push(this.loop(loop))
        if (rate !== undefined) commands.push(this.rate(rate))
        await Promise.all([...commands, this.reel.instance.play()])
    }
    pause() {
        return this.reel.instance.pause()
    }
    stop() {
        return this.reel.instance.stop()
    }
    seek(seconds) {
        return this.reel.instance.seek(seconds)
    }
    rate(rate) {
        return this.reel.instance.rate(rate)
    }
    /** True, false, or `once`, `loop`, `pingPong`, `cycle`. */
    loop(how) {
        return this.reel.instance.repeat(how)
    }

    /** Advances by `dt` seconds. With a decoder that several reels share, call `decoder.tick` instead. */
    async update(dt) {
        finite('update: seconds', dt)
        try {
            if (this.clip) await this.advanceClip(dt)
            if (this.reel.ownsDecoder && this.reel.description.frames > 0) await this.reel.decoder.tick(dt)
        } catch (error) {
            // After disposal, errors of running calls do not matter.
            if (!this.disposed) throw error
        }
    }

    /** Shows a single frame; the promise resolves when it is decoded. */
    async still(frame) {
        this.apply(await this.reel.instance.still(frame))
    }

    // Meshes.

    materialOf({ name, id }, vertexColors) {
        const plain = name || `material ${id}`
        const first = this.materials.get(plain)
        // A mesh without colours would be black in a material that expects them.
        const isShared = !first || this.makeMaterial || first.vertexColors === vertexColors
        const key = isShared ? plain : `${plain} (${vertexColors ? 'with' : 'without'} vertex colours)`
        if (!this.materials.has(key)) {
            const options = { name, roughness: 0.6, side: DoubleSide, vertexColors }
            this.materials.set(key, this.makeMaterial?.(name, id) ?? new MeshStandardMaterial(options))
        }
        return this.materials.get(key)
    }

    build(frame) {
        const { nodes } = this.reel.description
        for (const part of this.parts) this.buildGeometry(part, frame)
        nodes.forEach((node, number) => {
            const part = this.parts[node.mesh]
            if (!part?.geometry) return
            const Shape = part.record.kind === 'mesh' ? Mesh : part.lines ? LineSegments : Points
            const object = new Shape(part.geometry, Shape === Mesh ? part.materials : part.materials[0])
            object.name = node.path
            object.matrixAutoUpdate = false
            object.userData.node = number
            part.objects.push(object)
            this.add(object)
        })
        this.apply(frame)
    }

    buildGeometry(part, frame) {
        const { record, number } = part
        const own = frame.sections.filter(section => section.mesh === number)
        if (own.length === 0) return
        const fluid = record.method === 'fluid'
        const geometry = (part.geometry = new BufferGeometry())
        geometry.name = record.path
        const colours = record.streams.some(({ semantic, set }) => semantic === 'colour' && set === 0)
        const list = record.materials.length > 0 ? record.materials : [{ name: '', id: 0 }]
        part.lines = record.kind === 'curves'
        part.materials =
            record.kind !== 'mesh'
                ? [this.particleMaterial(part, own, colours)]
                : list.map(material => this.materialOf(material, colours))
        this.buildAttributes(part, own)
        if (record.kind !== 'mesh') this.buildParticles(part, own)
        else this.buildIndices(part, own, fluid)
        const { bounds, cube } = record
        const box = new Box3(new Vector3(...bounds.slice(0, 3)), new Vector3(...bounds.slice(3)))
        if (cube) box.translate(new Vector3(...cube.corner).negate())
        if (cube) box.set(box.min.divideScalar(cube.side), box.max.divideScalar(cube.side))
        geometry.boundingBox = box
        geometry.boundingSphere = box.getBoundingSphere(new Sphere())
        // From quantized positions to the mesh's own space.
        part.scale = new Matrix4()
        if (cube) part.scale.makeScale(cube.side, cube.side, cube.side).setPosition(...cube.corner)
    }

    /** The material of points, as wide as each is, or of lines, which WebGL draws one pixel wide. */
    particleMaterial({ record, lines }, own, vertexColors) {
        const given = this.makeMaterial?.(record.path, 0)
        if (given) return given
        const options = { name: record.path, vertexColors }
        if (lines) return new LineBasicMaterial(options)
        const hasWidths = own.some(section => section.what === 'width')
        return new PointWidthMaterial({ ...options, hasWidths, unit: record.cube?.side ?? 1 })
    }

    /** For curves, the line segments between their points; for particles, their number. */
    buildParticles(part, own) {
        const { geometry, record } = part
        part.levels[0] = { first: 0, count: 0, ranges: [], error: 0 }
        part.level = 0
        if (part.lines) {
            const attribute = new BufferAttribute(new Uint32Array(2 * record.vertices), 1)
            geometry.setIndex(attribute.setUsage(DynamicDrawUsage))
        }
        own.forEach(section => this.applyParticles(part, section))
    }

    applyParticles({ geometry, lines }, { what, count, values }) {
        if (what === 'curves') {
            const { array } = geometry.index
            let [first, at] = [0, 0]
            for (const length of values) {
                for (let i = 1; i < length; i++) [array[at++], array[at++]] = [first + i - 1, first + i]
                first += length
            }
            geometry.index.needsUpdate = true
            geometry.setDrawRange(0, at)
        } else if (what === 'position' && !lines) {
            geometry.setDrawRange(0, count)
        }
    }

    buildAttributes({ geometry, record }, own) {
        const fluid = changes(record)
        for (const section of own) {
            if (OTHERS.includes(section.what)) continue
            const { size, values } = section
            const array = fluid ? new values.constructor(size * record.vertices) : values.slice()
            if (fluid) array.set(values)
            const attribute = new BufferAttribute(array, size, !(values instanceof Float32Array))
            const { semantic } = record.streams.find(s => s.animated && streamIs(s, section)) ?? {}
            attribute.setUsage(semantic || fluid ? DynamicDrawUsage : StaticDrawUsage)
            geometry.setAttribute(nameOf(section), attribute)
        }
    }

    /** The triangles of all LOD levels, one after the other. */
    buildIndices(part, own, fluid) {
        const { record } = part
        const levels = own.filter(section => section.what === 'indices')
        const total = fluid ? record.indices : levels.reduce((sum, { count }) => sum + count, 0)
        const array = this.indexArray(part, total)
        let at = 0
        for (const { set, values } of levels) {
            const ranges = own.find(section => section.what === 'ranges' && section.set === set).values.slice()
            const error = own.find(section => section.what === 'levelError' && section.set === set)?.values[0] ?? 0
            array.set(this.indexValues(part, values), at)
            part.levels[set] = { first: at, count: values.length, ranges, error }
            at += values.length
        }
        const attribute = new BufferAttribute(array, 1)
        attribute.setUsage(fluid ? DynamicDrawUsage : StaticDrawUsage)
        part.geometry.setIndex(attribute)
        part.level = 0
    }

    indexArray({ record }, total) {
        return record.vertices > 0x10000 ? new Uint32Array(total) : new Uint16Array(total)
    }

    /** Indices in the order in which they are drawn. */
    indexValues(part, values) {
        return values
    }

    /** Applies a frame of this reel's instance. */
    apply(frame) {
        this.frames++
        if (frame.same) return
        for (const section of frame.sections) this.applySection(this.parts[section.mesh], section)
        for (const part of this.parts) {
            for (const object of part.objects) {
                const { visible, world } = frame.nodes[object.userData.node]
                object.visible = visible
                object.matrix.set(...world, 0, 0, 0, 1).multiply(part.scale)
                // Rays may be cast before the next picture.
                object.matrixWorldNeedsUpdate = true
                object.updateWorldMatrix(false, false)
            }
        }
        this.clouds.forEach(cloud => cloud.follow())
    }

    applySection(part, section) {
        const { geometry } = part
        if (!geometry) return
        if (part.record.kind !== 'mesh') this.applyParticles(part, section)
        if (part.record.kind !== 'mesh' && OTHERS.includes(section.what)) return
        if (section.what === 'ranges') {
            if (section.set > 0) return
            part.levels[0].ranges = section.values.slice()
            if (part.level === 0) setGroups(part)
        } else if (section.what === 'indices') {
            if (part.record.method === 'fluid') replace(geometry.index, this.indexValues(part, section.values))
        } else if (section.what !== 'levelError') {
            const attribute = geometry.getAttribute(nameOf(section))
            if (attribute) replace(attribute, section.values)
        }
    }

    // Levels of detail.

    /** Shows an LOD level of a mesh, or of all; 0: all triangles. */
    setLevel(level, mesh = null) {
        for (const part of this.parts.filter(p => p.geometry && (mesh === null || p.number === mesh))) {
            const chosen = Math.min(level, part.levels.length - 1)
            if (part.level === chosen) continue
            part.level = chosen
            setGroups(part)
        }
    }

    /** Chooses for each mesh the coarsest level whose error is at most `pixels` pixels for this camera. */
    selectLevels(camera, height, pixels = 1) {
        const [eye, centre] = [new Vector3().setFromMatrixPosition(camera.matrixWorld), new Vector3()]
        const focal = (height / 2) * camera.projectionMatrix.elements[5]
        for (const part of this.parts.filter(p => p.levels.length > 1)) {
            const seen = part.objects.filter(object => object.visible)
            const fits = level =>
                seen.every(object => {
                    const sphere = part.geometry.boundingSphere
                    const scale = object.matrixWorld.getMaxScaleOnAxis() / (part.record.cube?.side ?? 1)
                    const radius = sphere.radius * object.matrixWorld.getMaxScaleOnAxis()
                    centre.copy(sphere.center).applyMatrix4(object.matrixWorld)
                    const distance = camera.isOrthographicCamera ? 1 : Math.max(eye.distanceTo(centre) - radius, 1e-9)
                    return (level.error * scale * focal) / distance <= pixels
                })
            let level = part.levels.length - 1
            while (level > 0 && !fits(part.levels[level])) level--
            this.setLevel(level, part.number)
        }
    }

    // Skeletons and skins.

    /** Adds the bones of each skeleton, and skins of the meshes with a rig. */
    async addSkins(which) {
        const { skeletons, clips, rigs } = await this.reel.clips()
        this.clips = clips
        this.skeletons = skeletons.map(bonesOf)
        this.skeletons.forEach(({ root }) => this.add(root))
        for (const rig of rigs) {
            const part = this.parts[rig.mesh]
            const still = part.record.streams.every(stream => !stream.animated)
            if (!part.geometry || rig.cut || rig.dual || (which === 'auto' && !still)) continue
            const skin = skinOf(rig, this.skeletons[rig.skeleton], part, (g, m) => new SkinnedMesh(g, m))
            part.objects.forEach(object => this.remove(object))
            part.skin = skin
            this.add(skin)
        }
        this.skinned = this.parts.some(part => part.skin)
    }

    /** Plays a clip on its skeleton, by number or name; null ends it. */
    async playClip(clip, { loop = true, rate = 1, from = 0 } = {}) {
        if (clip === null) return void (this.clip = null)
        if (!this.clips) throw misuse('the loader reads no clips where its option skins is false')
        const number = clipNumber(this.clips, clip)
        this.clip = { number, loop, rate: finite('rate', rate), seconds: finite('from', from) }
        await this.advanceClip(0)
    }

    async advanceClip(dt) {
        const { clip } = this
        clip.seconds += dt * clip.rate
        const pose = await this.reel.pose(clip.number, clip.seconds, clip.loop)
        if (this.clip !== clip) return
        poseBones(this.skeletons[this.clips[clip.number].skeleton], pose)
        // Made anew by what asks for them, such as rays.
        for (const { skin } of this.parts) if (skin) skin.boundingSphere = skin.boundingBox = null
    }

    // Instances.

    /** `count` copies that show the same frame, drawn together. `setMatrixAt` sets the matrix of each. */
    instanced(count) {
        const cloud = new ReelInstances(this, count)
        this.clouds.push(cloud)
        return cloud
    }

    /** Closes the reel, and frees geometry and the materials that were created here. */
    dispose() {
        this.disposed = true
        this.removeFromParent()
        this.parts.forEach(part => part.geometry?.dispose())
        this.parts.forEach(part => part.skin?.geometry.dispose())
        this.skeletons?.forEach(({ skeleton }) => skeleton.dispose())
        this.clouds.splice(0).forEach(cloud => cloud.dispose())
        if (!this.makeMaterial) this.materials.forEach(material => material.dispose())
        this.clear()
        return this.reel.close()
    }
}

const streamIs = (stream, { what, set }) =>
    stream.set === set && (stream.semantic === what || (stream.semantic === 'qtangent' && /normal|tangent/.test(what)))

/** Sets new values at the start of an attribute; only these are uploaded. */
function replace(attribute, values) {
    attribute.array.set(values)
    attribute.clearUpdateRanges()
    attribute.addUpdateRange(0, values.length)
    attribute.needsUpdate = true
}

/** Sets the ranges of a mesh's indices that are drawn, with their materials. */
function setGroups({ geometry, levels, level }) {
    const { first, ranges } = levels[level]
    geometry.clearGroups()
    for (let i = 0; i < ranges.length; i += 3) geometry.addGroup(first + ranges[i], ranges[i + 1], ranges[i + 2])
}
