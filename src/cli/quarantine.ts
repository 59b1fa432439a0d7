import type { Command } from 'commander'
import type { RetriedJson } from '../admin/quarantine.ts'
import {
  addCallCommand,
  addInboxCommand,
  addListCommand,
  definedOf,
  exitCodeOf,
  option,
  selectionOf,
  type InboxOptions,
} from './inbox-command.ts'
import { withExamples, counted, printRaw, printResult } from './output.ts'
import { renderList, renderRecord } from './table.ts'

interface BulkOptions extends InboxOptions {
  readonly all?: boolean
  readonly only?: string
  readonly reason?: string
  readonly dryRun?: boolean
}

const ids = ['[id...]', 'ids of bodies'] as const
const all = option('--all', 'all bodies')

/** The selection of bodies, as the admin API takes it. `flag`: the option with the reason. */
function which(ids: readonly string[], { all }: BulkOptions, reason: string | undefined, flag: string): object {
  return selectionOf({ ids }, all, definedOf({ reason }, ['reason']), `ids of bodies, --all, ${flag} <code>`)
}

/** `onchain-inbox quarantine list|show|retry|drop`: signed bodies that are not valid events. */
export function addQuarantineCommand(program: Command): void {
  const quarantine = withExamples(
    program.command('quarantine').description('List, retry and drop signed bodies that are not valid events'),
    ['quarantine list'],
  )
  addListCommand(quarantine, 'list', 'listQuarantine', {
    description: 'List quarantined bodies, newest first',
    options: [option('--reason <code>', 'only bodies with this reason, as in the list')],
    example: 'quarantine list',
    columns: 'id received_at reason size_bytes count preview',
    none: 'quarantine is empty',
  })
  addInboxCommand<string, InboxOptions & { readonly raw?: boolean }>(
    quarantine,
    'show',
    {
      description: 'Show a quarantined body',
      argument: ['<id>', 'id of the body: sha256:…'],
      options: [option('--raw', 'write only the exact bytes')],
      example: 'quarantine show sha256:9f86…',
    },
    (id, options) => async (opened) => {
      const body = await opened.call('getQuarantined', { id })
      if (options.raw) printRaw(Buffer.from(body.raw_base64, 'base64'))
      else printResult(body, options, ({ raw_base64: _bytes, ...shown }) => renderRecord('body', shown))
    },
  )
  addCallCommand(quarantine, 'retry', 'retryQuarantine', {
    description: 'Parse quarantined bodies again, after an update',
    argument: ids,
    options: [
      all,
      option('--reason <code>', 'all with this reason, as in `quarantine list`'),
      option('--dry-run', 'only count what would be accepted'),
    ],
    example: 'quarantine retry --all',
    toRequest: (ids: readonly string[] = [], options: BulkOptions) => ({
      body: { ...which(ids, options, options.reason, '--reason'), dryRun: options.dryRun ?? false },
    }),
    render: renderRetried,
    exitCode: ({ accepted, known, still_unusable: unusableCount }, ids) =>
      unusableCount > 0 ? 1 : exitCodeOf(accepted + known, ids),
  })
  addCallCommand(quarantine, 'drop', 'dropQuarantine', {
    description: 'Delete quarantined bodies for good',
    argument: ids,
    options: [
      all,
      option('--only <code>', 'all with this reason, as in `quarantine list`'),
      option('--dry-run', 'only count them'),
      option('--reason <text>', 'why; stored in the audit log').makeOptionMandatory(),
    ],
    example: 'quarantine drop sha256:9f86… --reason "a test of the sender"',
    toRequest: (ids: readonly string[] = [], options: BulkOptions) => ({
      body: {
        ...which(ids, options, options.only, '--only'),
        reason: options.reason,
        dryRun: options.dryRun ?? false,
      },
    }),
    render: ({ dropped, dry_run: isDryRun }) =>
      `${counted(dropped, 'body', 'bodies')} ${isDryRun ? 'would be' : dropped === 1 ? 'was' : 'were'} removed`,
    exitCode: ({ dropped }, ids) => exitCodeOf(dropped, ids),
  })
}

function renderRetried({
  accepted,
  known,
  still_unusable: unusableCount,
  unusable,
  dry_run: isDryRun,
}: RetriedJson): string {
  const knownNote = known === 0 ? '' : `, ${known} already known`
  const verb = isDryRun ? 'would be' : accepted === 1 ? 'was' : 'were'
  const done = `${counted(accepted, 'event')} ${verb} accepted${knownNote}`
  return unusableCount === 0
    ? done
    : `${done}; ${unusableCount} still not valid:\n\n${renderList(['id', 'reason'], unusable)}`
}
