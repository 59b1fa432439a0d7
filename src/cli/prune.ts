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
  'the database is still larger, but nothing else may be pruned: open runs, dead letters, the last hour and the newest bodies ' +
  '(half of that size) are kept'

/** `onchain-inbox prune`: deletes old bodies from the database now. */
export function addPruneCommand(program: Command): void {
  const prune = program
    .command('prune')
    .description('Delete old bodies of finished events and quarantine, and free space')
    .option('--older-than <days>', 'bodies received more than this many days ago', parseCount)
    .option('--max-size <size>', 'the oldest bodies while the database is larger, except the last hour: 500mb, 20gb')
  const note = 'Event ids are kept, so duplicates are still recognized.'
  asEventCommand(prune, 'prune --older-than 30', note).action(async (options: PruneOptions) => {
    await withEvents(options, async (opened) => {
      const { olderThan, maxSize } = options
      if (olderThan === undefined && maxSize === undefined)
        throw new InboxError('usage', 'expected --older-than <days>, --max-size <size>, or both')
      const body = { older_than_days: olderThan ?? null, max_bytes: maxSize === undefined ? null : toBytes(maxSize) }
      printResult(await opened.call('prune', { body }), options, ({ events, quarantined, too_large }) => {
        const bodies = quarantined === 1 ? '1 body' : `${quarantined} bodies`
        const beside = quarantined === 0 ? '' : `; ${bodies} in quarantine`
        const left = too_large ? `; ${stillTooLarge}` : ''
        return `${events === 1 ? '1 event was pruned' : `${events} events were pruned`}${beside}${left}`
      })
    })
  })
}

function toBytes(text: string): number {
  const size = byteSize(2 ** 50).safeParse(text)
  if (size.success) return size.data
  throw new InboxError('usage', '--max-size must be a size such as 500mb or 20gb')
}
