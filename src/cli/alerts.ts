import { InvalidArgumentError, Option, type Command } from 'commander'
import type { NetworkId } from '../../schema/index.ts'
import { alertTypes, type AlertType } from '../../schema/rest/alert.ts'
import { ApiError, type Alert } from '../client/index.ts'
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
import { networkOption, renderFacts } from './rest-parts.ts'

interface CreateOptions extends RestCommandOptions {
  readonly type: AlertType
  readonly address: string
  readonly network: NetworkId
  readonly threshold: number
  readonly webhookUrl: string
  readonly label?: string
}

/** `onchain-inbox alerts create|list` (R57, R58). */
export function addAlertsCommand(program: Command): void {
  const alerts = program.command('alerts').description('create and list the alerts of the account in the service')

  const create = alerts
    .command('create')
    .description('create an alert; the same twice makes two')
    .addOption(new Option('--type <type>', 'what it watches for').choices(alertTypes).makeOptionMandatory())
    .requiredOption('--address <address>', 'the token or wallet that it watches')
    .addOption(networkOption().makeOptionMandatory())
    .requiredOption('--threshold <number>', 'USD for price alerts, percent for volume_spike', parseThreshold)
    .requiredOption('--webhook-url <url>', 'the https URL that gets a POST when it triggers')
    .option('--label <text>', 'a label for people')
  asRestCommand(
    create,
    'alerts create --type price_above --address 0x6982508145454ce325ddbe47a25d4ec3d2311933 --network ethereum --threshold 2 ' +
      '--webhook-url https://inbox.example.com/webhooks',
  ).action(async (options: CreateOptions) => {
    const { type, address, network, threshold, webhookUrl, label } = options
    await withApi(options, async (api) => {
      const answer = await api.createAlert({ type, address, network, threshold, webhook_url: webhookUrl, label })
      printResult(exactly(answer) as Alert, options, (alert) => renderFacts('alert', alert))
    })
  })

  const list = alerts
    .command('list')
    .description('list the alerts of the account, where the service does that: it is not documented')
    .option('--limit <number>', 'how many', parseCount, 20)
    .option('--cursor <cursor>', 'go on behind an earlier list')
  asRestCommand(list, 'alerts list').action(async (options: RestListOptions) => {
    const { limit, cursor } = options
    await withApi(options, async (api) => {
      const found = await collectPages((query) => api.listAlerts(query).page(), limit, cursor).catch(noList)
      printResult(found, options, renderAlerts)
    })
  })
}

/** It is no mistake of the caller's if the service does not list alerts: no page of its says that it does (A22). */
function noList(error: unknown): never {
  if (!(error instanceof ApiError) || (error.status !== 404 && error.status !== 405 && error.status !== 501))
    throw error
  const request = error.requestId === null ? '' : ` (request ${error.requestId})`
  throw new InboxError(
    'api_refused',
    `this service gives no list of alerts: it answered ${error.status}${request}. Look them up in its dashboard`,
    { cause: error },
  )
}

function parseThreshold(text: string): number {
  const value = /^\d+(?:\.\d+)?(?:e[+-]?\d{1,3})?$/i.test(text) ? Number(text) : Number.NaN
  if (value > 0 && Number.isFinite(value)) return value
  throw new InvalidArgumentError('Expected a number above 0.')
}

function renderAlerts(list: ApiList<Alert>): string {
  const rows = list.data.map((alert) => [
    alert.alert_id,
    alert.status,
    alert.type,
    alert.network,
    alert.address,
    cellOf(alert.threshold),
    cellOf(alert.label),
    alert.created_at,
  ])
  const head = ['id', 'status', 'type', 'network', 'address', 'threshold', 'label', 'created']
  return `${rows.length === 0 ? 'no alerts' : renderTable(head, rows)}${moreLine(list)}`
}
