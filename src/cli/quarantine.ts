import type { Command } from 'commander'
import type { ListJson } from '../admin/wire.ts'
import type { DroppedBodiesJson, QuarantinedDetailJson, QuarantinedJson, RetriedJson } from '../admin/quarantine.ts'
import { InboxError } from '../base/errors.ts'
import { safeText } from '../base/log.ts'
import { asEventCommand, collect, moreLine, parseCount, withEvents, type EventCommandOptions } from './event-command.ts'
import { host } from './host.ts'
import { printRaw, printResult, renderTable, times } from './output.ts'

interface ListOptions extends EventCommandOptions {
  readonly limit: number
  readonly cursor?: string
  readonly reason?: string
}

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
    .option('--limit <number>', 'how many', parseCount, 50)
    .option('--cursor <cursor>', 'go on behind an earlier list')
  asEventCommand(list, 'quarantine list').action(async (options: ListOptions) => {
    const { cursor, limit, reason } = options
    await withEvents(options, async (opened) => {
      const start = { ...(cursor !== undefined && { cursor }), ...(reason !== undefined && { reason }) }
      printResult(
        await collect((query) => opened.call('listQuarantine', { query }), start, limit),
        options,
        renderBodies,
      )
    })
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
    const which = whichOf(ids, options.all, options.reason)
    if (which === null) {
      const message = 'expected either ids of bodies, --all, or --reason with a reason'
      throw new InboxError('usage', message)
    }
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
      const which = whichOf(ids, all, only)
      if (which === null) {
        const message = 'expected either ids of bodies, --all, or --only with a reason'
        throw new InboxError('usage', message)
      }
      await withEvents(options, async (opened) => {
        const result = await opened.call('dropQuarantine', { body: { ...which, reason, dryRun } })
        printResult(result, options, renderDropped)
      })
    },
  )
}

/** Which bodies, as the admin API takes it; null unless exactly one way was chosen. */
function whichOf(ids: readonly string[], all: boolean | undefined, reason: string | undefined) {
  const ways = [
    ...(ids.length === 0 ? [] : [{ ids }]),
    ...(all === true ? [{ all }] : []),
    ...(reason === undefined ? [] : [{ filter: { reason } }]),
  ]
  return ways.length === 1 ? (ways[0] ?? null) : null
}

function renderDropped({ dropped, dry_run: isDryRun }: DroppedBodiesJson): string {
  const bodies = dropped === 1 ? '1 body' : `${dropped} bodies`
  if (isDryRun) return `${bodies} would be removed`
  return dropped === 1 ? `${bodies} was removed` : `${bodies} were removed`
}

function renderBodies(list: ListJson<QuarantinedJson>): string {
  const rows = list.data.map((body) => [
    body.id,
    body.received_at,
    body.reason,
    String(body.size_bytes),
    String(body.count),
    safeText(body.preview, 60),
  ])
  const head = ['id', 'received', 'reason', 'bytes', 'came', 'begins with']
  return `${rows.length === 0 ? 'nothing is in quarantine' : renderTable(head, rows)}${moreLine(list)}`
}

function renderBody(body: QuarantinedDetailJson): string {
  const rows = [
    ['id', body.id],
    ['received', body.received_at],
    ['reason', body.reason],
    ['verified by secret', body.secret_label],
    ['size', `${body.size_bytes} bytes`],
    ['came', times(body.count)],
  ]
  return `${renderTable(['body', ''], rows)}\n\n${body.preview}`
}

function renderRetried({ accepted, known, still_unusable: left, unusable, dry_run: isDryRun }: RetriedJson): string {
  const again = known === 0 ? '' : `, ${known} more ${isDryRun ? 'are' : 'were'} known already`
  const was = isDryRun ? 'would be' : accepted === 1 ? 'was' : 'were'
  const done = `${accepted === 1 ? '1 event' : `${accepted} events`} ${was} accepted${again}`
  if (left === 0) return done
  return `${done}; ${left} no usable event still:\n\n${renderTable(
    ['id', 'reason'],
    unusable.map(({ id, reason }) => [id, reason]),
  )}`
}
