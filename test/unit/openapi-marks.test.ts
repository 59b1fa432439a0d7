import { readFileSync } from 'node:fs'
import { describe, expect, it, test } from 'vitest'
import { operationsOf, resolve, visit, type Json } from '../support/api-document.ts'

const document = JSON.parse(readFileSync('schema/openapi.json', 'utf8')) as Json
const operations = operationsOf(document)
const { schemas, responses, headers, securitySchemes } = document['components']

const operation = (name: string) => operations.find((one) => one.name === name)!.value
const parameter = (name: string, of: string) =>
  operation(name)['parameters'].find((one: Json) => one['name'] === of) as Json
const field = (path: string) =>
  path.split('.').reduce<Json>((schema, part) => (schema['properties'] ?? schema['items'].properties)[part], {
    properties: schemas,
  })

/** Each choice that the document shows, and where it must say so. */
const marks: [string, Json][] = [
  ['A1', field('PageMeta.latency_ms')],
  ['A2', operation('GET /contracts/{address}')],
  ['A2', operation('GET /liquidity/{address}')],
  ['A2', operation('GET /trending')],
  ['A2', responses.NotDocumented],
  ['A3', responses.MethodNotAllowed],
  ['A3', responses.NotFound],
  ['A3', responses.PayloadTooLarge],
  ['A3', responses.UnsupportedMediaType],
  ['A4', field('PlainMeta.timestamp')],
  ['A4', field('Trade.timestamp')],
  ['A5', field('WalletOverview.is_whale')],
  ['A6', field('Network.chain_id')],
  ['A6', field('Network.native_currency')],
  ['A7', schemas.Token],
  ['A8', schemas.Webhook],
  ['A8', schemas.CreatedWebhook],
  ['A9', parameter('GET /wallets/{address}', 'address')],
  ['A9', parameter('GET /wallets/{address}/trades', 'token')],
  ['A9', field('WalletOverview.address')],
  ['A9', field('NewAlert.address')],
  ['A10', field('Trade.tx_hash')],
  ['A11', operation('GET /wallets/{address}')],
  ['A11', responses.WalletNotFound],
  ['A12', field('PnlSummary.pnl').properties.realized_usd],
  ['A13', field('PnlSummary.pnl').properties.roi_pct],
  ['A14', field('NewAlert.threshold')],
  ['A15', field('NewAlert.threshold')],
  ['A16', field('Position.value_usd')],
  ['A16', field('Position.cost_basis_usd')],
  ['A17', field('Alert.status')],
  ['A18', field('Network.status')],
  ['A18', responses.NetworkUnavailable],
  ['A19', operation('POST /alerts')['responses']['201']],
  ['A19', operation('POST /webhooks')['responses']['201']],
  ['A20', parameter('GET /tokens/search', 'q')],
  ['A21', operation('GET /wallets/{address}/trades')],
  ['A22', operation('GET /alerts')],
  ['A22', operation('PATCH /webhooks/{webhook_id}')],
  ['A22', schemas.DeletedAlert],
  ['A22', schemas.WebhookChange],
  ['A23', field('NewWebhook.events')],
  ['A24', operation('POST /webhooks')],
  ['A25', field('NewWebhook.url')],
  ['A25', field('NewAlert.webhook_url')],
  ['A26', responses.LimitReached],
  ['A27', operation('POST /alerts')],
  ['A28', responses.InvalidApiKey],
  ['A28', responses.InsufficientScope],
  ['A28', headers.Challenge],
  ['A29', securitySchemes.apiKey],
  ['A29', operation('GET /tokens/{address}')],
  ['A29', operation('GET /networks')],
  ['A30', field('NewWebhook.secret')],
  ['A30', document['components'].parameters.Signature],
  ['A36', field('Token.risk_score')],
  ['A41', operation('POST /alerts')],
  ['A53', schemas.Error],
  ['A54', headers.RateReset],
  ['A56', headers.RetryAfter],
  ['A57', parameter('GET /wallets/{address}/portfolio', 'limit')],
  ['A58', parameter('GET /wallets/{address}/portfolio', 'cursor')],
  ['A59', operation('GET /wallets/{address}/portfolio')],
  ['A60', field('PageMeta.total')],
  ['A61', field('PageMeta.next_cursor')],
  ['A62', headers.Sunset],
  ['A64', field('NewAlert.threshold')],
  ['A64', field('NewAlert.label')],
]

test.each(marks)('%s is marked where it shows', (mark, value) => {
  expect(value['x-assumption']).toContain(mark)
})

describe('marks', () => {
  it('are lists of numbers without repeats, wherever they stand', () => {
    const seen = visit(document, (value) => {
      if (!Object.hasOwn(value, 'x-assumption')) return 0
      const list = value['x-assumption'] as string[]
      expect(list.length).toBeGreaterThan(0)
      expect(new Set(list).size).toBe(list.length)
      for (const mark of list) expect(mark).toMatch(/^A\d+$/)
      return 1
    })
    expect(seen).toBeGreaterThan(150)
  })

  it('stand on every failure, since the service names no field of it', () => {
    for (const [name, response] of Object.entries(responses as Json)) {
      expect(response['x-assumption'], name).toContain('A53')
      expect(resolve(document, response.content['application/json'].schema)).toBe(schemas.Failure)
    }
  })

  it('are absent from what the service itself says', () => {
    for (const path of ['Alert.type', 'Network.id', 'Trade.dex', 'PnlSummary.timeframe', 'Position.allocation_pct']) {
      expect(field(path), path).not.toHaveProperty('x-assumption')
    }
    expect(parameter('GET /wallets/{address}', 'network')).not.toHaveProperty('x-assumption')
    expect(headers.RateLimit).not.toHaveProperty('x-assumption')
  })
})
