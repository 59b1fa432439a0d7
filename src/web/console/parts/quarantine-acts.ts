import type { Api } from '../../ui/api.ts'
import { formatCount } from '../../ui/format.ts'
import { toVisible } from '../../ui/plain-text.tsx'
import type { RetriedJson } from '../contract.ts'
import type { BulkAct } from './bulk-dialog.tsx'

/** Which bodies, as the server is told. */
export type WhichBodies =
  | { readonly all: true }
  | { readonly ids: readonly string[] }
  | { readonly filter: { readonly reason: string } }

const bodies = (count: number) => `${formatCount(count)} ${count === 1 ? 'body' : 'bodies'}`

/** Reads them once more; what is a usable event now is accepted. `of`: which they are. */
export function retryAct(api: Api, which: WhichBodies, of: string): BulkAct {
  return {
    title: 'Try bodies in quarantine again?',
    about: `The bodies ${of} are read once more, by the version of the program that runs now. Those that are events are accepted and handled.`,
    verb: 'Try again',
    asksReason: false,
    async run({ isDryRun }) {
      const retried = await api.send<RetriedJson>('POST', '/quarantine/retry', {
        ...which,
        ...(isDryRun && { dryRun: true }),
      })
      return { count: retried.accepted + retried.known, text: retriedInWords(retried, isDryRun) }
    },
  }
}

/** Removes them for good. */
export function dropBodiesAct(api: Api, which: WhichBodies, of: string): BulkAct {
  return {
    title: 'Drop bodies in quarantine?',
    about: `The bodies ${of} are removed for good, their bytes as well. Download first what you want to show the sender.`,
    verb: 'Drop',
    asksReason: true,
    async run({ isDryRun, reason }) {
      const { dropped } = await api.send<{ readonly dropped: number }>('POST', '/quarantine/drop', {
        ...which,
        reason,
        ...(isDryRun && { dryRun: true }),
      })
      const was = dropped === 1 ? 'was' : 'were'
      return { count: dropped, text: `${bodies(dropped)} ${isDryRun ? 'would be' : was} dropped.` }
    },
  }
}

function retriedInWords(
  { accepted, known, still_unusable: unusable, unusable: named }: RetriedJson,
  isDryRun: boolean,
) {
  if (accepted + known + unusable === 0) return 'There are none.'
  const would = isDryRun ? 'would be' : accepted === 1 ? 'was' : 'were'
  const parts = [`${bodies(accepted)} ${would} accepted`]
  if (known > 0)
    parts.push(`${formatCount(known)} ${isDryRun ? 'would be' : known === 1 ? 'was' : 'were'} known already`)
  if (unusable > 0) {
    const reasons = [...new Set(named.map(({ reason }) => toVisible(reason)))].join(', ')
    parts.push(
      `${formatCount(unusable)} ${isDryRun ? 'would be' : unusable === 1 ? 'is' : 'are'} unusable still (${reasons})`,
    )
  }
  return `${parts.join('; ')}.`
}
