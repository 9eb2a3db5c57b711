#include <stdlib.h>
#ifndef OWN_LIBC
int pthread_join(void *t, void **r) { abort(); }
int pthread_detach(void *t) { abort(); }
#endif
void *rust_lz4_wasm_shim_malloc(size_t n) { return malloc(n); }
void *rust_lz4_wasm_shim_calloc(size_t n, size_t m) { return calloc(n, m); }
void rust_lz4_wasm_shim_free(void *p) { free(p); }
