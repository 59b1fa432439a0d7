import type { Command } from 'commander'
import { parseDuration } from '../emulator/duration.ts'
import { InboxError } from '../base/errors.ts'
import { parseSeconds } from './arguments.ts'
import { asControlCommand, withControl, type ControlOptions, type ControlClient } from './control-client.ts'
import { followDeliveries, printDelivery } from './follow-deliveries.ts'
import { counted, printResult } from './output.ts'

interface ReplayOptions extends ControlOptions {
  readonly since?: string
  readonly endpoint?: string
  readonly type?: string
  readonly dryRun?: boolean
  readonly yes?: boolean
  readonly timeout: number
}

/** `onchain-inbox emulator replay`: sends delivered or undelivered events again (R87, A46). */
export function addEmulatorReplayCommand(emulator: Command): void {
  const replay = emulator
    .command('replay')
    .description('Replay a delivery of a running emulator, or all undelivered ones')
    .argument('[delivery]', 'id of a delivery: `dlv_…`')
    .option('--since <time>', 'all undelivered since this world time: ISO 8601, or how long ago, such as 2h')
    .option('--endpoint <id>', 'with --since: only those to this webhook or alert')
    .option('--type <type>', 'with --since: only events of this type')
    .option('--dry-run', 'with --since: only count them')
    .option('--yes', 'with --since: confirm the replay')
    .option('--timeout <seconds>', 'how long to follow the replay of one delivery', parseSeconds, 10)
  asControlCommand(replay, [
    'emulator replay dlv_3k9x',
    'emulator replay --since 2h --type wallet.large_trade --dry-run',
  ]).action(async (id: string | undefined, { since, ...options }: ReplayOptions) => {
    await withControl(options, async (client) => {
      if (id === undefined && since !== undefined) return replaySince(client, since, options)
      if (id === undefined || since !== undefined)
        throw new InboxError('usage', 'expected either the id of a delivery, or --since')
      const misplaced = (['endpoint', 'type', 'dryRun'] as const).find((name) => options[name] !== undefined)
      if (misplaced !== undefined)
        throw new InboxError('usage', '--endpoint, --type and --dry-run go with --since, not with one delivery')
      return replayOne(client, id, options)
    })
  })
}

async function replaySince(client: ControlClient, text: string, options: Omit<ReplayOptions, 'since'>): Promise<void> {
  const { endpoint, type, dryRun = false, yes = false } = options
  const since = await toMoment(client, text)
  const filter = { since, ...(type !== undefined && { type }), ...(endpoint !== undefined && { endpoint }) }
  const { matched } = await client.replayAll({ ...filter, dryRun: true })
  const wouldBe = `${counted(matched, 'delivery', 'deliveries')} would be replayed`
  if (dryRun || matched === 0) {
    printResult({ msg: 'counted', since, matched, replayed: 0 }, options, () => wouldBe)
    return
  }
  if (!yes) throw new InboxError('usage', `${wouldBe}: add --yes to replay them, or --dry-run to count only`)
  const { replayed } = await client.replayAll(filter)
  const note = matched > replayed ? `; ${matched - replayed} are left: run the command again` : ''
  printResult({ msg: 'replayed', since, replayed }, options, () => {
    return `${counted(replayed, 'delivery', 'deliveries')} replayed${note}; \`emulator tail\` shows their attempts`
  })
}

/** Replays one delivery, and prints it when it is settled. Returns exit code 0 if it was acknowledged in time. */
async function replayOne(client: ControlClient, id: string, options: ReplayOptions): Promise<0 | 1> {
  let isAcknowledged = false
  await followDeliveries({
    items: [await client.replay(id)],
    deliveriesOf: async ({ deliveryId }) => [await client.delivery(deliveryId)],
    timeoutMs: options.timeout * 1_000,
    onEnd(_, deliveries) {
      for (const delivery of deliveries) printDelivery(delivery, options)
      isAcknowledged = deliveries[0]?.state === 'acknowledged'
    },
  })
  return isAcknowledged ? 0 : 1
}

/** Parses a time, or a duration before now on the world clock. Returns ISO 8601. */
async function toMoment(client: ControlClient, text: string): Promise<string> {
  const agoMs = parseDuration(text)
  if (agoMs !== undefined) return new Date(Date.parse((await client.clock()).now) - agoMs).toISOString()
  const at = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : NaN
  if (!Number.isNaN(at)) return new Date(at).toISOString()
  throw new InboxError(
    'usage',
    '--since must be a time such as 2026-01-31T12:00:00Z, or how long ago, such as 90s, 15m or 2h',
  )
}
