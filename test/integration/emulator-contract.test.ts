import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { networkIds } from '../../schema/index.ts'
import { createContract } from '../support/openapi-contract.ts'
import type { DocumentedOperation } from '../support/openapi-document.ts'
import { documentedValues, wrongJson, wrongTexts } from '../support/openapi-samples.ts'
import { createContractStage, type Asked, type ContractStage } from '../support/openapi-stage.ts'
import { unseen } from './emulator-rest-stage.ts'

const contract = createContract()
const { document } = contract
const implemented = document.operations.filter((one) => one.isImplemented)
const documenting = (status: number) => implemented.filter(({ answers }) => answers.has(status))

describe.each([
  ['with default settings', {}],
  [
    'with other settings',
    {
      latencyOnLists: false,
      omitNextCursor: true,
      strictChecksum: true,
      tradesOrder: 'shuffled',
      v1DeprecatedOn: '2026-01-01',
    },
  ],
] as const)('the service %s', (what, settings) => {
  let here: ContractStage
  beforeAll(async () => {
    here = await createContractStage(contract, settings)
  })
  beforeEach(() => {
    here.clear()
    return here.stage.wall.advance(60_000)
  })
  afterAll(() => here[Symbol.asyncDispose]())

  const baseOf = (one: DocumentedOperation): Asked =>
    (one.isImplemented ? here.samplesOf(one)[0] : undefined) ?? { params: { address: unseen.evm } }

  /** Rejected with a message for the place, and nothing has changed. */
  async function expectRejected(operation: DocumentedOperation, asked: Asked, path: string) {
    const before = here.owned()
    const { body } = await here.expect(400, operation, asked, 'expected')
    expect(body.error.details.map((one: { path: string }) => one.path.split('.')[0])).toContain(path)
    expect(here.owned()).toEqual(before)
  }

  test.each(implemented)(
    'R1 R8 R9 R11 R13 A1 A7 A19 R28 R29 R38 R64 R125 $id responds as documented',
    async (operation) => {
      const [status = 0] = operation.answers.keys()
      for (const asked of here.samplesOf(operation)) {
        await here.expect(status, operation, { ...asked, query: { ...asked.query, unknown: 'ignored' } })
      }
      for (const parameter of operation.parameters.filter(({ name }) => name !== 'network')) {
        for (const value of documentedValues(parameter)) {
          const base = baseOf(operation)
          await here.expect(status, operation, { ...base, query: { ...base.query, [parameter.name]: value } })
        }
      }
    },
  )

  test('A17 R48 a one-shot alert is `triggered` after it fired', async () => {
    const operation = implemented.find(({ id }) => id === 'getAlert')!
    const [asked] = here.samplesOf(operation)
    here.stage.accounts.setAlertTriggered(asked!.params!['alert_id']!)
    const { body } = await here.expect(200, operation, asked!)
    expect(body.data.status).toBe('triggered')
  })

  const paged = implemented.filter(({ parameters }) => parameters.some(({ name }) => name === 'cursor'))
  test.each(paged)('R14 R53 R55 R120 R121 A61 $id returns pages and rejects a foreign cursor', async (operation) => {
    for (const id of ['getAlert', 'getWebhook', 'getAlert', 'getWebhook']) here.samplesOf({ id })
    for (const asked of here.samplesOf(operation).slice(0, 3)) {
      const sizes: number[] = []
      let cursor: string | undefined
      let total = 0
      do {
        const query = { ...asked.query, limit: '1', ...(cursor !== undefined && { cursor }) }
        const { body } = await here.expect(200, operation, { ...asked, query })
        sizes.push(body.data.length)
        cursor = body.meta.next_cursor ?? undefined
        total = body.meta.total
      } while (cursor !== undefined && sizes.length < 100)
      if (sizes.length < 100) expect(sizes.reduce((sum, size) => sum + size)).toBe(total)
      await expectRejected(operation, { ...asked, query: { ...asked.query, cursor: 'nonsense' } }, 'cursor')
    }
  })

  const withDefault = implemented.filter(({ parameters }) => parameters.some(({ schema }) => 'default' in schema))
  test.each(withDefault)('R52 R54 R114 $id uses the documented defaults', async (operation) => {
    const base = baseOf(operation)
    const { body } = await here.expect(200, operation, base)
    for (const { name, schema } of operation.parameters.filter((one) => 'default' in one.schema)) {
      const { default: value } = schema as { default: unknown }
      const query = { ...base.query, [name]: String(value) }
      expect((await here.expect(200, operation, { ...base, query })).body).toEqual(body)
      expect(body.meta[name] ?? body.data[name]).toBe(value)
    }
  })

  if (what !== 'with default settings') return

  test.each(implemented)(
    'R4 R54 R57 R106 $id rejects everything that the document does not allow',
    async (operation) => {
      const base = baseOf(operation)
      const before = here.fingerprint()
      for (const parameter of operation.parameters) {
        const { name, in: place, required } = parameter
        const at = place === 'path' ? 'params' : 'query'
        const withValue = (value: string | readonly string[]) => ({ ...base, [at]: { ...base[at], [name]: value } })
        for (const text of wrongTexts(document, parameter)) await expectRejected(operation, withValue(text), name)
        if (place === 'path') continue
        if (required) {
          const { [name]: _gone, ...query } = { ...base.query }
          await expectRejected(operation, { ...base, query }, name)
        }
        const once = String(base.query?.[name] ?? documentedValues(parameter)[0] ?? 'x')
        await expectRejected(operation, withValue([once, once]), name)
      }
      for (const { name, schema, required } of operation.members) {
        for (const wrong of wrongJson(document, schema)) {
          await expectRejected(operation, { ...base, body: { ...base.body, [name]: wrong } }, name)
        }
        if (!required) continue
        const { [name]: _gone, ...body } = { ...base.body }
        await expectRejected(operation, { ...base, body }, name)
      }
      await expectRejected(operation, { ...base, query: { ...base.query, unknown: ['1', '2'] } }, 'unknown')
      expect(here.fingerprint()).toEqual(before)
    },
  )

  test.each(document.operations)('R66 A28 $id returns 401 without a valid key', async (operation) => {
    const base = baseOf(operation)
    for (const [key, hint] of [
      [null, 'it is missing'],
      ['sk_unknown', 'unknown or revoked'],
      ['with space', 'the header is malformed'],
    ] as const) {
      const { headers } = await here.expect(401, operation, { ...base, key }, hint)
      expect(headers.get('www-authenticate')).toBe(key === null ? 'Bearer' : 'Bearer error="invalid_token"')
    }
  })

  test.each(documenting(403))('R69 A28 A29 $id returns 403 for a key without its scope', async (operation) => {
    const others = (['read:wallets', 'write:alerts', 'read:tokens', 'write:webhooks'] as const).filter(
      (scope) => scope !== operation.scope,
    )
    await here.expect(403, operation, { ...baseOf(operation), key: here.stage.newKey(others) }, operation.scope ?? '')
  })

  test.each(documenting(404))('$id returns 404 for an unknown resource', async (operation) => {
    const base = baseOf(operation)
    const [name = ''] = Object.keys(base.params ?? {})
    const networks = base.query?.['network'] === undefined ? [undefined] : networkIds
    for (const network of networks) {
      const missing = name === 'address' ? (network === 'solana' ? unseen.solana : unseen.evm) : 'nothing_of_mine'
      const query = network === undefined ? {} : { network }
      await here.expect(404, operation, { ...base, params: { [name]: missing }, query })
    }
  })

  test('A3 every path returns 405 for other methods, with its own in Allow', async () => {
    for (const path of document.otherMethods.keys()) {
      const own = document.operations.filter((one) => one.path === path)
      const methods = own.map(({ method }) => method)
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY']) {
        if (methods.includes(method)) continue
        const { params = {} } = baseOf(own[0]!)
        const { headers } = await here.expect(405, own[0]!, { params, method }, methods.join(', '))
        expect(headers.get('allow')?.split(', ').toSorted()).toEqual(methods.toSorted())
      }
    }
  })

  test.each([
    ['createAlert', 100],
    ['createWebhook', 20],
  ])('A26 A27 %s returns 409 beyond %i', async (id, most) => {
    const operation = document.operations.find((one) => one.id === id)!
    for (let count = 0; count < most; count++) await here.expect(201, operation, baseOf(operation))
    const before = here.fingerprint()
    await here.expect(409, operation, baseOf(operation), `at most ${most}`)
    expect(here.fingerprint()).toEqual(before)
  })

  test.each(documenting(415))(
    'R50 $id returns 415 for a body that is not JSON, and 413 for a large one',
    async (operation) => {
      const base = baseOf(operation)
      const before = here.fingerprint()
      for (const type of ['text/plain', 'application/json; charset=utf-16', 'application/jsonp']) {
        await here.expect(415, operation, { ...base, headers: { 'Content-Type': type } }, 'application/json')
      }
      await here.expect(415, operation, { ...base, headers: { 'Content-Encoding': 'gzip' } }, 'Content-Encoding')
      await here.expect(413, operation, { ...base, body: { ...base.body, label: 'x'.repeat(70_000) } }, '65536')
      expect(here.fingerprint()).toEqual(before)
    },
  )

  test.each(document.operations)('R107 $id returns 429 beyond the rate limit', async (operation) => {
    const { accountId } = here.stage.accounts.putAccount('free', 'free')
    const key = here.stage.newKey(undefined, accountId)
    const networks = document.operations.find(({ id }) => id === 'listNetworks')!
    for (let count = 0; count < 10; count++) await here.expect(200, networks, { key })
    const { headers } = await here.expect(429, operation, { ...baseOf(operation), key }, 'Retry-After')
    expect(['limit', 'remaining'].map((name) => headers.get(`x-ratelimit-${name}`))).toEqual(['10', '0'])
    expect(headers.get('retry-after')).toBe('60')
  })

  test.each(documenting(500))('A53 $id returns 500 without details if the world fails', async (operation) => {
    const base = baseOf(operation)
    const before = here.fingerprint()
    here.fault.isOn = true
    const { text } = await here.expect(500, operation, base).finally(() => (here.fault.isOn = false))
    expect(text).not.toContain('injected')
    expect(here.fingerprint()).toEqual(before)
  })

  test.each(document.operations.filter((one) => !one.isImplemented))('A2 $id returns 501', async (operation) => {
    await here.expect(501, operation, baseOf(operation), 'not_documented')
    await here.expect(501, operation, { ...baseOf(operation), method: 'POST', body: {} }, 'not_documented')
  })

  test('R39 R47 operations about a network in maintenance return 503', async () => {
    const { commands } = here.stage.world
    const networks = document.operations.find(({ id }) => id === 'listNetworks')!
    for (const operation of documenting(503)) {
      const base = baseOf(operation)
      const asked = operation.id === 'searchTokens' ? { query: { ...base.query, network: 'base' } } : base
      const network = networkIds.find((id) => id === (asked.body?.['network'] ?? asked.query?.['network']))!
      commands.apply({ kind: 'network-status', network, status: 'maintenance' })
      await here.expect(200, networks, {}, '"maintenance"')
      const { headers } = await here.expect(503, operation, asked, `${network} is in maintenance`)
      expect(headers.get('retry-after')).toBe('60')
      commands.apply({ kind: 'network-status', network, status: 'degraded' })
      await here.expect(200, networks, {}, '"degraded"')
      commands.apply({ kind: 'network-status', network, status: 'operational' })
    }
  })
})

test('every documented status of every operation was seen', () => {
  // Undocumented operations compute nothing that could fail.
  const undocumented = document.operations.filter((one) => !one.isImplemented).map(({ id }) => `${id} 500`)
  expect([...contract.unseen].toSorted()).toEqual(undocumented.toSorted())
})
