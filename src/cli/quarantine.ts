import type { Command } from 'commander'
import type { DroppedBodiesJson, QuarantinedDetailJson, QuarantinedJson, RetriedJson } from '../admin/quarantine.ts'
import { safeText } from '../base/log.ts'
import {
  asCallCommand,
  asEventCommand,
  asListCommand,
  onlyWay,
  withEvents,
  type EventCommandOptions,
} from './event-command.ts'
import { asGroup, printRaw, printResult, renderTable, counted } from './output.ts'

interface ShowOptions extends EventCommandOptions {
  readonly raw?: boolean
}

interface RetryOptions extends EventCommandOptions {
  readonly all?: boolean
  readonly reason?: string
  readonly dryRun?: boolean
}

interface DropOptions extends EventCommandOptions {
  readonly all?: boolean
  readonly only?: string
  readonly reason: string
  readonly dryRun?: boolean
}

/** `onchain-inbox quarantine list|show|retry|drop`: signed bodies that are not valid events. */
export function addQuarantineCommand(program: Command): void {
  const quarantine = asGroup(
    program.command('quarantine').description('List, retry and drop signed bodies that are not valid events'),
    'quarantine list',
  )

  const list = quarantine
    .command('list')
    .description('List quarantined bodies, newest first')
    .option('--reason <code>', 'only bodies with this reason, as in the list')
  asListCommand<QuarantinedJson>(list, {
    filters: ['reason'],
    example: 'quarantine list',
    fetch: (opened, query) => opened.call('listQuarantine', { query }),
    none: 'quarantine is empty',
    columns: {
      id: (body) => body.id,
      received: (body) => body.received_at,
      reason: (body) => body.reason,
      bytes: (body) => String(body.size_bytes),
      deliveries: (body) => String(body.count),
      'begins with': (body) => safeText(body.preview, 60),
    },
  })

  const show = quarantine
    .command('show')
    .description('Show a quarantined body')
    .argument('<id>', 'id of the body: sha256:…')
    .option('--raw', 'write only the exact bytes')
  asEventCommand(show, 'quarantine show sha256:9f86…').action(async (id: string, options: ShowOptions) => {
    await withEvents(options, async (opened) => {
      const body = await opened.call('getQuarantined', { id })
      if (options.raw) printRaw(Buffer.from(body.raw_base64, 'base64'))
      else printResult(body, options, renderBody)
    })
  })

  const retry = quarantine
    .command('retry')
    .description('Parse quarantined bodies again, after an update')
    .argument('[id...]', 'ids of bodies')
    .option('--all', 'all bodies')
    .option('--reason <code>', 'all with this reason, as in `quarantine list`')
    .option('--dry-run', 'only count what would be accepted')
  asCallCommand(retry, 'retryQuarantine', {
    example: 'quarantine retry --all',
    toRequest: (ids: readonly string[], { all, reason, dryRun = false }: RetryOptions) => ({
      body: { ...whichOf(ids, all, reason, '--reason'), dryRun },
    }),
    render: renderRetried,
    exitCode: (result) => (result.still_unusable > 0 ? 1 : 0),
  })

  const drop = quarantine
    .command('drop')
    .description('Delete quarantined bodies for good')
    .argument('[id...]', 'ids of bodies')
    .option('--all', 'all bodies')
    .option('--only <code>', 'all with this reason, as in `quarantine list`')
    .option('--dry-run', 'only count them')
    .requiredOption('--reason <text>', 'why; stored in the audit log')
  asCallCommand(drop, 'dropQuarantine', {
    example: 'quarantine drop sha256:9f86… --reason "a test of the sender"',
    toRequest: (ids: readonly string[], { all, only, reason, dryRun = false }: DropOptions) => ({
      body: { ...whichOf(ids, all, only, '--only'), reason, dryRun },
    }),
    render: renderDropped,
  })
}

/** The selection of bodies, as the admin API takes it. */
function whichOf(ids: readonly string[], all: boolean | undefined, reason: string | undefined, option: string) {
  return onlyWay(
    [
      ...(ids.length === 0 ? [] : [{ ids }]),
      ...(all === true ? [{ all }] : []),
      ...(reason === undefined ? [] : [{ filter: { reason } }]),
    ],
    `ids of bodies, --all, or ${option} <code>`,
  )
}

function renderDropped({ dropped, dry_run: isDryRun }: DroppedBodiesJson): string {
  const bodies = counted(dropped, 'body', 'bodies')
  if (isDryRun) return `${bodies} would be removed`
  return dropped === 1 ? `${bodies} was removed` : `${bodies} were removed`
}

function renderBody(body: QuarantinedDetailJson): string {
  const rows = [
    ['id', body.id],
    ['received', body.received_at],
    ['reason', body.reason],
    ['verified by secret', body.secret_label],
    ['size', `${body.size_bytes} bytes`],
    ['deliveries', String(body.count)],
  ]
  return `${renderTable(['body', ''], rows)}\n\n${body.preview}`
}

function renderRetried({ accepted, known, still_unusable: left, unusable, dry_run: isDryRun }: RetriedJson): string {
  const again = known === 0 ? '' : `, ${known} already known`
  const was = isDryRun ? 'would be' : accepted === 1 ? 'was' : 'were'
  const done = `${counted(accepted, 'event')} ${was} accepted${again}`
  if (left === 0) return done
  return `${done}; ${left} still not valid:\n\n${renderTable(
    ['id', 'reason'],
    unusable.map(({ id, reason }) => [id, reason]),
  )}`
}
