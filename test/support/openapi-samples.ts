import { networkIds } from '../../schema/index.ts'
import type { RestStage } from '../integration/emulator-rest-stage.ts'
import type { Json } from './api-document.ts'
import { toTyped } from './openapi-contract.ts'
import type { ApiDocument, DocumentedParameter } from './openapi-document.ts'
import type { Asked } from './openapi-stage.ts'

const webhookUrl = 'https://hooks.example.com/a?b=c'
const alertTypes = ['price_above', 'price_below', 'volume_spike', 'whale_buy', 'whale_sell']

/** Valid requests of each operation, with addresses and identifiers of the stage. */
export function createSamples(
  { webhooks }: Pick<ApiDocument, 'webhooks'>,
  stage: RestStage,
): (operationId: string) => readonly Asked[] {
  const { accounts, accountId, world } = stage
  const tokens = world.views.tokens().map(({ network, address }) => ({ params: { address }, query: { network } }))
  const wallets = networkIds.flatMap((network) =>
    someWallets(stage, network).map(({ address }) => ({ params: { address }, query: { network } })),
  )
  const alertBodies = tokens.slice(0, 40).map(({ params, query }, index) => ({
    type: alertTypes[index % alertTypes.length] ?? '',
    ...params,
    ...query,
    threshold: 1e9 + index,
    webhook_url: webhookUrl,
  }))
  const newAlertId = () =>
    accounts.addAlert(accountId, {
      type: 'price_above',
      network: 'base',
      address: world.views.tokens().find(({ network }) => network === 'base')!.address,
      threshold: 1e9,
      webhookUrl,
      label: null,
    }).alertId
  const newWebhookId = () => accounts.addWebhook(accountId, { url: webhookUrl, events: ['*'] }).webhook.webhookId
  const newWebhook = { url: webhookUrl, events: [...webhooks.keys(), 'token.volume_spike'] }

  const samples: Readonly<Record<string, () => readonly Asked[]>> = {
    getWallet: () => wallets,
    getWalletPortfolio: () => wallets,
    getWalletPnl: () => wallets,
    listWalletTrades: () => wallets.flatMap((one) => [one, withTradedToken(stage, one)]),
    getToken: () => tokens,
    searchTokens: () => [
      { query: { q: 'a' } },
      { query: { q: 'nothing is called like this' } },
      ...tokens.slice(0, 3).map(({ params }) => ({ query: { q: params.address } })),
      ...networkIds.map((network) => ({ query: { q: 'e', network } })),
    ],
    createAlert: () => alertBodies.flatMap((body) => [{ body }, { body: { ...body, label: 'Grüße 🐋' } }]),
    listAlerts: () => [{}],
    getAlert: () => [{ params: { alert_id: newAlertId() } }],
    deleteAlert: () => [{ params: { alert_id: newAlertId() } }],
    listNetworks: () => [{}],
    createWebhook: () => [
      { body: newWebhook },
      { body: { url: 'http://127.0.0.1:9/', events: ['*'], secret: 'a secret of 16 characters' } },
    ],
    listWebhooks: () => [{}],
    getWebhook: () => [{ params: { webhook_id: newWebhookId() } }],
    updateWebhook: () =>
      [{ url: `${webhookUrl}1` }, { events: ['*'] }, { secret: 'another of 16 characters' }, newWebhook].map(
        (body) => ({
          params: { webhook_id: newWebhookId() },
          body,
        }),
      ),
    deleteWebhook: () => [{ params: { webhook_id: newWebhookId() } }],
  }
  return (operationId) => {
    const make = samples[operationId]
    if (make === undefined) throw new RangeError(`no sample of ${operationId}`)
    return make()
  }
}

/** Wallets with many tokens, wallets with many trades, and some others. */
function someWallets({ world: { views } }: RestStage, network: string) {
  const found = views.wallets().filter((one) => one.network === network && one.tradeCount > 0)
  const holdings = new Map(found.map((one) => [one, views.overview(one).total_tokens_held]))
  const byHoldings = found.toSorted((a, b) => (holdings.get(b) ?? 0) - (holdings.get(a) ?? 0))
  const byTrades = found.toSorted((a, b) => b.tradeCount - a.tradeCount)
  return [...byHoldings.slice(0, 2), ...byTrades.slice(0, 2), ...found.slice(0, 8)]
}

function withTradedToken(stage: RestStage, { params, query }: { params: { address: string }; query: Json }): Asked {
  const { views } = stage.world
  const wallet = views.findWallet(query['network'], params.address)
  if (wallet === null) throw new RangeError('unknown wallet')
  const asOf = { at: stage.world.now(), seq: stage.world.seq() }
  const [trade] = views.trades(wallet, { limit: 1, after: null, asOf }, null).items
  return { params, query: { ...query, token: trade?.token_out.address ?? '', limit: '100' } }
}

/** Documented values of a parameter: of a closed list, bounds and default. */
export function documentedValues({ schema }: Pick<DocumentedParameter, 'schema'>): readonly string[] {
  const named: readonly string[] = schema['enum'] ?? []
  const bounds = [schema['minimum'], schema['maximum'], schema['default']]
  return [...named, ...bounds.filter((one) => one !== undefined).map(String)]
}

const words = 'x X -1 0 101 1.5 1e1 0x10 ５ null 24H Ethereum * . / //x ../x %2e ;x=1 [] {} <x> \' " \\'
const texts = ['', ' ', ' 5', '\u0000', '\u202e☃', 'a'.repeat(3_000), `0x${'g'.repeat(40)}`, ...words.split(' ')]

/** Texts that the document doesn't allow for a parameter. */
export function wrongTexts(document: ApiDocument, { in: place, schema }: DocumentedParameter): readonly string[] {
  const invented = place === 'path' ? texts.filter((text) => !['', '.', '..'].includes(text)) : texts
  return invented.filter((text) => document.problemsOf(schema, toTyped(text, schema)).length > 0)
}

// unit/openapi.test.ts checks more values.
const jsonTexts = 'null true 0 -1 1e308 "" "x" "*" [] {} [null] ["*","*"] [{}]'
const jsonValues: readonly unknown[] = [...jsonTexts.split(' ').map((text) => JSON.parse(text)), 'a'.repeat(3_000)]

/** JSON values that the document doesn't allow for a member. */
export function wrongJson(document: ApiDocument, schema: Json): readonly unknown[] {
  return jsonValues.filter((value) => document.problemsOf(schema, value).length > 0)
}
