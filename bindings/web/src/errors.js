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

/** Advice for errors about a file of this package that is not where the code looks for it. */
export const NOT_COPIED = "where a bundler did not copy the file, import 'meshreel/inline' once"

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

/** A number of seconds, frames a second …, or an error that names it. */
export function finite(name, value) {
    if (Number.isFinite(value)) return value
    throw misuse(`${name} must be a finite number, not ${typeof value === 'string' ? `'${value}'` : value}`)
}
