import type { Api } from '../../ui/api.ts'
import { formatCount } from '../../ui/format.ts'
import type { BulkAct } from './bulk-dialog.tsx'

/** Which dead letters, as the server is told. */
export type WhichLetters =
  | { readonly all: true }
  | { readonly run_ids: readonly number[] }
  | { readonly filter: { readonly handler?: string; readonly type?: string; readonly group?: string } }

const letters = (count: number) => `${formatCount(count)} dead ${count === 1 ? 'letter' : 'letters'}`
const was = (count: number) => (count === 1 ? 'was' : 'were')

/** Makes them run again, with their attempts counted anew. `of`: which they are, as `of handler x`. */
export function requeueAct(api: Api, which: WhichLetters, of: string): BulkAct {
  return {
    title: 'Requeue dead letters?',
    about: `The handler is given the events of the dead letters ${of} again, with their attempts counted anew. Mend the cause first.`,
    verb: 'Requeue',
    asksReason: false,
    async run({ isDryRun }) {
      const { requeued } = await api.send<{ readonly requeued: number }>('POST', '/dead-letters/requeue', {
        ...which,
        ...(isDryRun && { dryRun: true }),
      })
      const text = isDryRun
        ? `${letters(requeued)} would be requeued.`
        : `${letters(requeued)} ${was(requeued)} requeued.`
      return { count: requeued, text }
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
      const { dropped } = await api.send<{ readonly dropped: number }>('POST', '/dead-letters/drop', {
        ...which,
        reason,
        ...(isDryRun && { dryRun: true }),
      })
      const text = isDryRun ? `${letters(dropped)} would be dropped.` : `${letters(dropped)} ${was(dropped)} dropped.`
      return { count: dropped, text }
    },
  }
}
