// Modules of Node, found without an import: bundlers for browsers fail on those.

/** A module of Node by its name; null in browsers, and before Node 20.16. */
export const nodeModule = name => globalThis.process?.getBuiltinModule?.(`node:${name}`) ?? null
