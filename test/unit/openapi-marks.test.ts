import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { operationsOf, resolve, visit, type Json } from '../support/api-document.ts'

const document = JSON.parse(readFileSync('schema/openapi.json', 'utf8')) as Json
const operations = operationsOf(document)
const { schemas, responses, headers } = document['components']

const operation = (name: string) => operations.find((one) => one.name === name)!.value
const parameter = (name: string, of: string) =>
  operation(name)['parameters'].find((one: Json) => one['name'] === of) as Json
const field = (path: string) =>
  path.split('.').reduce<Json>((schema, part) => (schema['properties'] ?? schema['items'].properties)[part], {
    properties: schemas,
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
