import type { Command } from 'commander'
import { parseDuration } from '../emulator/duration.ts'
import { InboxError } from '../base/errors.ts'
import { asControlCommand, openControl, type ControlOptions, type ControlClient } from './control-client.ts'
import { printDelivery } from './follow-deliveries.ts'
import { counted, printResult } from './output.ts'

interface ReplayOptions extends ControlOptions {
  readonly since?: string
  readonly endpoint?: string
  readonly type?: string
  readonly dryRun?: boolean
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
  asControlCommand(replay, [
    'emulator replay dlv_3k9x',
    'emulator replay --since 2h --type wallet.large_trade --dry-run',
  ]).action(async (id: string | undefined, options: ReplayOptions) => {
    const { since, endpoint, type, dryRun } = options
    if (id === undefined ? since === undefined : (since ?? endpoint ?? type ?? dryRun) !== undefined)
      throw new InboxError('usage', 'expected either the id of a delivery, or --since and its options')
    const client = await openControl(options)
    if (id !== undefined) printDelivery(await client.replay(id), options)
    else if (since !== undefined) await replaySince(client, since, options)
  })
}

async function replaySince(client: ControlClient, text: string, options: ReplayOptions): Promise<void> {
  const { endpoint, type, dryRun = false } = options
  const since = await toMoment(client, text)
  const filter = { since, ...(type !== undefined && { type }), ...(endpoint !== undefined && { endpoint }) }
  const { matched, replayed } = await client.replayAll({ ...filter, dryRun })
  printResult({ msg: dryRun ? 'counted' : 'replayed', since, matched, replayed }, options, () => {
    if (dryRun) return `${counted(matched, 'delivery', 'deliveries')} would be replayed`
    const note = matched > replayed ? `; ${matched - replayed} are left: run the command again` : ''
    return `${counted(replayed, 'delivery', 'deliveries')} replayed${note}; \`emulator tail\` shows their attempts`
  })
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
