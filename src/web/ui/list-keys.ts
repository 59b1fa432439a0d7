/** Rows of lists: of tables, and what says of itself that it is one. */
const rows = 'main .ui-table tbody tr, main [data-row]'
const focusable = 'a[href], button:not(:disabled)'

/** Moves the focus to another row of the list that has it, or to the first row that is seen; `step` is 1 or -1. */
export function moveInList(step: 1 | -1): void {
  const all = [...document.querySelectorAll<HTMLElement>(rows)]
  const current = all.findIndex((row) => row.contains(document.activeElement))
  const next = current < 0 ? all.find(isSeen) : all[current + step]
  if (next === undefined) return
  const target = next.querySelector<HTMLElement>(focusable) ?? next
  if (target === next) next.tabIndex = -1
  target.focus({ preventScroll: true })
  next.scrollIntoView({ block: 'nearest' })
}

/** Whether a row is on the screen; one behind the edge of its box is not. */
function isSeen(row: HTMLElement): boolean {
  const { top, bottom } = row.getBoundingClientRect()
  const box = row.closest('[data-row-box]')?.getBoundingClientRect()
  return top >= (box?.top ?? 0) && bottom > 0 && top < window.innerHeight
}
