import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { AppServer } from '../support/app-server.ts'
import { runCli } from '../support/cli.ts'
import { createTempDir, type TempDir } from '../support/temp-dir.ts'
import { apiKey, startStage, testSeed, type Stage } from './emulator-stage.ts'

let stage: Stage
let dir: TempDir
beforeAll(async () => {
  stage = await startStage({ seed: testSeed({ world: { seed: 'test', history: '1h' } }) })
  dir = await createTempDir()
  await writeFile(join(dir.path, 'key'), `${apiKey}\n`)
})
afterAll(async () => {
  await dir[Symbol.asyncDispose]()
  await stage[Symbol.asyncDispose]()
})

/** A command that knows the service by its settings. */
function run(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const settings = { INBOX_API_URL: `${stage.emulator.url}`, INBOX_API_KEY_FILE: 'key', ...env }
  return runCli(args, { cwd: dir.path, env: settings })
}

/** A service that gives one answer. */
async function answering(status: number, body: string): Promise<AppServer> {
  const service = await AppServer.start()
  service.answer = () => ({ status, headers: { 'Content-Type': 'application/json', 'X-Request-Id': 'req_42' }, body })
  return service
}

const linesOf = (out: string) => out.trimEnd().split('\n')
const dataOf = async (path: string) => (await stage.rest(path)).json.data

test('R59 networks are a table, and one JSON document with --json', async () => {
  const [table, json] = await Promise.all([run(['networks']), run(['networks', '--json'])])
  const expected = await dataOf('/networks')
  expect(table).toMatchObject({ code: 0, errors: '' })
  expect(linesOf(table.out)[0]).toMatch(/^id +name +chain_id +native_currency +status +features$/)
  expect(table.out).toMatch(/^solana +Solana +- +SOL +operational +tokens, /m)
  expect(JSON.parse(json.out)).toEqual({ data: expected, next_cursor: null })
})

test('R64 R65 tokens are found, page by page up to a limit, and shown', async () => {
  const search = await run(['tokens', 'search', 'a', '--limit', '3', '--json'])
  const { data, next_cursor: cursor, total } = JSON.parse(search.out)
  const { json: first } = await stage.rest('/tokens/search?q=a&limit=3')
  expect([data, cursor, total]).toEqual([first.data, first.meta.next_cursor, first.meta.total])
  const next = await run(['tokens', 'search', 'a', '--limit', '2', '--cursor', cursor])
  expect(linesOf(next.out)).toHaveLength(5)
  expect(next.out).toMatch(/\n\nmore: --cursor \S+\n$/)

  const [token] = data
  const got = await run(['tokens', 'get', token.address, '--network', token.network])
  expect(got).toMatchObject({ code: 0, errors: '' })
  expect(got.out).toMatch(new RegExp(`^address +${token.address}$`, 'm'))
})

test('R57 R58 an alert is created, and listed where the service does that; where not, it says so', async () => {
  const [token] = await dataOf('/tokens/search?q=a&limit=1')
  const create = ['alerts', 'create', '--type', 'price_above', '--address', token.address, '--network', token.network]
  const rest = ['--threshold', '2.50', '--webhook-url', 'https://example.com/alert', '--label', 'high', '--json']
  const made = await run([...create, ...rest])
  expect(made).toMatchObject({ code: 0, errors: '' })
  const alert = JSON.parse(made.out)
  expect(alert).toMatchObject({ type: 'price_above', threshold: 2.5, label: 'high', status: 'active' })
  const listed = await run(['alerts', 'list'])
  expect(listed.out).toMatch(new RegExp(`^${alert.alert_id} +active +price_above +${token.network} `, 'm'))

  await using service = await answering(404, JSON.stringify({ success: false, error: { code: 'not_found' } }))
  const none = await run(['alerts', 'list'], { INBOX_API_URL: `http://127.0.0.1:${service.port}/v1` })
  expect([none.code, none.errors]).toEqual([
    1,
    'api_refused: this service has no list of alerts: it answered 404 (request req_42). Look in the dashboard of the service\n',
  ])
})

