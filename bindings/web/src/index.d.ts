/** Class of an error: five that are the same everywhere in the project, and `Panic` for what should never be. */
export type ErrorClass = 'Io' | 'Malformed' | 'Unsupported' | 'Limit' | 'Misuse' | 'Panic'

/** What went wrong: what, where, and what to do. */
export class MeshreelError extends Error {
    readonly class: ErrorClass
}

export interface DecoderOptions {
    /** Bytes that the module's memory may grow to. Default 512 MiB. */
    memory?: number
    /** Bytes of it that hold what is read and decoded. Default a quarter of `memory`, at most 96 MiB. */
    heap?: number
    /** Files whose decoded frames take no more bytes are decoded once and kept. Default a quarter of `heap`. */
    resident?: number
    /** Bytes of frames that one request brings, if as much is wanted. Default 64 KiB. */
    readSize?: number
    /** Decodes in a worker. Default true. */
    worker?: boolean
    /** Hands frames out in shared memory. Default: where the page is cross-origin isolated. */
    shared?: boolean
    /** The module: its address, its bytes, or compiled. Default the one of this package that the engine can run. */
    module?: string | URL | BufferSource | WebAssembly.Module
}

export interface OpenOptions {
    /** What errors call the file. Default its address or name. */
    name?: string
    /** All values as floats, as they are decoded, and worlds in doubles. Default false: what is small to upload. */
    exact?: boolean
    /** For addresses. */
    request?: { headers?: Record<string, string>; credentials?: RequestCredentials; mode?: RequestMode }
    /** Called with what happens to the file. */
    onEvent?: (event: ReelEvent) => void
    /** Gives up opening; without a worker. */
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
    /** Of `progress`: bytes that have come, from where, and how many so far. */
    offset?: number
    size?: number
    loaded?: number
}

export interface Description {
    generator: string
    /** Unit of lengths: `m`, `cm`, `mm`, `in`, or nothing. */
    unit: string
    fps: number
    /** Seconds of a closed cycle; 0: none. */
    period: number
    /** Bytes of the file. */
    size: number
    frames: number
    /** Seconds from the first frame to the last. */
    duration: number
    /** Seconds of each frame. */
    times: Float64Array
    /** Several animations on one timeline. */
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
    /** Above 0: a locator. */
    reach: number
}

export interface MeshDescription {
    path: string
    method: 'static' | 'soft' | 'rigid' | 'skinned' | 'fluid' | 'particles'
    /** Of fluid ones the most of any frame. */
    vertices: number
    indices: number
    /** Over all frames: min xyz, max xyz. */
    bounds: Float32Array
    /** Positions are 16-bit numbers, 65,535 being the side of this cube. Null: floats. */
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
    /** Set of uvs, colours or custom numbers; LOD level of indices, ranges and errors. */
    set: number
    count: number
    /** Numbers of each. */
    size: number
    values: Float32Array | Uint16Array | Int16Array | Uint8Array | Uint32Array | BigUint64Array
}

/** A moment of an instance. Its values are lent until the second tick after. */
export class Frame {
    readonly instance: number
    readonly first: number
    readonly second: number
    readonly blend: number
    /** Seconds from the first frame. */
    readonly position: number
    /** What should be shown is not there yet: this is what was shown last. */
    readonly late: boolean
    /** Nothing has changed: no nodes, no sections. */
    readonly same: boolean
    readonly playing: boolean
    readonly ended: boolean
    /** World bounds: min xyz, max xyz. */
    readonly bounds: Float32Array
    /** Object to world, three rows of four. */
    readonly nodes: { visible: boolean; world: Float32Array | Float64Array }[]
    readonly sections: Section[]
    find(what: Section['what'], mesh: number, set?: number): Section | undefined
}

export type Repeat = boolean | 'once' | 'loop' | 'pingPong' | 'cycle'

/** One showing of a reel, with a clock of its own. Commands take effect at the next tick. */
export class Instance {
    readonly reel: Reel
    readonly frame: Frame | null
    onFrame: ((frame: Frame) => void) | null
    play(): Promise<void>
    pause(): Promise<void>
    stop(): Promise<void>
    /** Jumps to seconds from the first frame. */
    seek(seconds: number): Promise<void>
    seekFrame(frame: number): Promise<void>
    /** Seconds of animation per second; negative: backwards. */
    rate(rate: number): Promise<void>
    repeat(how: Repeat): Promise<void>
    frames(first: number, last: number): Promise<void>
    interpolate(on: boolean): Promise<void>
    halfRate(on: boolean): Promise<void>
    visible(on: boolean): Promise<void>
    /** What it shows when all of that is there. */
    shown(all?: boolean): Promise<Frame>
    /** A frame alone; it is paused. */
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
        /** Three rows of four for each joint. */
        inverseBind: Float32Array[]
        /** Vertices hang on more than four joints in the file. */
        cut: boolean
        /** Dual quaternions blend what joints do to vertices, all of it or a part; weights are of linear skinning. */
        dual: boolean
        positions: Float32Array
        influences: Uint16Array
        weights: Float32Array
    }[]
}

/** Where it is, its node says: it looks along −z, with y upwards. */
export interface Camera {
    path: string
    /** The node that it stands at. */
    node: number
    animated: boolean
    /** One for each frame. */
    lenses: Lens[]
}

export interface Lens {
    /** Millimetres. */
    focalLength: number
    /** Width and height of the picture plane, millimetres. */
    aperture: Float32Array
    /** Where its middle is beside the axis, millimetres. */
    apertureOffset: Float32Array
    squeeze: number
    /** How much more is drawn on the left, right, top and bottom, as parts of the picture. */
    overscan: Float32Array
    /** 0: all is sharp. */
    fStop: number
    /** In the file's unit, as the two of clipping. */
    focusDistance: number
    /** Seconds from the frame's time. */
    shutter: Float32Array
    clipping: Float32Array
    /** Without perspective: the aperture is the size of what is seen, in tenths of the file's unit. */
    orthographic: boolean
    /** The angle of view upwards, radians; 0 where it is orthographic. */
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
    /** The error of what fails now. */
    readonly error: MeshreelError | null
    /** Bytes that were fetched, and where: offset and size. */
    readonly loaded: number
    readonly ranges: [number, number][]
    onEvent: ((event: ReelEvent) => void) | null
    addInstance(): Promise<Instance>
    clips(): Promise<Clips>
    cameras(): Promise<Camera[]>
    /** Local transforms of a clip, by number or name: for each joint rotation xyzw, translation, scale. */
    pose(clip: number | string, seconds: number, wraps?: boolean): Promise<Float32Array>
    close(): Promise<void>
}

/** A worker with the module, for any number of reels. */
export class Decoder {
    static create(options?: DecoderOptions): Promise<Decoder>
    readonly shared: boolean
    open(input: string | URL | Blob | ArrayBuffer | ArrayBufferView, options?: OpenOptions): Promise<Reel>
    /** Seconds have passed: instances hand out what has changed. */
    tick(dt: number): Promise<void>
    dispose(): void
}

/** Opens a reel, in a decoder of its own unless one is given. */
export function open(
    input: string | URL | Blob | ArrayBuffer | ArrayBufferView,
    options?: DecoderOptions & OpenOptions & { decoder?: Decoder },
): Promise<Reel>

/** Whether the engine has registers of 128 bits. */
export function hasSimd(): boolean

/** The address of the module for this engine. */
export function moduleAddress(scalar?: boolean): URL
