import type { ReactNode } from 'react'
import { matchPath } from '../ui/hash-router.ts'
import { Page } from '../ui/page.tsx'
import type { NavSection } from '../ui/shell.tsx'
import { EmptyState } from '../ui/states.tsx'
import type { OverviewJson } from './contract.ts'
import { AuditPage } from './pages/audit.tsx'
import { ConflictsPage } from './pages/conflicts.tsx'
import { DeadLettersPage } from './pages/dead-letters.tsx'
import { DriftPage } from './pages/drift.tsx'
import { EventPage } from './pages/event.tsx'
import { EventsPage } from './pages/events.tsx'
import { HandlersPage } from './pages/handlers.tsx'
import { HealthPage } from './pages/health.tsx'
import { OverviewPage } from './pages/overview.tsx'
import { QuarantinePage } from './pages/quarantine.tsx'
import { QuarantinedPage } from './pages/quarantined.tsx'
import { RejectsPage } from './pages/rejects.tsx'
import { ReplaysPage } from './pages/replays.tsx'
import { SettingsPage } from './pages/settings.tsx'

interface Route {
  readonly pattern: string
  readonly title: string
  readonly element: (parameters: Readonly<Record<string, string>>) => ReactNode
}

const routes: readonly Route[] = [
  { pattern: '/', title: 'Overview', element: () => <OverviewPage /> },
  { pattern: '/health', title: 'Health', element: () => <HealthPage /> },
  { pattern: '/events', title: 'Events', element: () => <EventsPage /> },
  { pattern: '/events/:id', title: 'Event', element: ({ id = '' }) => <EventPage key={id} id={id} /> },
  { pattern: '/replays', title: 'Replays', element: () => <ReplaysPage /> },
  { pattern: '/dead-letters', title: 'Dead letters', element: () => <DeadLettersPage /> },
  { pattern: '/quarantine', title: 'Quarantine', element: () => <QuarantinePage /> },
  {
    pattern: '/quarantine/:id',
    title: 'Quarantined body',
    element: ({ id = '' }) => <QuarantinedPage key={id} id={id} />,
  },
  { pattern: '/rejects', title: 'Rejects', element: () => <RejectsPage /> },
  { pattern: '/conflicts', title: 'Conflicts', element: () => <ConflictsPage /> },
  { pattern: '/drift', title: 'Drift', element: () => <DriftPage /> },
  { pattern: '/handlers', title: 'Handlers', element: () => <HandlersPage /> },
  { pattern: '/audit', title: 'Audit', element: () => <AuditPage /> },
  { pattern: '/settings', title: 'Settings', element: () => <SettingsPage /> },
]

/** How many wait at a page for somebody to look at them. */
const counted: Readonly<Record<string, (overview: OverviewJson) => number>> = {
  '/health': ({ warnings }) => warnings.filter(({ level }) => level !== 'info').length,
  '/dead-letters': (overview) => overview.dead_letters,
  '/quarantine': (overview) => overview.quarantined,
  '/conflicts': (overview) => overview.conflicts,
}

/** What the navigation leads to, with how many need a look as far as that is known. */
export function navOf(overview: OverviewJson | null): readonly NavSection[] {
  const section = (title: string, ...paths: readonly string[]): NavSection => ({
    title,
    links: paths.flatMap((path) => {
      const route = routes.find(({ pattern }) => pattern === path)
      const count = overview === null ? 0 : (counted[path]?.(overview) ?? 0)
      return route === undefined ? [] : [{ label: route.title, path, ...(count > 0 && { count }) }]
    }),
  })
  return [
    section('Now', '/', '/health'),
    section('Events', '/events', '/replays'),
    section('Trouble', '/dead-letters', '/quarantine', '/rejects', '/conflicts', '/drift'),
    section('System', '/handlers', '/audit', '/settings'),
  ]
}

/** The page at a path. */
export function pageAt(path: string): { readonly title: string; readonly element: ReactNode } {
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
