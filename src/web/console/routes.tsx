import { findPage, navSections, type Route, type RoutedPage } from '../ui/routes.tsx'
import type { NavSection } from '../ui/shell.tsx'
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
function countsOf(overview: OverviewJson): Readonly<Record<string, number>> {
  return {
    '/health': overview.warnings.filter(({ level }) => level !== 'info').length,
    '/dead-letters': overview.dead_letters,
    '/quarantine': overview.quarantined,
    '/conflicts': overview.conflicts,
  }
}

/** What the navigation leads to, with how many need a look as far as that is known. */
export function navOf(overview: OverviewJson | null): readonly NavSection[] {
  return navSections(
    routes,
    [
      ['Now', '/', '/health'],
      ['Events', '/events', '/replays'],
      ['Trouble', '/dead-letters', '/quarantine', '/rejects', '/conflicts', '/drift'],
      ['System', '/handlers', '/audit', '/settings'],
    ],
    overview === null ? {} : countsOf(overview),
  )
}

/** The page at a path. */
export function pageAt(path: string): RoutedPage {
  return findPage(routes, path)
}
