export { createClient } from './client.ts'
export type { ClientOptions } from './options.ts'
export { ApiError, type ApiErrorOptions } from './errors.ts'
export type * from './api.ts'
