import type { ReactNode } from 'react'
import { matchPath } from './hash-router.ts'
import { Page } from './page.tsx'
import type { NavSection } from './shell.tsx'
import { EmptyState } from './states.tsx'

export interface Route {
  /** Such as `/tokens/:network/:address`. */
  readonly pattern: string
  readonly title: string
  readonly element: (parameters: Readonly<Record<string, string>>) => ReactNode
}

export interface RoutedPage {
  readonly title: string
  readonly element: ReactNode
}

/** The page of the first route that has the path; where none has it, one that says so. */
export function findPage(routes: readonly Route[], path: string): RoutedPage {
  for (const { pattern, title, element } of routes) {
    const parameters = matchPath(pattern, path)
    if (parameters !== null) return { title, element: element(parameters) }
  }
  return {
    title: 'Not found',
    element: (
      <Page title="Not found">
        <EmptyState title="There is no page here">Choose one from the navigation.</EmptyState>
      </Page>
    ),
  }
}

/**
 * Sections of links to the routes of these patterns, named as their pages are. `counts` says by pattern how many wait there; none is
 * not said.
 */
export function navSections(
  routes: readonly Route[],
  sections: readonly (readonly [title: string, ...patterns: readonly string[]])[],
  counts: Readonly<Record<string, number>> = {},
): readonly NavSection[] {
  return sections.map(([title, ...patterns]) => ({
    title,
    links: patterns.flatMap((path) => {
      const route = routes.find(({ pattern }) => pattern === path)
      const count = counts[path] ?? 0
      return route === undefined ? [] : [{ label: route.title, path, ...(count > 0 && { count }) }]
    }),
  }))
}
