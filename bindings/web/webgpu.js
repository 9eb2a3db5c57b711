// For resolvers that do not read `exports`, such as Parcel's.
export * from './src/webgpu.js'
