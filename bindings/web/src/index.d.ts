/**
 * The class of an error: five that are the same everywhere in the project, and `Panic` for defects of the
 * library.
 */
export type ErrorClass = 'Io' | 'Malformed' | 'Unsupported' | 'Limit' | 'Misuse' | 'Panic'

/** An error; its message says what is wrong, where, and what to do. */
export class MeshreelError extends Error {
    readonly class: ErrorClass
}

export interface DecoderOptions {
    /** Bytes that the module's memory may grow to. Default 512 MiB. */
    memory?: number
    /**
     * Bytes of the memory for data that is read and decoded. Default a quarter of `memory`, at most 96 MiB.
     */
    heap?: number
    /**
     * Files whose decoded frames take at most this many bytes are decoded once and kept. Default a quarter of
     * `heap`.
     */
    resident?: number
    /** Bytes of frames per request, if that much is wanted. Default 64 KiB. */
    readSize?: number
    /** Decodes in a worker. Default true. */
    worker?: boolean
    /** Delivers frames in shared memory. Default: true if the page is cross-origin isolated. */
    shared?: boolean
    /**
     * The module: its address, its bytes, or a compiled one. Default: the one of this package that the engine
     * can run.
     */
    module?: string | URL | BufferSource | WebAssembly.Module
}

export interface OpenOptions {
    /** The name of the file in error messages. Default its address or name. */
    name?: string
    /**
     * All values as floats, as decoded, and world matrices in doubles. Default false: formats that are small
     * to upload.
     */
    exact?: boolean
    /** Options of requests, for addresses. */
    request?: { headers?: Record<string, string>; credentials?: RequestCredentials; mode?: RequestMode }
    /** Called with the events of the file. */
    onEvent?: (event: ReelEvent) => void
    /** Aborts opening; the promise is rejected with the reason of the signal. */
    signal?: AbortSignal
}

export interface ReelEvent {
    event:
        | 'opened'
        | 'noFrames'
        | 'openFailed'
        | 'readFailed'
        | 'damaged'
        | 'recovered'
        | 'refused'
        | 'progress'
        | 'stopped'
        | 'cardFailed'
    file: number
    error: MeshreelError | null
    /** For `progress`: the bytes that have arrived, their offset, and the total so far. */
    offset?: number
    size?: number
    loaded?: number
}

export interface Description {
    generator: string
    /** The unit of length: `m`, `cm`, `mm`, `in`, or empty if it is not known. */
    unit: string
    fps: number
    /** The period of a closed cycle in seconds; 0 if the file is not a cycle. */
    period: number
    /** The size of the file in bytes. */
    size: number
    frames: number
    /** Seconds from the first to the last frame. */
    duration: number
    /** The time of each frame in seconds. */
    times: Float64Array
    /** Named ranges of frames: several animations on one timeline. */
    ranges: { name: string; first: number; last: number }[]
    nodes: NodeDescription[]
    meshes: MeshDescription[]
}

export interface NodeDescription {
    path: string
    parent: number | null
    mesh: number | null
    animated: boolean
    visibility: 'always' | 'never' | 'animated'
    /** Above 0 for a locator. */
    reach: number
}

export interface MeshDescription {
    path: string
    /** `particles`: points without triangles, each frame with its own; others have the same in all frames. */
    method: 'static' | 'soft' | 'rigid' | 'skinned' | 'fluid' | 'particles'
    /** Particles and curves have no triangles. */
    kind: 'mesh' | 'particles' | 'curves'
    /** The number of vertices; if triangles change, the largest of all frames. */
    vertices: number
    indices: number
    /** Bounds over all frames: min xyz, max xyz. */
    bounds: Float32Array
    /** Positions are 16-bit numbers, where 65,535 is the side of this cube; null if they are floats. */
    cube: { corner: Float32Array; side: number } | null
    materials: { id: number; name: string; first: number; count: number }[]
    streams: {
        semantic: 'position' | 'normal' | 'qtangent' | 'uv' | 'colour' | 'velocity' | 'width' | 'custom'
        set: number
        animated: boolean
        name: string
        tolerance: number
    }[]
}

export interface Section {
    what:
        | 'position'
        | 'normal'
        | 'tangent'
        | 'uv'
        | 'colour'
        | 'indices'
        | 'ranges'
        | 'levelError'
        | 'velocity'
        | 'width'
        | 'ids'
        | 'curves'
        | 'custom'
    mesh: number
    /** The set of uvs, colours or custom values; the LOD level of indices, ranges and errors. */
    set: number
    count: number
    /** The numbers per item. */
    size: number
    values: Float32Array | Uint16Array | Int16Array | Uint8Array | Uint32Array | BigUint64Array
}

/** A frame of an instance. Its values are valid until the second tick after. */
export class Frame {
    readonly instance: number
    readonly first: number
    readonly second: number
    readonly blend: number
    /** Seconds from the first frame. */
    readonly position: number
    /** The frame that should be shown is missing; this is the last one that was shown. */
    readonly late: boolean
    /** Nothing has changed: there are no nodes and no sections. */
    readonly same: boolean
    readonly playing: boolean
    readonly ended: boolean
    /** World bounds: min xyz, max xyz. */
    readonly bounds: Float32Array
    /** Object-to-world matrices: three rows of four. */
    readonly nodes: { visible: boolean; world: Float32Array | Float64Array }[]
    readonly sections: Section[]
    find(what: Section['what'], mesh: number, set?: number): Section | undefined
}

