import type { Command } from 'commander'
import type { DroppedBodiesJson, QuarantinedDetailJson, QuarantinedJson, RetriedJson } from '../admin/quarantine.ts'
import { safeText } from '../base/log.ts'
import { asEventCommand, asListCommand, onlyWay, withEvents, type EventCommandOptions } from './event-command.ts'
import { host } from './host.ts'
import { printRaw, printResult, renderTable, counted } from './output.ts'

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

/** `onchain-inbox quarantine list|show|retry|drop`: authentic bytes that are no usable event. */
export function addQuarantineCommand(program: Command): void {
  const quarantine = program.command('quarantine').description('look at signed bodies that are no usable event')

  const list = quarantine
    .command('list')
    .description('list the bodies, newest first')
    .option('--reason <code>', 'only those with this reason, as the list shows it')
  asListCommand<QuarantinedJson>(list, {
    filters: ['reason'],
    example: 'quarantine list',
    fetch: (opened, query) => opened.call('listQuarantine', { query }),
    none: 'nothing is in quarantine',
    columns: {
      id: (body) => body.id,
      received: (body) => body.received_at,
      reason: (body) => body.reason,
      bytes: (body) => String(body.size_bytes),
      came: (body) => String(body.count),
      'begins with': (body) => safeText(body.preview, 60),
    },
  })

  const show = quarantine
    .command('show')
    .description('show a body')
    .argument('<id>', 'its id: sha256:…')
    .option('--raw', 'write the exact bytes, and nothing else')
  asEventCommand(show, 'quarantine show sha256:9f86…').action(async (id: string, options: ShowOptions) => {
    await withEvents(options, async (opened) => {
      const body = await opened.call('getQuarantined', { id })
      if (options.raw) printRaw(Buffer.from(body.raw_base64, 'base64'))
      else printResult(body, options, renderBody)
    })
  })

  const retry = quarantine
    .command('retry')
    .description('read bodies as events once more, after an update that understands them')
    .argument('[id...]', 'ids of bodies')
    .option('--all', 'all of them')
    .option('--reason <code>', 'all with this reason, as `quarantine list` shows it')
    .option('--dry-run', 'only say what would become of them')
  asEventCommand(retry, 'quarantine retry --all').action(async (ids: readonly string[], options: RetryOptions) => {
    const which = whichOf(ids, options.all, options.reason, '--reason')
    await withEvents(options, async (opened) => {
      const result = await opened.call('retryQuarantine', { body: { ...which, dryRun: options.dryRun ?? false } })
      printResult(result, options, renderRetried)
      if (result.still_unusable > 0) host().exitCode = 1
    })
  })

  const drop = quarantine
    .command('drop')
    .description('remove bodies for good')
    .argument('[id...]', 'ids of bodies')
    .option('--all', 'all of them')
    .option('--only <code>', 'all with this reason, as `quarantine list` shows it')
    .option('--dry-run', 'only say how many there are')
    .requiredOption('--reason <text>', 'why; it is kept in the audit')
  asEventCommand(drop, 'quarantine drop sha256:9f86… --reason "a test of the sender"').action(
    async (ids: readonly string[], options: DropOptions) => {
      const { all, only, reason, dryRun = false } = options
      const which = whichOf(ids, all, only, '--only')
      await withEvents(options, async (opened) => {
        const result = await opened.call('dropQuarantine', { body: { ...which, reason, dryRun } })
        printResult(result, options, renderDropped)
      })
    },
  )
}

/** Which bodies, as the admin API takes it. */
function whichOf(ids: readonly string[], all: boolean | undefined, reason: string | undefined, option: string) {
  return onlyWay(
    [
      ...(ids.length === 0 ? [] : [{ ids }]),
      ...(all === true ? [{ all }] : []),
      ...(reason === undefined ? [] : [{ filter: { reason } }]),
    ],
    `ids of bodies, --all, or ${option} with a reason`,
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
    ['came', counted(body.count, 'time')],
  ]
  return `${renderTable(['body', ''], rows)}\n\n${body.preview}`
}

function renderRetried({ accepted, known, still_unusable: left, unusable, dry_run: isDryRun }: RetriedJson): string {
  const again = known === 0 ? '' : `, ${known} more ${isDryRun ? 'are' : 'were'} known already`
  const was = isDryRun ? 'would be' : accepted === 1 ? 'was' : 'were'
  const done = `${counted(accepted, 'event')} ${was} accepted${again}`
  if (left === 0) return done
  return `${done}; ${left} no usable event still:\n\n${renderTable(
    ['id', 'reason'],
    unusable.map(({ id, reason }) => [id, reason]),
  )}`
}
