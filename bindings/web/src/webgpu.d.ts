import type { Decoder, DecoderOptions, Description, Frame, Instance, MeshreelError, OpenOptions, Reel } from './index.js'

/**
 * Position: `float32x3`, `float32x4`, `float16x4` (w = 1), `unorm16x4` (in the bounds of the mesh). Normal:
 * `float32x3`, `snorm16x2` (octahedral). Tangent: `float32x4` (w: the bitangent's sign), `snorm16x4`
 * (octahedral, sign, 0). Uv: `float32x2`, `float16x2`. Colour: `unorm8x4`. Velocity: `float32x3`,
 * `float16x4`.
 */
export interface DeviceLike {
    readonly lost: Promise<unknown>
    readonly limits: { readonly maxStorageBufferBindingSize: number; readonly maxBufferSize: number }
    createBuffer(descriptor: any): any
    createCommandEncoder(descriptor?: any): any
}

/** `uv` and `colour` are those of the first set; the velocity is in object space, per second. */
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
     * The attributes of a vertex, one after the other; or a function that returns them, and the bytes of a
     * vertex, when the file is open. Default: position, normal and uv as floats.
     */
    attributes?: Attributes | ((description: Description) => { attributes: Attributes; stride?: number })
    /** The bytes of a vertex, at least those of its attributes: a multiple of 4. */
    stride?: number
    /** Bytes for frames on the device. Default 64 MiB. */
    ring?: number
    /** Keeps the vertices of the moment before, for motion vectors. Default false. */
    previous?: boolean
    /**
     * Whether the device decodes units of the preset `fast`. Default `auto`: if that saves the processor
     * time.
     */
    units?: boolean | 'auto'
    /** Bytes of frames that one update uploads ahead of time. Default 1 MiB. */
    ahead?: number
    /** Frames have indices as values, too. Default false. */
    indices?: boolean
}

/** The vertices of a mesh in the layout, and its 32-bit indices. */
export interface Vertices<Buffer> {
    readonly buffer: Buffer
    /** The offset of the vertices in bytes: a multiple of 256. */
    readonly offset: number
    /** The offset of the vertices of the moment before (`previous`); otherwise `offset`. */
    readonly previousOffset: number
    /** The size of the vertices in bytes. */
    readonly size: number
    /** The number of vertices; 0 if the mesh has not been shown yet. */
    readonly count: number
    readonly indices: Buffer
    /** The number of indices of all triangles; the `ranges` of frames are those that are visible. */
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
    /** The bytes of a vertex, and its attributes with their offsets. */
    readonly layout: {
        stride: number
        attributes: { what: AttributeName; format: AttributeFormat; offset: number }[]
    }
    /** The current error: device, connection, damage. */
    readonly error: MeshreelError | null
    /** Advances by `dt` seconds. */
    tick(dt: number): Promise<void>
    /**
     * Carries out the new steps: writes go to the queue, passes into the encoder, which must be submitted
     * before the next call. Throws if the device was lost or has too little memory.
     */
    record(encoder: ReturnType<Device['createCommandEncoder']>): { bytes: number; dispatches: number }
    /** As `record`, with an encoder of its own that is submitted at once. */
    submit(): { bytes: number; dispatches: number }
    /** Returns the frame of an instance, once all of it is decoded; record it then. */
    shown(instance?: Instance): Promise<Frame>
    /** A single frame; the instance is paused. */
    still(frame: number, instance?: Instance): Promise<Frame>
    /** The vertices of a mesh; null before anything is recorded. */
    vertices(mesh: number, instance?: Instance): Vertices<ReturnType<Device['createBuffer']>> | null
    /** The index ranges of a mesh's LOD levels. Empty if the triangles change. */
    levels(mesh: number): { first: number; count: number }[]
    /** Continues on another device. */
    restore(device: Device): Promise<void>
    dispose(): Promise<void>
}

/** The address of the module with support for graphics devices. */
export function gpuModuleAddress(): URL