export type Repeat = boolean | 'once' | 'loop' | 'pingPong' | 'cycle'

/** An instance of a reel, with a clock of its own. Commands take effect at the next tick. */
export class Instance {
    readonly reel: Reel
    readonly frame: Frame | null
    onFrame: ((frame: Frame) => void) | null
    play(): Promise<void>
    pause(): Promise<void>
    stop(): Promise<void>
    /** Jumps to a time, in seconds from the first frame. */
    seek(seconds: number): Promise<void>
    seekFrame(frame: number): Promise<void>
    /** Sets the rate in seconds of animation per second; negative plays backwards. */
    rate(rate: number): Promise<void>
    repeat(how: Repeat): Promise<void>
    frames(first: number, last: number): Promise<void>
    interpolate(on: boolean): Promise<void>
    /** Shows every frame (1), every second one (2), or only keys, every 16th (16): the rest is neither read nor decoded. */
    frameStep(step: number): Promise<void>
    visible(on: boolean): Promise<void>
    /** Returns its frame, once all of it is decoded. */
    shown(all?: boolean): Promise<Frame>
    /** A single frame; the instance is paused. */
    still(frame: number, all?: boolean): Promise<Frame>
    remove(): Promise<void>
}

export interface Clips {
    skeletons: { name: string; joints: { name: string; parent: number | null; rest: JointTransform }[] }[]
    clips: { name: string; skeleton: number; samples: number; fps: number; start: number; duration: number }[]
    rigs: {
        mesh: number
        skeleton: number
        joints: number[]
        /** Matrices from the bind pose to each joint's space: three rows of four. */
        inverseBind: Float32Array[]
        /** In the file, some vertices follow more than four joints. */
        cut: boolean
        /**
         * Dual quaternions blend the transforms of joints, completely or in part; the weights are for linear
         * skinning.
         */
        dual: boolean
        positions: Float32Array
        influences: Uint16Array
        weights: Float32Array
    }[]
}

/** A camera. It has the transform of its node, and looks along −z, with y up. */
export interface Camera {
    path: string
    /** The number of its node. */
    node: number
    animated: boolean
    /** One lens for each frame. */
    lenses: Lens[]
}

export interface Lens {
    /** Focal length in millimetres. */
    focalLength: number
    /** Width and height of the picture plane in millimetres. */
    aperture: Float32Array
    /** Offset of the picture's centre from the optical axis in millimetres. */
    apertureOffset: Float32Array
    squeeze: number
    /** The additional area on the left, right, top and bottom, as fractions of the picture. */
    overscan: Float32Array
    /** Focal length over the diameter of the aperture; 0 if everything is in focus. */
    fStop: number
    /** The distance that is in focus, in the file's unit; so are the two of `clipping`. */
    focusDistance: number
    /** Opening and closing of the shutter, in seconds from the frame's time. */
    shutter: Float32Array
    clipping: Float32Array
    /** An orthographic camera: the aperture is the size of the visible area, in tenths of the file's unit. */
    orthographic: boolean
    /** The vertical angle of view in radians; 0 for an orthographic camera. */
    verticalAngle: number
}

export interface JointTransform {
    rotation: Float32Array
    translation: Float32Array
    scale: Float32Array
}

/** An open file. */
export class Reel {
    readonly decoder: Decoder
    readonly name: string
    readonly description: Description
    readonly instances: Instance[]
    /** The first instance. */
    readonly instance: Instance
    /** The current error; null if there is none. */
    readonly error: MeshreelError | null
    /** The number of bytes that were fetched, and their ranges: offset and size. */
    readonly loaded: number
    readonly ranges: [number, number][]
    onEvent: ((event: ReelEvent) => void) | null
    addInstance(): Promise<Instance>
    clips(): Promise<Clips>
    cameras(): Promise<Camera[]>
    /**
     * Local transforms of a clip's joints, the clip by number or name: rotation xyzw, translation and scale, ten
     * numbers per joint.
     */
    pose(clip: number | string, seconds: number, wraps?: boolean): Promise<Float32Array>
    close(): Promise<void>
}

/** A worker with the module, for any number of reels. */
export class Decoder {
    static create(options?: DecoderOptions): Promise<Decoder>
    readonly shared: boolean
    open(input: string | URL | Blob | ArrayBuffer | ArrayBufferView, options?: OpenOptions): Promise<Reel>
    /** Advances all instances by `dt` seconds; they deliver what has changed. */
    tick(dt: number): Promise<void>
    dispose(): void
}

/** Opens a reel, in a decoder of its own unless one is given. */
export function open(
    input: string | URL | Blob | ArrayBuffer | ArrayBufferView,
    options?: DecoderOptions & OpenOptions & { decoder?: Decoder },
): Promise<Reel>

/** Whether the engine supports 128-bit vectors. */
export function hasSimd(): boolean

/** The address of the module for this engine. */
export function moduleAddress(scalar?: boolean): URL
