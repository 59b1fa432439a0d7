import { fileURLToPath } from 'node:url'

/** For `NODE_COMPILE_CACHE`: what is compiled once need not be again. Tests start hundreds of processes, and more threads. */
export const compileCache = fileURLToPath(new URL('../../node_modules/.cache/test-compile', import.meta.url))
