// For resolvers that do not read `exports`, such as Parcel's.
import './dist/inline.js'
