import type { QuarantineGroup } from './port.ts'

/** Adds a group, or one body as a group of its own, to those with its reason and label. */
export function addToGroups(groups: Map<string, QuarantineGroup>, added: QuarantineGroup): void {
  const key = `${added.reason}\n${added.secretLabel}`
  const known = groups.get(key)
  groups.set(key, {
    ...added,
    count: added.count + (known?.count ?? 0),
    sizeBytes: added.sizeBytes + (known?.sizeBytes ?? 0),
    firstAt: Math.min(added.firstAt, known?.firstAt ?? Infinity),
    lastAt: Math.max(added.lastAt, known?.lastAt ?? -Infinity),
  })
}
