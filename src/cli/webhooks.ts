import type { Command } from 'commander'
import { ApiError, type Webhook } from '../client/index.ts'
import { InboxError } from '../errors.ts'
import { moreLine, parseCount } from './event-command.ts'
import { printResult, renderTable } from './output.ts'
import {
  asRestCommand,
  cellOf,
  collectPages,
  exactly,
  withApi,
  type ApiList,
  type RestCommandOptions,
  type RestListOptions,
} from './rest-client.ts'

/** `onchain-inbox webhooks list|delete`: no page of the service says that it does these (A22). `subscribe` makes one. */
export function addWebhooksCommand(program: Command): void {
  const webhooks = program
    .command('webhooks')
    .description('list and delete the webhooks of the account in the service; subscribe registers one')

  const list = webhooks
    .command('list')
    .description('list the webhooks of the account, where the service does that: it is not documented')
    .option('--limit <number>', 'how many', parseCount, 20)
    .option('--cursor <cursor>', 'go on behind an earlier list')
  asRestCommand(list, 'webhooks list').action(async (options: RestListOptions) => {
    const { limit, cursor } = options
    await withApi(options, async (api) => {
      const fetchPage = (query: { readonly limit: number; readonly cursor: string | undefined }) =>
        api.listWebhooks(query).page()
      printResult(await collectPages(fetchPage, limit, cursor).catch(noList), options, renderWebhooks)
    })
  })

  const remove = webhooks
    .command('delete')
    .argument('<webhook_id>', 'its id: that of subscribe or of webhooks list')
    .description('delete a webhook, where the service does that: it is not documented')
  asRestCommand(remove, 'webhooks delete wh_4f9a1c').action(async (id: string, options: RestCommandOptions) => {
    await withApi(options, async (api) => {
      const answer = await api.deleteWebhook({ webhook_id: id }).catch(notDeleted)
      printResult(exactly(answer) as { readonly webhook_id: string }, options, () => `deleted ${id}`)
    })
  })
}

const lookThere = 'in the dashboard of the service'

/** It is no mistake of the caller's if the service does not do this (A22). */
function noList(thrown: unknown): never {
  throw refused(thrown, (answered) => `this service gives no list of webhooks: ${answered}. Look them up ${lookThere}`)
}

/** With 404 it may also be that only this one is not there. */
function notDeleted(thrown: unknown): never {
  throw refused(
    thrown,
    (answered) =>
      `nothing was deleted: there is no such webhook, or this service deletes none: ${answered}. Look ${lookThere}`,
  )
}

function refused(thrown: unknown, say: (answered: string) => string): unknown {
  if (!(thrown instanceof ApiError) || ![404, 405, 501].includes(thrown.status ?? 0)) return thrown
  const request = thrown.requestId === null ? '' : ` (request ${thrown.requestId})`
  return new InboxError('api_refused', say(`it answered ${thrown.status}${request}`), { cause: thrown })
}

function renderWebhooks(list: ApiList<Webhook>): string {
  const head = ['id', 'status', 'url', 'events', 'created']
  const rows = list.data.map((webhook) => [
    cellOf(webhook.webhook_id),
    cellOf(webhook.status),
    cellOf(webhook.url),
    cellOf(webhook.events),
    cellOf(webhook.created_at),
  ])
  return `${rows.length === 0 ? 'no webhooks' : renderTable(head, rows)}${moreLine(list)}`
}
