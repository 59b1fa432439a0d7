import type { Command } from 'commander'
import { createInterface } from 'node:readline/promises'
import { parseDuration } from '../emulator/duration.ts'
import { InboxError } from '../base/errors.ts'
import { parseSeconds } from './arguments.ts'
import { asControlCommand, withControl, type ControlOptions, type ControlClient } from './control-client.ts'
import type { ReplayRequest, ShownDelivery } from '../emulator/control/deliveries.ts'
import { followDeliveries, printDelivery } from './follow-deliveries.ts'
import { host } from './host.ts'
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
    .option('--yes', "don't ask for confirmation")
    .option('--timeout <seconds>', 'how long to follow the replays', parseSeconds, 10)
  asControlCommand(replay, [
    'emulator replay dlv_3k9x',
    'emulator replay --since 2h --type wallet.large_trade --dry-run',
  ]).action(async (id: string | undefined, options: ReplayOptions) => {
    await withControl(options, async (client) => {
      const { since } = options
      if (id !== undefined && since === undefined) return replayOne(client, id, options)
      if (id === undefined && since !== undefined) return replaySince(client, since, options)
      throw new InboxError('usage', 'expected either the id of a delivery, or --since')
    })
  })
}

/** Returns exit code 0 if acknowledged. */
async function replayOne(client: ControlClient, id: string, options: ReplayOptions): Promise<0 | 1> {
  const given = (['endpoint', 'type', 'dryRun'] as const).find((name) => options[name] !== undefined)
  if (given !== undefined) {
    const name = given === 'dryRun' ? 'dry-run' : given
    throw new InboxError('usage', `--${name} goes with --since, not with one delivery`)
  }
  return (await follow(client, [await client.replay(id)], options)) === 1 ? 0 : 1
}

/** Returns exit code 0 if only counted, or all are acknowledged. */
async function replaySince(client: ControlClient, since: string, options: ReplayOptions): Promise<0 | 1> {
  const { endpoint, type, dryRun = false, yes = false } = options
  const filter: ReplayRequest = {
    since: await toMoment(client, since),
    ...(endpoint !== undefined && { endpoint }),
    ...(type !== undefined && { type }),
  }
  if (dryRun || !yes) {
    const found = await client.replayAll({ ...filter, dryRun: true })
    const isWanted = !dryRun && found.matched > 0 && (await confirm(found.matched))
    if (!isWanted) {
      const result = { msg: 'counted', since: filter.since, ...found }
      printResult(result, options, ({ matched }) => `${several(matched)} would be replayed`)
      return 0
    }
  }
  const replays = await replayAll(client, filter)
  const result = { msg: 'replayed', since: filter.since, replayed: replays.length }
  printResult(result, options, ({ replayed }) => `${several(replayed)} replayed`)
  if (replays.length === 0) return 0
  const acknowledged = await follow(client, replays, options)
  const finished = { msg: 'finished', acknowledged, notAcknowledged: replays.length - acknowledged }
  printResult(finished, options, ({ notAcknowledged }) => `${acknowledged} acknowledged, ${notAcknowledged} not`)
  return finished.notAcknowledged === 0 ? 0 : 1
}

/** Follows replays and prints each when it is settled. Returns how many were acknowledged in time. */
async function follow(
  client: ControlClient,
  replays: readonly ShownDelivery[],
  options: ReplayOptions,
): Promise<number> {
  let acknowledged = 0
  await followDeliveries({
    items: replays,
    deliveriesOf: async ({ deliveryId }) => [await client.delivery(deliveryId)],
    timeoutMs: options.timeout * 1_000,
    onEnd(_, deliveries) {
      for (const delivery of deliveries) printDelivery(delivery, options)
      if (deliveries[0]?.state === 'acknowledged') acknowledged++
    },
  })
  return acknowledged
}

/** Parses a time, or a duration before now on the world clock. Returns ISO 8601. */
async function toMoment(client: ControlClient, text: string): Promise<string> {
  const ago = parseDuration(text)
  if (ago !== undefined) return new Date(Date.parse((await client.clock()).now) - ago).toISOString()
  const at = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : NaN
  if (!Number.isNaN(at)) return new Date(at).toISOString()
  throw new InboxError(
    'usage',
    '--since must be a time such as 2026-01-31T12:00:00Z, or how long ago, such as 90s, 15m or 2h',
  )
}

/** Asks on the terminal. Throws `usage` without a terminal. */
async function confirm(count: number): Promise<boolean> {
  if (!host().stdin.isTTY || !host().stderr.isTTY) {
    throw new InboxError(
      'usage',
      `${several(count)} would be replayed: add --yes to replay them, or --dry-run to count only`,
    )
  }
  const terminal = createInterface({ input: host().stdin, output: host().stderr })
  try {
    return /^y(?:es)?$/i.test((await terminal.question(`Replay ${several(count)}? [y/N] `)).trim())
  } finally {
    terminal.close()
  }
}

const several = (count: number) => counted(count, 'delivery', 'deliveries')

const perPage = 1_000

/** Replays all matching deliveries (A46), in as many requests as needed. Returns the replays in their order. */
export async function replayAll(client: ControlClient, filter: ReplayRequest): Promise<readonly ShownDelivery[]> {
  const { type, endpoint } = filter
  const narrowed = { ...(type !== undefined && { type }), ...(endpoint !== undefined && { endpoint }) }
  const [newest] = await client.deliveries({ limit: 1 })
  const { matched, replayed } = await client.replayAll(filter)
  // A replay that fails again matches again, after all others: the first count is the limit.
  for (let [done, last] = [replayed, replayed]; last > 0 && done < matched; done += last) {
    ;({ replayed: last } = await client.replayAll(filter))
  }
  const before = newest?.deliveryId ?? ''
  const found: ShownDelivery[] = []
  for (;;) {
    const oldest = found.at(-1)
    const after = oldest === undefined ? {} : { after: oldest.deliveryId }
    const page = await client.deliveries({ ...narrowed, ...after, limit: perPage })
    // Newest first. Ids have one length and increase.
    const newer = page.filter(({ deliveryId }) => deliveryId > before)
    found.push(...newer)
    if (newer.length < perPage) return found.filter(({ isReplay }) => isReplay).toReversed()
  }
}
