import { goTo } from '../../ui/hash-router.ts'
import { moveInList } from '../../ui/list-keys.ts'
import type { Shortcut } from '../../ui/shortcuts.ts'

/** Pages by the second key of two. */
const pages = [
  ['o', '/', 'Overview'],
  ['h', '/health', 'Health'],
  ['e', '/events', 'Events'],
  ['p', '/replays', 'Replays'],
  ['d', '/dead-letters', 'Dead letters'],
  ['q', '/quarantine', 'Quarantine'],
  ['r', '/rejects', 'Rejects'],
  ['c', '/conflicts', 'Conflicts'],
  ['f', '/drift', 'Drift'],
  ['l', '/handlers', 'Handlers'],
  ['a', '/audit', 'Audit'],
  ['s', '/settings', 'Settings'],
] as const

/** The shortcuts that hold on every page. */
export function frameKeys(openList: () => void): readonly Shortcut[] {
  return [
    { keys: '?', label: 'Show this list', run: openList },
    { keys: '/', label: 'Search', run: search },
    { keys: 'j', label: 'Next row', run: () => moveInList(1) },
    { keys: 'k', label: 'Row before', run: () => moveInList(-1) },
    ...pages.map(([key, path, title]) => ({ keys: `g ${key}`, label: `Go to ${title}`, run: () => goTo(path) })),
  ]
}

/** To the search of the page, and where it has none, to that of the events. */
function search(): void {
  const field = document.querySelector<HTMLElement>('main input[type="search"]')
  if (field === null) goTo('/events?focus=search')
  else field.focus()
}
