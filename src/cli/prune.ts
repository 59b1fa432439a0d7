import { InvalidArgumentError, type Command } from 'commander'
import { byteSize } from '../config/values.ts'
import { InboxError } from '../base/errors.ts'
import { parseCount } from './arguments.ts'
import { addCallCommand, option, type InboxOptions } from './inbox-command.ts'
import { counted } from './output.ts'

interface PruneOptions extends InboxOptions {
  readonly olderThan?: number
  readonly maxSize?: number
}

const stillTooLarge =
  '; the database is still larger, but nothing else may be pruned: open runs, dead letters, the last hour and the newest bodies ' +
  '(half of that size) are kept'

/** `onchain-inbox prune`: deletes old bodies from the database now. */
export function addPruneCommand(program: Command): void {
  addCallCommand(program, 'prune', 'prune', {
    description: 'Delete old bodies of finished events and quarantine, and free space',
    options: [
      option('--older-than <days>', 'bodies received more than this many days ago: 30 or 30d', toDays),
      option(
        '--max-size <size>',
        'the oldest bodies while the database is larger, except the last hour: 500mb, 20gb',
        toBytes,
      ),
    ],
    example: 'prune --older-than 30',
    note: 'Event ids are kept, so duplicates are still recognized.',
    toRequest(_: undefined, { olderThan, maxSize }: PruneOptions) {
      if (olderThan === undefined && maxSize === undefined)
        throw new InboxError('usage', 'expected --older-than <days>, --max-size <size>, or both')
      return { body: { older_than_days: olderThan ?? null, max_bytes: maxSize ?? null } }
    },
    render({ events, quarantined, too_large: isTooLarge }) {
      const bodies = quarantined === 0 ? '' : `; ${counted(quarantined, 'body', 'bodies')} in quarantine`
      return `${counted(events, 'event was', 'events were')} pruned${bodies}${isTooLarge ? stillTooLarge : ''}`
    },
  })
}

function toDays(text: string): number {
  return parseCount(text.replace(/(?<=\d)d$/, ''))
}

function toBytes(text: string): number {
  const size = byteSize(2 ** 50).safeParse(text)
  if (size.success) return size.data
  throw new InvalidArgumentError('Expected a size such as 500mb or 20gb.')
}
