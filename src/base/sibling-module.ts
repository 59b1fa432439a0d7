/**
 * The URL of a module beside another one, for starting a worker thread: `.ts` when run from source, `.js` when built.
 * `siblingModule(import.meta.url, './writer-thread')`
 */
export function siblingModule(importMetaUrl: string, specifier: string): URL {
  return new URL(`${specifier}${importMetaUrl.endsWith('.ts') ? '.ts' : '.js'}`, importMetaUrl)
}
