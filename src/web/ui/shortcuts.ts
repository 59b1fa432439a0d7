import { createContext, useContext, useEffect, useRef, useSyncExternalStore } from 'react'

/** What a key does, or two keys one after the other. */
export interface Shortcut {
  /** As `KeyboardEvent.key` has them, with a space between: `?`, `j`, `g e`. */
  readonly keys: string
  /** What it does, for the list of them. */
  readonly label: string
  readonly run: () => void
}

/** The shortcuts of what is on the page now. */
export interface Shortcuts {
  /** Adds some, which go before those that were there; gives back what takes them away again. */
  readonly add: (shortcuts: readonly Shortcut[]) => () => void
  /** All that hold now, each combination of keys once. */
  readonly list: () => readonly Shortcut[]
  /** Calls `listener` at each change of them. */
  readonly onChange: (listener: () => void) => () => void
  /** Takes a key that was pressed. */
  readonly press: (event: KeyboardEvent) => void
}

/** How long the second key of two may take. */
const secondKeyMs = 2_000

export function createShortcuts(): Shortcuts {
  let groups: readonly (readonly Shortcut[])[] = []
  let listed: readonly Shortcut[] = []
  let first = { key: '', at: 0 }
  const listeners = new Set<() => void>()

  function change(next: typeof groups): void {
    groups = next
    const byKeys = new Map<string, Shortcut>()
    for (const shortcut of groups.flat()) if (!byKeys.has(shortcut.keys)) byKeys.set(shortcut.keys, shortcut)
    listed = [...byKeys.values()]
    for (const listener of listeners) listener()
  }

  return {
    add(shortcuts) {
      const own = [...shortcuts]
      change([own, ...groups])
      return () => change(groups.filter((group) => group !== own))
    },
    list: () => listed,
    onChange(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    press(event) {
      if (event.key === 'Escape') leaveField(event)
      if (!isFree(event)) return
      const hasFirst = first.key !== '' && event.timeStamp - first.at < secondKeyMs
      const found =
        (hasFirst && listed.find(({ keys }) => keys === `${first.key} ${event.key}`)) ||
        listed.find(({ keys }) => keys === event.key)
      const begins = found === undefined && listed.some(({ keys }) => keys.startsWith(`${event.key} `))
      first = { key: begins ? event.key : '', at: event.timeStamp }
      if (found === undefined) return
      event.preventDefault()
      found.run()
    },
  }
}

/** Whether nothing else wants the key: nobody types, nothing is held down with it, no dialog is open. */
function isFree(event: KeyboardEvent): boolean {
  if (event.defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return false
  const target = event.target instanceof Element ? event.target : null
  const isTyping = target !== null && target.closest('input, textarea, select, [contenteditable]') !== null
  return !isTyping && document.querySelector('[role="dialog"]') === null
}

/** Where a dialog is open, Escape is for that. */
function leaveField({ target, defaultPrevented }: KeyboardEvent): void {
  const isField = target instanceof HTMLElement && target.matches('input, textarea, select')
  if (isField && !defaultPrevented && target.closest('[role="dialog"]') === null) target.blur()
}

export const ShortcutsContext = createContext<Shortcuts | null>(null)

/** Has keys do something as long as the component is there; what each does may change, which keys there are may not. */
export function useShortcuts(shortcuts: readonly Shortcut[]): void {
  const registry = useContext(ShortcutsContext)
  const newest = useRef(shortcuts)
  useEffect(() => {
    newest.current = shortcuts
  })
  useEffect(
    () =>
      registry?.add(
        newest.current.map(({ keys, label }, index) => ({ keys, label, run: () => newest.current[index]?.run() })),
      ),
    [registry],
  )
}

/** All that hold now, for the list of them. */
export function useShortcutList(): readonly Shortcut[] {
  const registry = useContext(ShortcutsContext)
  return useSyncExternalStore(registry?.onChange ?? never, registry?.list ?? none)
}

const empty: readonly Shortcut[] = []
const none = () => empty
const never = () => () => {}
