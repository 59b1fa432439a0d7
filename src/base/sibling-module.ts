/**
 * URL of a module next to another one, for starting a worker thread: `.ts` from source, `.js` from the build.
 * `siblingModule(import.meta.url, './writer-thread')`
 */
export function siblingModule(importMetaUrl: string, specifier: string): URL {
  return new URL(`${specifier}${importMetaUrl.endsWith('.ts') ? '.ts' : '.js'}`, importMetaUrl)
}
