import type { Decoder, DecoderOptions, Description, Frame, Instance, MeshreelError, OpenOptions, Reel } from './index.js'

/** What is needed of a `GPUDevice`; with the types of WebGPU, buffers and encoders are those of the device. */
export interface DeviceLike {
    readonly lost: Promise<unknown>
    readonly limits: { readonly maxStorageBufferBindingSize: number; readonly maxBufferSize: number }
    createBuffer(descriptor: any): any
    createCommandEncoder(descriptor?: any): any
}

/** `uv` and `colour` are those of the first set; velocity is object space, per second. */
export type AttributeName = 'position' | 'normal' | 'tangent' | 'uv' | 'colour' | 'velocity'

/**
 * Position: `float32x3`, `float32x4`, `float16x4` (w = 1), `unorm16x4` (in the bounds of the mesh). Normal: `float32x3`,
 * `snorm16x2` (octahedral). Tangent: `float32x4` (w: the bitangent's sign), `snorm16x4` (octahedral, sign, 0). Uv:
 * `float32x2`, `float16x2`. Colour: `unorm8x4`. Velocity: `float32x3`, `float16x4`.
 */
export type AttributeFormat =
    | 'float32x2'
    | 'float32x3'
    | 'float32x4'
    | 'float16x2'
    | 'float16x4'
    | 'unorm8x4'
    | 'unorm16x4'
    | 'snorm16x2'
    | 'snorm16x4'

export type Attributes = [AttributeName, AttributeFormat][]

export interface GpuOptions {
    /**
     * Attributes of a vertex, one behind the other, or what gives them and bytes of a vertex when the file is open. Default
     * position, normal and uv in floats.
     */
    attributes?: Attributes | ((description: Description) => { attributes: Attributes; stride?: number })
    /** Bytes of a vertex, at least what its attributes have: a multiple of 4. */
    stride?: number
    /** Bytes of frames on the device. Default 64 MiB. */
    ring?: number
    /** Keeps the vertices of the moment before, for motion vectors. Default false. */
    previous?: boolean
    /** Whether the device decodes units of the preset `fast`. Default `auto`: where that saves the processor time. */
    units?: boolean | 'auto'
    /** Bytes of frames that go up ahead of time with one moment. Default 1 MiB. */
    ahead?: number
    /** Indices come in frames, too. Default false. */
    indices?: boolean
}

/** Vertices of a mesh in the layout, and indices of 32 bits. */
export interface Vertices<Buffer> {
    readonly buffer: Buffer
    /** Bytes from its start on: a multiple of 256. */
    readonly offset: number
    /** Where those of the moment before are (`previous`), else `offset`. */
    readonly previousOffset: number
    /** Bytes. */
    readonly size: number
    /** Vertices; 0 where it was not shown yet. */
    readonly count: number
    readonly indices: Buffer
    /** Of all triangles; those that are visible are the `ranges` of frames. */
    readonly indexCount: number
}

/** A reel whose vertices a graphics device makes. */
export class GpuReel<Device extends DeviceLike = DeviceLike> {
    static open<Device extends DeviceLike>(
        device: Device,
        input: string | URL | Blob | ArrayBuffer | ArrayBufferView,
        options?: GpuOptions & DecoderOptions & Omit<OpenOptions, 'exact'> & { decoder?: Decoder },
    ): Promise<GpuReel<Device>>
    readonly device: Device
    readonly reel: Reel
    readonly instance: Instance
    readonly description: Description
    /** Bytes of a vertex, and where its attributes are. */
    readonly layout: {
        stride: number
        attributes: { what: AttributeName; format: AttributeFormat; offset: number }[]
    }
    /** What fails now: the device, connection, damage. */
    readonly error: MeshreelError | null
    /** Seconds have passed. */
    tick(dt: number): Promise<void>
    /**
     * Does what is new: writes go to the queue, passes into the encoder, which is submitted before the next call. Throws
     * where the device was lost or has too little.
     */
    record(encoder: ReturnType<Device['createCommandEncoder']>): { bytes: number; dispatches: number }
    /** The same in an encoder of its own, submitted at once. */
    submit(): { bytes: number; dispatches: number }
    /** What an instance shows when all of it is decoded; then it is to be recorded. */
    shown(instance?: Instance): Promise<Frame>
    /** A frame alone; it is paused. */
    still(frame: number, instance?: Instance): Promise<Frame>
    /** Null before anything is recorded. */
    vertices(mesh: number, instance?: Instance): Vertices<ReturnType<Device['createBuffer']>> | null
    /** Indices of the levels of detail of a mesh. None of a mesh whose triangles change. */
    levels(mesh: number): { first: number; count: number }[]
    /** Goes on with another device. */
    restore(device: Device): Promise<void>
    dispose(): Promise<void>
}

/** The address of the module with the plan of a graphics device. */
export function gpuModuleAddress(): URL