test('webhooks are listed and deleted where the service does that; where not, it says so', async () => {
  const body = { url: 'https://inbox.example.com/webhooks', events: ['wallet.large_trade', 'token.new_listing'] }
  const made = await stage.rest('/webhooks', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
  const { webhook_id: id } = made.json.data
  const listed = await run(['webhooks', 'list'])
  expect(listed).toMatchObject({ code: 0, errors: '' })
  expect(listed.out).toMatch(new RegExp(`^${id} +active +${body.url} +wallet.large_trade, token.new_listing `, 'm'))
  expect(JSON.parse((await run(['webhooks', 'list', '--json'])).out).data).toEqual(await dataOf('/webhooks'))
  expect(await run(['webhooks', 'delete', id])).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^deleted +true$/m),
    errors: '',
  })
  expect(await dataOf('/webhooks')).toEqual([])
  const gone = await run(['webhooks', 'delete', id])
  expect([gone.code, gone.errors]).toEqual([1, expect.stringContaining('the webhook is unknown, or this service')])

  await using service = await answering(501, JSON.stringify({ success: false, error: { code: 'not_implemented' } }))
  const env = { INBOX_API_URL: `http://127.0.0.1:${service.port}/v1` }
  const answers = await Promise.all([run(['webhooks', 'list'], env), run(['webhooks', 'delete', id], env)])
  expect(answers.map(({ code, errors }) => [code, errors])).toEqual([
    [1, expect.stringContaining('this service has no list of webhooks: it answered 501 (request req_42). Look')],
    [1, expect.stringContaining('this service deletes none: it answered 501 (request req_42). Look in the dashboard')],
  ])
})

test('R120 a limit beyond a page is asked for page by page; a repeated cursor is an error', async () => {
  await using service = await AppServer.start()
  let cursors = ['c1', 'c2']
  service.answer = ({ path }) => {
    const limit = Number(new URL(path, 'http://a').searchParams.get('limit'))
    const data = Array.from({ length: limit }, (_, n) => ({ symbol: `T${n}` }))
    const meta = { next_cursor: cursors.shift() ?? 'c1' }
    return {
      status: 200,
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ success: true, data, meta }),
    }
  }
  const env = { INBOX_API_URL: `http://127.0.0.1:${service.port}` }
  const list = await run(['tokens', 'search', 'x', '--limit', '150', '--json'], env)
  expect(JSON.parse(list.out)).toMatchObject({ data: { length: 150 }, next_cursor: 'c2' })
  expect(service.requests.map(({ path }) => path)).toEqual([
    '/v1/tokens/search?q=x&limit=100',
    '/v1/tokens/search?q=x&limit=50&cursor=c1',
  ])
  cursors = ['c1', 'c1']
  const round = await run(['tokens', 'search', 'x', '--limit', '250'], env)
  expect([round.code, round.out, round.errors]).toEqual([
    1,
    '',
    expect.stringMatching(/^api_refused: the list never ends/),
  ])
})

test('every number is printed as the service wrote it, and no control character as it came', async () => {
  const token = `{"symbol":"A\\u001b[31m","address":"a","network":"base","price_usd":0.1000,"market_cap_usd":18446744073709551615}`
  await using service = await answering(200, `{"success":true,"data":${token},"meta":{}}`)
  const env = { INBOX_API_URL: `http://127.0.0.1:${service.port}` }
  const [table, json] = await Promise.all([
    run(['tokens', 'get', 'a', '--network', 'base'], env),
    run(['tokens', 'get', 'a', '--network', 'base', '--json'], env),
  ])
  expect(table.out).toMatch(/^price_usd +0\.1000$/m)
  expect(table.out).toMatch(/^market_cap_usd +18446744073709551615$/m)
  expect(table.out).toContain('A\\u001b[31m')
  expect(json.out).toContain('"price_usd":0.1000,"market_cap_usd":18446744073709551615')
  expect(service.requests.map(({ path }) => path)).toEqual(Array(2).fill('/v1/tokens/a?network=base'))
})

test('what the service refuses is told with its reason and the id of the request; a literal key is for this machine only', async () => {
  const env = { INBOX_API_KEY_FILE: '', INBOX_API_URL: '' }
  const [refused, wrongKey, unset, literal, local] = await Promise.all([
    run(['wallets', 'get', '0x12', '--network', 'ethereum']),
    run(['networks', '--api-key', 'env:OTHER'], { OTHER: 'sk_of-nobody-at-all-0001' }),
    run(['networks'], env),
    run(['networks', '--api-url', 'https://api.example.com', '--api-key', apiKey], env),
    run(['networks', '--api-url', `${stage.emulator.url}`, '--api-key', apiKey], env),
  ])
  expect([refused.code, refused.errors]).toEqual([
    1,
    expect.stringMatching(/^api_refused: GET \/wallets\/0x12 .*\(request .+\)\n$/),
  ])
  expect([wrongKey.code, wrongKey.errors]).toEqual([
    1,
    expect.stringMatching(/^api_refused: .* 401 .*\(request .+\)\n$/),
  ])
  expect([unset.code, unset.errors]).toEqual([
    1,
    expect.stringMatching(/^config_invalid: the URL of the REST service is missing: set INBOX_API_URL/),
  ])
  expect([literal.code, literal.errors]).toEqual([
    1,
    expect.stringMatching(/^usage: every user of this machine can read a secret on the command line/),
  ])
  expect([local.code, local.errors]).toEqual([
    0,
    expect.stringMatching(/^warning: every user of this machine can read a secret/),
  ])
  for (const { out, errors } of [refused, wrongKey, unset, literal]) expect(out + errors).not.toContain(apiKey)
})
