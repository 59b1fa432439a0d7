import type { Api } from '../../ui/api.ts'
import { formatCount } from '../../ui/format.ts'
import type { DroppedJson, RequeuedJson } from '../contract.ts'
import type { BulkAct } from './bulk-dialog.tsx'

/** Which dead letters, as the server is told. */
export type WhichLetters =
  | { readonly all: true }
  | { readonly run_ids: readonly number[] }
  | { readonly filter: { readonly handler?: string; readonly type?: string; readonly group?: string } }

const letters = (count: number) => `${formatCount(count)} dead ${count === 1 ? 'letter' : 'letters'}`
const was = (count: number) => (count === 1 ? 'was' : 'were')

/** A filter finds a bounded number of dead letters at once. */
function moreInWords(complete: boolean, count: number, isDryRun: boolean): string {
  if (complete) return ''
  const first = `the first ${formatCount(count)}`
  return isDryRun
    ? ` There are more: these are ${first}; then again.`
    : ` There are more: these were ${first}. Do it again.`
}

/** Makes them run again, with their attempts counted anew. `of`: which they are, as `of handler x`. */
export function requeueAct(api: Api, which: WhichLetters, of: string): BulkAct {
  return {
    title: 'Requeue dead letters?',
    about: `The handler is given the events of the dead letters ${of} again, with their attempts counted anew. Mend the cause first.`,
    verb: 'Requeue',
    asksReason: false,
    async run({ isDryRun }) {
      const { requeued, complete } = await api.send<RequeuedJson>('POST', '/dead-letters/requeue', {
        ...which,
        ...(isDryRun && { dryRun: true }),
      })
      const text = `${letters(requeued)} ${isDryRun ? 'would be' : was(requeued)} requeued.`
      return { count: requeued, text: text + moreInWords(complete, requeued, isDryRun) }
    },
  }
}

/** Ends them for good. */
export function dropAct(api: Api, which: WhichLetters, of: string): BulkAct {
  return {
    title: 'Drop dead letters?',
    about: `The dead letters ${of} end for good: their handler is not given these events again. What they hold up goes on.`,
    verb: 'Drop',
    asksReason: true,
    async run({ isDryRun, reason }) {
      const { dropped, complete } = await api.send<DroppedJson>('POST', '/dead-letters/drop', {
        ...which,
        reason,
        ...(isDryRun && { dryRun: true }),
      })
      const text = `${letters(dropped)} ${isDryRun ? 'would be' : was(dropped)} dropped.`
      return { count: dropped, text: text + moreInWords(complete, dropped, isDryRun) }
    },
  }
}
