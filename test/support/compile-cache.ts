import { fileURLToPath } from 'node:url'

/** Value of `NODE_COMPILE_CACHE`. Tests start hundreds of processes and threads, which share the compiled code. */
export const compileCache = fileURLToPath(new URL('../../node_modules/.cache/test-compile', import.meta.url))
