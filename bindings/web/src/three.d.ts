import type { Bone, Camera, Group, Loader, LoadingManager, Material, Matrix4, Skeleton } from 'three'
import type { Clips, Decoder, DecoderOptions, MeshreelError, Reel, Repeat } from './index.js'

/** Loads reels as three.js loads anything. */
export class ReelLoader extends Loader<ReelGroup> {
    constructor(manager?: LoadingManager)
    /** Makes a material by name; if null, each is a MeshStandardMaterial. */
    material: ((name: string, id: number) => Material) | null
    /**
     * The meshes that become skins: `auto`, those whose frames do not move them; true, all with a rig; false,
     * none.
     */
    skins: 'auto' | boolean
    /**
     * A `WebGPURenderer` on whose device vertices are made. Without one, or if it draws with WebGL, they are
     * made as values.
     */
    renderer: object | null
    setOptions(options: DecoderOptions & { decoder?: Decoder }): this
    /** Opens bytes, a File or a Blob. */
    parse(
        data: ArrayBuffer | ArrayBufferView | Blob,
        onLoad?: (group: ReelGroup) => void,
        onError?: (error: unknown) => void,
    ): Promise<ReelGroup>
}

/** A reel in a scene. */
export class ReelGroup extends Group {
    readonly reel: Reel
    /** By their names in the file. Meshes with vertex colours have their own where others share the name. */
    readonly materials: Map<string, Material>
    /** The duration in seconds. */
    readonly duration: number
    readonly time: number
    /** The number of frames that were delivered. */
    readonly frames: number
    /** The current error; the last frame stays visible. */
    readonly error: MeshreelError | null
    /** None where the loader's `skins` is false. */
    readonly clips?: Clips['clips']
    /** In the order of the file; `root` is a child of the group. */
    readonly skeletons?: { root: Group; bones: Bone[]; skeleton: Skeleton }[]
    play(options?: { loop?: Repeat; rate?: number }): Promise<void>
    pause(): Promise<void>
    stop(): Promise<void>
    seek(seconds: number): Promise<void>
    rate(rate: number): Promise<void>
    loop(how: Repeat): Promise<void>
    /** Advances by `dt` seconds. */
    update(dt: number): Promise<void>
    /** Shows a single frame. */
    still(frame: number): Promise<void>
    setLevel(level: number, mesh?: number | null): void
    /** Chooses the coarsest LOD levels whose errors are at most `pixels` pixels. */
    selectLevels(camera: Camera, height: number, pixels?: number): void
    playClip(clip: number | string | null, options?: { loop?: boolean; rate?: number; from?: number }): Promise<void>
    instanced(count: number): ReelInstances
    dispose(): Promise<void>
}

/** Copies of a group that show the same frame. */
export class ReelInstances extends Group {
    readonly count: number
    setMatrixAt(index: number, matrix: Matrix4): void
    /** Updates the copies; call it after setting matrices. */
    follow(): void
    dispose(): void
}
