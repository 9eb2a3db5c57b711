/** Brings the worker and the module inside the code, where nothing can be fetched from beside it. */
export {}
