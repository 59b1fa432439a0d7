import { createEvent } from 'onchain-inbox/testing'
import { expect, test } from 'vitest'
import { startTestApp } from '../support/app.ts'
import { runCli } from '../support/cli.ts'
import { deliver } from '../support/signed.ts'
import { until } from '../support/until.ts'

const failing = (body: string) => `
import { defineHandler } from 'onchain-inbox'
export default defineHandler({
  type: '*',
  timeoutMs: 50,
  retry: { attempts: 1 },
  async run(event, ctx) {
    ${body}
  },
})
`

const handlers = {
  'plain.mjs': failing(`throw new Error('no such pair')`),
  'builtin.mjs': failing(`JSON.parse('{')`),
  'node.mjs': failing(`new URL('nowhere')`),
  'ours.mjs': failing(`event.exact(1)`),
  'timeout.mjs': failing(`await new Promise((_, reject) => ctx.signal.addEventListener('abort', reject))`),
}

test('events show prints the handler frame of an error, and the replay of an attempt', async () => {
  await using app = await startTestApp({ handlers, settings: { INBOX_ACK_TIMEOUT_MS: '600000' } })
  const body = Buffer.from(JSON.stringify(createEvent('wallet.large_trade', { id: 'evt_1' })))
  for (let n = 0; n < 2; n++) await deliver(app, body)
  const runs = async () => (await app.inbox.event('evt_1'))?.runs ?? []
  await until(async () => (await runs()).every(({ state }) => state === 'dead'), 'all dead')
  const env = { INBOX_ADMIN_TOKEN: app.adminToken }
  const run = (...args: string[]) =>
    runCli([...args, '--admin-url', app.adminUrl], { cwd: app.dir, env }).then((result) => result.out)
  const out = await run('events', 'show', 'evt_1')

  const placeOf = (handler: string) => new RegExp(` ${handler} +1 +dead +\\S.*? (at .*)$`, 'm').exec(out)?.[1]
  expect(placeOf('plain')).toMatch(/^at .*\(\/.*handlers\/plain\.mjs:8:11\)$/)
  for (const name of ['builtin', 'node', 'ours']) {
    expect(placeOf(name)).toMatch(new RegExp(`^at .*/handlers/${name}\\.mjs:8:\\d+\\)$`))
  }
  // A time-out has no handler frame.
  expect(placeOf('timeout')).toBeUndefined()
  expect(out).toMatch(/^duplicates +1\nconflicts +0$/m)

  await run('replay', 'evt_1', '--handler', 'plain', '--wait')
  const again = await run('events', 'show', 'evt_1')
  const attempts = [...again.matchAll(/^\S+Z +(\S+) +plain +1 +dead +Error: no such pair at .*$/gm)]
  expect(attempts.map(([, replay]) => replay)).toEqual(['-', '1'])
})
