/** Something that is to happen. Plain data, so that a snapshot holds it. */
export interface Due {
  readonly at: number
  /** Of what is due at once, the smallest comes first. */
  readonly priority: number
  /** And of these what was planned first. */
  readonly order: number
}

/** A binary heap in an array: the first is due next. */
export function addToAgenda<T extends Due>(agenda: T[], item: T): void {
  agenda.push(item)
  for (let at = agenda.length - 1; at > 0;) {
    const parent = (at - 1) >> 1
    if (!swapIfBefore(agenda, at, parent)) return
    at = parent
  }
}

/** Takes out what is due next, if it is due by `now`. */
export function takeDue<T extends Due>(agenda: T[], now: number): T | undefined {
  const first = agenda[0]
  if (first === undefined || first.at > now) return undefined
  const last = agenda.pop()
  if (last !== undefined && agenda.length > 0) {
    agenda[0] = last
    sink(agenda)
  }
  return first
}

function sink(agenda: Due[]): void {
  for (let at = 0; ;) {
    const left = 2 * at + 1
    const right = left + 1
    const child = right < agenda.length && isBefore(agenda[right], agenda[left]) ? right : left
    if (child >= agenda.length || !swapIfBefore(agenda, child, at)) return
    at = child
  }
}

function swapIfBefore(agenda: Due[], one: number, other: number): boolean {
  const a = agenda[one]
  const b = agenda[other]
  if (a === undefined || b === undefined || !isBefore(a, b)) return false
  agenda[one] = b
  agenda[other] = a
  return true
}

function isBefore(a: Due | undefined, b: Due | undefined): boolean {
  if (a === undefined || b === undefined) return false
  if (a.at !== b.at) return a.at < b.at
  return a.priority === b.priority ? a.order < b.order : a.priority < b.priority
}
