import { useSyncExternalStore } from 'react'

export interface Location {
  /** Begins with a slash. */
  readonly path: string
  readonly query: URLSearchParams
}

/** Where the page is, by the part of its address after `#`. */
export function useLocation(): Location {
  return parseHash(useSyncExternalStore(onHashChange, () => window.location.hash))
}

/** Goes to another place of the page; `replace` leaves no step to go back. */
export function goTo(path: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  if (replace) window.location.replace(`#${path}`)
  else window.location.hash = path
}

/** The parameters of a path by a pattern such as `/tokens/:network/:address`; null if it is not of the pattern. */
export function matchPath(pattern: string, path: string): Readonly<Record<string, string>> | null {
  const wanted = pattern.split('/')
  const parts = path.split('/')
  if (wanted.length !== parts.length) return null
  const parameters: Record<string, string> = {}
  for (const [index, part] of parts.entries()) {
    const name = wanted[index] ?? ''
    if (name.startsWith(':')) parameters[name.slice(1)] = decode(part)
    else if (name !== part) return null
  }
  return parameters
}

function parseHash(hash: string): Location {
  const [path = '', query = ''] = hash.replace(/^#/, '').split('?', 2)
  return { path: path === '' ? '/' : path, query: new URLSearchParams(query) }
}

function onHashChange(listener: () => void): () => void {
  window.addEventListener('hashchange', listener)
  return () => window.removeEventListener('hashchange', listener)
}

/** A part that is no valid encoding stays as it is. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
