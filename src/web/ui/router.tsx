import { useMemo, useSyncExternalStore, type ReactNode } from 'react'
import { Router, useLocation } from 'wouter'

// Pages have locations after `#`, such as `#/events?type=x`: the server needs no routes for them.

const hashOf = () => window.location.hash.slice(1)
const pathOf = (hash: string) => hash.split('?', 1)[0] || '/'
const searchOf = (hash: string) => (hash.includes('?') ? hash.slice(hash.indexOf('?') + 1) : '')

const listeners = new Set<() => void>()
// One listener of the browser: React then renders path and parameters together.
window.addEventListener('hashchange', () => {
  for (const listener of listeners) listener()
})

function onChange(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function navigate(to: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  if (replace) window.location.replace(`#${to}`)
  else window.location.hash = to
}

const usePath = (): [string, typeof navigate] => [useSyncExternalStore(onChange, () => pathOf(hashOf())), navigate]
/** The encoded parameters of the address. */
const useHashSearch = () => useSyncExternalStore(onChange, () => searchOf(hashOf()))

/** The last part of the path, decoded. wouter leaves characters such as `%2F` encoded in its parameters. */
export function usePathEnd(): string {
  const part = useSyncExternalStore(onChange, () => pathOf(hashOf()).split('/').at(-1) ?? '')
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

export function HashRouter({ children }: { readonly children: ReactNode }) {
  return (
    <Router hook={usePath} searchHook={useHashSearch} hrefs={(href) => `#${href}`}>
      {children}
    </Router>
  )
}

export type Parameters = Readonly<Record<string, string>>

export interface PageLocation {
  /** Without parameters. */
  readonly path: string
  readonly parameters: Parameters
  /** The address of this page with other parameters; an empty value removes one. */
  hrefWith(change: Parameters): string
  go(change: Parameters, options?: { readonly replace?: boolean }): void
}

/** The location of the page, and functions that change its parameters. */
export function usePageLocation(): PageLocation {
  const [path] = useLocation()
  // Not wouter's, which decodes it once more.
  const search = useHashSearch()
  return useMemo(() => {
    const parameters = Object.fromEntries(new URLSearchParams(search))
    const hrefWith = (change: Parameters) => {
      const next = Object.entries({ ...parameters, ...change }).filter(([, value]) => value !== '')
      return next.length === 0 ? path : `${path}?${new URLSearchParams(next).toString()}`
    }
    return { path, parameters, hrefWith, go: (change, options) => navigate(hrefWith(change), options) }
  }, [path, search])
}
