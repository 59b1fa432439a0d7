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

/** Runs a command that knows the service by its settings. */
function run(line: string, env: Readonly<Record<string, string>> = {}) {
  const settings = { INBOX_API_URL: `${stage.emulator.url}`, INBOX_API_KEY_FILE: 'key', ...env }
  return runCli(line.split(' '), { cwd: dir.path, env: settings })
}

/** Starts a service that always gives this answer. */
async function answering(status: number, body: string) {
  const service = await AppServer.start()
  service.answer = () => ({ status, headers: { 'Content-Type': 'application/json', 'X-Request-Id': 'req_42' }, body })
  return Object.assign(service, { env: { INBOX_API_URL: `http://127.0.0.1:${service.port}/v1` } })
}

const linesOf = (out: string) => out.trimEnd().split('\n')
const dataOf = async (path: string) => (await stage.rest(path)).json.data

test('R59 networks prints a table, or one JSON document', async () => {
  const [table, json] = await Promise.all([run('networks'), run('networks --json')])
  expect(table).toMatchObject({ code: 0, errors: '' })
  expect(linesOf(table.out)[0]).toMatch(/^id +name +chain_id +native_currency +status +features$/)
  expect(table.out).toMatch(/^solana +Solana +- +SOL +operational +tokens, /m)
  expect(JSON.parse(json.out)).toEqual({ data: await dataOf('/networks'), next_cursor: null })
})

test('R64 R65 tokens searches page by page up to a limit, and gets one', async () => {
  const { data, next_cursor: cursor, total } = JSON.parse((await run('tokens search a --limit 3 --json')).out)
  const { json: first } = await stage.rest('/tokens/search?q=a&limit=3')
  expect([data, cursor, total]).toEqual([first.data, first.meta.next_cursor, first.meta.total])
  const next = await run(`tokens search a --limit 2 --cursor ${cursor}`)
  expect(linesOf(next.out)).toHaveLength(5)
  expect(next.out).toMatch(/\n\nmore: --cursor \S+\n$/)

  const got = await run(`tokens get ${data[0].address} --network ${data[0].network}`)
  expect(got).toMatchObject({ code: 0, errors: '' })
  expect(got.out).toMatch(new RegExp(`^address +${data[0].address}$`, 'm'))
})

test('R57 R58 alerts creates and lists an alert', async () => {
  const [{ address, network }] = await dataOf('/tokens/search?q=a&limit=1')
  const target = `--type price_above --address ${address} --network ${network}`
  const made = await run(
    `alerts create ${target} --threshold 2.50 --webhook-url https://example.com/alert --label high --json`,
  )
  expect(made).toMatchObject({ code: 0, errors: '' })
  const alert = JSON.parse(made.out)
  expect(alert).toMatchObject({ type: 'price_above', threshold: 2.5, label: 'high', status: 'active' })
  const listed = await run('alerts list')
  expect(listed.out).toMatch(new RegExp(`^${alert.alert_id} +active +price_above +${network} `, 'm'))
})

test('R60 R62 R91 webhooks creates, lists, changes and deletes a webhook', async () => {
  const url = 'https://inbox.example.com/webhooks'
  const created = await run(`webhooks create --url ${url} --events token.new_listing --secret env:OWN --json`, {
    OWN: 'a-secret-of-my-own-1',
  })
  expect(created).toMatchObject({ code: 0, errors: '' })
  const { webhook_id: id, ...webhook } = JSON.parse(created.out)
  expect(webhook).toMatchObject({ url, events: ['token.new_listing'], status: 'active' })
  expect(created.out).not.toContain('secret')
  expect((await run(`webhooks update ${id} --events wallet.large_trade,token.price_alert`)).code).toBe(0)
  const listed = await run('webhooks list')
  expect(listed.out).toMatch(new RegExp(`^${id} +active +${url} +.*wallet.large_trade.*token.price_alert`, 'm'))
  expect((await run(`webhooks delete ${id}`)).code).toBe(0)

  const generated = await run(`webhooks create --url ${url} --events *`)
  expect(generated.out).toMatch(/^secret +\S{16,}$/m)
  expect(await run(`webhooks create --url ${url} --events nothing.like_it`)).toMatchObject({ code: 1, out: '' })
})

test('R120 a limit above a page takes several requests, and a repeated cursor is an error', async () => {
  await using service = await answering(200, '')
  let cursors = ['c1', 'c2']
  service.answer = ({ path }) => {
    const limit = Number(new URL(path, 'http://a').searchParams.get('limit'))
    const data = Array.from({ length: limit }, (_, n) => ({ symbol: `T${n}` }))
    const meta = { next_cursor: cursors.shift() ?? 'c1' }
    const headers = { 'Content-Type': 'application/json' }
    return { status: 200, headers, body: JSON.stringify({ success: true, data, meta }) }
  }
  const list = await run('tokens search x --limit 150 --json', service.env)
  expect(JSON.parse(list.out)).toMatchObject({ data: { length: 150 }, next_cursor: 'c2' })
  expect(service.requests.map(({ path }) => path)).toEqual([
    '/v1/tokens/search?q=x&limit=100',
    '/v1/tokens/search?q=x&limit=50&cursor=c1',
  ])
  cursors = ['c1', 'c1']
  expect(await run('tokens search x --limit 250', service.env)).toMatchObject({
    code: 1,
    out: '',
    errors: expect.stringMatching(/^api_refused: the list never ends/),
  })
})

test('prints numbers as the service wrote them, and escapes control characters', async () => {
  const token = `{"symbol":"A\\u001b[31m","address":"a","network":"base","price_usd":0.1000,"market_cap_usd":18446744073709551615}`
  await using service = await answering(200, `{"success":true,"data":${token},"meta":{}}`)
  const [table, json] = await Promise.all(
    ['', ' --json'].map((option) => run(`tokens get a --network base${option}`, service.env)),
  )
  expect(table?.out).toMatch(/^price_usd +0\.1000$/m)
  expect(table?.out).toMatch(/^market_cap_usd +18446744073709551615$/m)
  expect(table?.out).toContain('A\\u001b[31m')
  expect(json?.out).toContain('"price_usd":0.1000,"market_cap_usd":18446744073709551615')
})

const refusedKey = { OTHER: 'sk_of-nobody-at-all-0001' }
const unset = { INBOX_API_KEY_FILE: '', INBOX_API_URL: '' }
const literal = `--api-url https://api.example.com --api-key ${apiKey}`

test.each<[string, Record<string, string>, RegExp]>([
  ['wallets get 0x12 --network ethereum', {}, /^api_refused: GET \/wallets\/0x12 .*\(request .+\)\n$/],
  ['networks --api-key env:OTHER', refusedKey, /^api_refused: .* 401 .*\(request .+\)\n$/],
  ['networks', unset, /^config_invalid: the URL of the REST service is missing: set INBOX_API_URL/],
  [`networks ${literal}`, unset, /^usage: every user of this machine can read a secret on the command line/],
])('%s fails with a reason and without the key', async (line, env, message) => {
  const { code, out, errors } = await run(line, env)
  expect(code).toBe(1)
  expect(errors).toMatch(message)
  expect(out + errors).not.toContain(apiKey)
})
