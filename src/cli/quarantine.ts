import type { Command } from 'commander'
import type { RetriedJson } from '../admin/acts.ts'
import type { ListJson, QuarantinedDetailJson, QuarantinedJson } from '../admin/json.ts'
import { InboxError } from '../errors.ts'
import { safeText } from '../log.ts'
import { asEventCommand, collect, moreLine, parseCount, withEvents, type EventCommandOptions } from './event-command.ts'
import { printError, printRaw, printResult, renderTable, times } from './output.ts'

interface ListOptions extends EventCommandOptions {
  readonly limit: number
  readonly cursor?: string
}

interface ShowOptions extends EventCommandOptions {
  readonly raw?: boolean
}

interface RetryOptions extends EventCommandOptions {
  readonly all?: boolean
}

interface DropOptions extends EventCommandOptions {
  readonly reason: string
}

/** `onchain-inbox quarantine list|show|retry|drop`: authentic bytes that are no usable event. */
export function addQuarantineCommand(program: Command): void {
  const quarantine = program.command('quarantine').description('look at signed bodies that are no usable event')

  const list = quarantine
    .command('list')
    .description('list the bodies, newest first')
    .option('--limit <number>', 'how many', parseCount, 50)
    .option('--cursor <cursor>', 'go on behind an earlier list')
  asEventCommand(list, 'quarantine list').action(async (options: ListOptions) => {
    const { cursor, limit } = options
    await withEvents(options, async (opened) => {
      const start = cursor === undefined ? {} : { cursor }
      printResult(await collect((query) => opened.listQuarantine(query), start, limit), options, renderBodies)
    })
  })

  const show = quarantine
    .command('show')
    .description('show a body')
    .argument('<id>', 'its id: sha256:…')
    .option('--raw', 'write the exact bytes, and nothing else')
  asEventCommand(show, 'quarantine show sha256:9f86…').action(async (id: string, options: ShowOptions) => {
    await withEvents(options, async (opened) => {
      const body = await opened.showQuarantined(id)
      if (options.raw) printRaw(Buffer.from(body.raw_base64, 'base64'))
      else printResult(body, options, renderBody)
    })
  })

  const retry = quarantine
    .command('retry')
    .description('read bodies as events once more, after an update that understands them')
    .argument('[id...]', 'ids of bodies')
    .option('--all', 'all of them')
  asEventCommand(retry, 'quarantine retry --all').action(async (ids: readonly string[], options: RetryOptions) => {
    const isAll = options.all ?? false
    if (isAll === ids.length > 0) {
      process.exitCode = printError(new InboxError('usage', 'expected either ids of bodies, or --all'), options)
      return
    }
    await withEvents(options, async (opened) => {
      const result = await opened.retryQuarantined(isAll ? { all: true } : { ids })
      printResult(result, options, renderRetried)
      if (result.still_unusable > 0) process.exitCode = 1
    })
  })

  const drop = quarantine
    .command('drop')
    .description('remove bodies for good')
    .argument('<id...>', 'ids of bodies')
    .requiredOption('--reason <text>', 'why; it is kept in the audit')
  asEventCommand(drop, 'quarantine drop sha256:9f86… --reason "a test of the sender"').action(
    async (ids: readonly string[], options: DropOptions) => {
      await withEvents(options, async (opened) => {
        const { dropped } = await opened.dropQuarantined({ ids, reason: options.reason })
        if (dropped === 0) throw new InboxError('not_found', 'none of these is in quarantine')
        printResult({ dropped }, options, () =>
          dropped === 1 ? '1 body was removed' : `${dropped} bodies were removed`,
        )
      })
    },
  )
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

function renderRetried({ accepted, known, still_unusable: left, unusable }: RetriedJson): string {
  const again = known === 0 ? '' : `, ${known} more were known already`
  const done = `${accepted === 1 ? '1 event was accepted' : `${accepted} events were accepted`}${again}`
  if (left === 0) return done
  return `${done}; ${left} no usable event still:\n\n${renderTable(
    ['id', 'reason'],
    unusable.map(({ id, reason }) => [id, reason]),
  )}`
}
