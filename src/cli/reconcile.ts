import type { Command } from 'commander'
import { setTimeout as wait } from 'node:timers/promises'
import type { ReconcileJson } from '../admin/reconcile.ts'
import { InboxError } from '../base/errors.ts'
import { time } from './arguments.ts'
import { host } from './host.ts'
import type { InboxCalls } from './inbox-calls.ts'
import { addInboxCommand, option, type InboxOptions } from './inbox-command.ts'
import { counted, createProgress, printResult } from './output.ts'
import { renderList } from './table.ts'

interface ReconcileOptions extends InboxOptions {
  readonly from: string
  readonly to: string
}

const pollMs = 500

/** `onchain-inbox reconcile`: lists trades of the service that no stored event names. Exit code 1 if the comparison didn't end well. */
export function addReconcileCommand(program: Command): void {
  const usage = {
    description: 'List trades of known wallets at the service that no stored event names',
    options: [
      option('--from <time>', 'trades at or after this time: ISO 8601, or an age such as 2h', time).default(
        time('2h'),
        '2h',
      ),
      option('--to <time>', 'trades before this time', time).default(new Date().toISOString(), 'now'),
    ],
    example: 'reconcile --from 2h',
    note: 'Needs a running `serve` with INBOX_API_URL and INBOX_API_KEY.',
  } as const
  addInboxCommand<undefined, ReconcileOptions>(program, 'reconcile', usage, (_, options) => async (opened) => {
    if (!opened.isLive) {
      throw new InboxError('admin_unreachable', 'no sidecar is running to ask the service: start `onchain-inbox serve`')
    }
    const { from, to } = options
    const ended = await waitFor(opened, await opened.call('startReconcile', { body: { from, to } }))
    printResult(ended, options, renderReconcile)
    if (ended.state !== 'done') host().exitCode = 1
  })
}

/** Follows a comparison to its end, or to the latest state that the sidecar knows. */
async function waitFor(opened: InboxCalls, started: ReconcileJson): Promise<ReconcileJson> {
  using progress = createProgress()
  let latest = started
  while (latest.state === 'running') {
    const { wallets, wallets_done: done } = latest
    progress.show(done / Math.max(1, wallets), `${done} of ${counted(wallets, 'wallet')}`)
    await wait(pollMs)
    const { reconcile } = await opened.call('getReconcile', {})
    if (reconcile?.id !== started.id) break
    latest = reconcile
  }
  return latest
}

function renderReconcile({ candidates, candidate_count: count, notes, ...result }: ReconcileJson): string {
  const end = result.state === 'done' ? '' : `${result.state}${result.error === null ? '' : `: ${result.error}`}; `
  const compared = `${end}${counted(result.trades, 'trade')} of ${counted(result.wallets, 'wallet')}, ${count} without an event`
  const list = renderList(['traded_at', 'network', 'wallet', 'tx_hash', 'summary'], candidates, null, '')
  return [compared, ...(count > 0 ? [list] : []), ...notes].join('\n\n')
}
