import type { Command } from 'commander'
import { byteSize } from '../config/values.ts'
import { InboxError } from '../base/errors.ts'
import { parseCount } from './arguments.ts'
import { asEventCommand, withEvents, type EventCommandOptions } from './event-command.ts'
import { printResult } from './output.ts'

interface PruneOptions extends EventCommandOptions {
  readonly olderThan?: number
  readonly maxSize?: string
}

const stillTooLarge =
  'the database is larger still, but nothing is left that may be pruned: kept are, above all, open work, dead letters, ' +
  'what came within the last hour, and the newest bodies that take half of that size'

/** `onchain-inbox prune`: takes old bodies out of the database now. */
export function addPruneCommand(program: Command): void {
  const prune = program
    .command('prune')
    .description(
      'take the bodies of finished events, and old bodies in quarantine, out of the database, and give the space back; ids of events stay known',
    )
    .option('--older-than <days>', 'those received longer ago', parseCount)
    .option(
      '--max-size <size>',
      'the oldest but for those of the last hour, while the database is larger than this: 500mb, 20gb',
    )
  asEventCommand(prune, 'prune --older-than 30').action(async (options: PruneOptions) => {
    await withEvents(options, async (opened) => {
      const { olderThan, maxSize } = options
      if (olderThan === undefined && maxSize === undefined)
        throw new InboxError('usage', 'expected --older-than <days>, --max-size <size>, or both')
      const body = { older_than_days: olderThan ?? null, max_bytes: maxSize === undefined ? null : toBytes(maxSize) }
      printResult(await opened.call('prune', { body }), options, ({ events, quarantined, too_large }) => {
        const bodies = quarantined === 1 ? '1 body' : `${quarantined} bodies`
        const beside = quarantined === 0 ? '' : `; ${bodies} in quarantine as well`
        const left = too_large ? `; ${stillTooLarge}` : ''
        return `${events === 1 ? '1 event was pruned' : `${events} events were pruned`}${beside}${left}`
      })
    })
  })
}

function toBytes(text: string): number {
  const size = byteSize(2 ** 50).safeParse(text)
  if (size.success) return size.data
  throw new InboxError('usage', '--max-size: expected a size such as 500mb or 20gb')
}
