import { eventTypes, networkIds } from '../../schema/index.ts'
import { nearest } from '../config/nearest.ts'
import { safeText } from '../base/log.ts'
import { printNote } from './output.ts'

/** Says which filter names what no document does: events may have it (R127), but more often it is mistyped. */
export function noteUnknownNames({ type, network }: { readonly type?: string; readonly network?: string }): void {
  note('type', type, eventTypes)
  note('network', network, networkIds)
}

function note(option: string, given: string | undefined, known: readonly string[]): void {
  if (given === undefined || known.includes(given)) return
  printNote(`note: --${option}: no documented ${option} is called ${safeText(given, 100)}${nearest(given, known)}`)
}
