// Errors: five classes, the same as everywhere in the project, and `Panic` for defects of the library.

const CLASSES = ['', 'Io', 'Malformed', 'Unsupported', 'Limit', 'Misuse', 'Panic']

/** An error: `class` is its class, `message` says what is wrong, where, and what to do. */
export class MeshreelError extends Error {
    constructor(kind, message, options) {
        super(message, options)
        this.name = 'MeshreelError'
        this.class = kind
    }
}

/** Returns the error of a class, by the number that the module has for it. */
export function errorOf(number, message) {
    return new MeshreelError(CLASSES[number] || 'Panic', message)
}

/** Returns an error as plain data, to be sent to another thread. */
export function errorToData(error) {
    if (error instanceof MeshreelError) return { class: error.class, message: error.message }
    return { class: 'Panic', message: String(error?.stack ?? error) }
}

/** Returns the error of such data. */
export const errorFromData = ({ class: kind, message }) => new MeshreelError(kind, message)

export const misuse = message => new MeshreelError('Misuse', message)
