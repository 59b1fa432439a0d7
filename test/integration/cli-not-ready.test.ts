import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { runCli } from '../support/cli.ts'
import { expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { createEarlyRejection } from '../../src/emulator/server.ts'

/** An emulator that is still creating its world for some requests, and answers all others with `data`. */
async function startLate(refusals: number, data: unknown) {
  const reject = createEarlyRejection(systemClock, systemClock)
  let asked = 0
  const server = createServer((request, response) => {
    asked++
    if (asked <= refusals) reject(request, response)
    else response.end(JSON.stringify({ success: true, data }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: () => asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const triggered = { type: 'wallet.large_trade', count: 1, isRaw: false, events: [{ eventId: 'evt_1', token: null }] }

test('R92 trigger and secret wait for an emulator that is still creating its world', async () => {
  await using forTrigger = await startLate(2, triggered)
  await using forSecret = await startLate(1, { alertSecret: 'whsec_1' })
  const run = (line: string, url: string) =>
    runCli([...line.split(' '), '--json', '--emulator', url], { cwd: tmpdir() })
  const [trigger, secret] = await Promise.all([
    run('trigger wallet.large_trade --timeout 0', forTrigger.url),
    run('emulator secret --alerts', forSecret.url),
  ])
  expect(trigger).toMatchObject({ code: 0, errors: '', out: expect.stringContaining('"eventId":"evt_1"') })
  expect(secret).toMatchObject({ code: 0, errors: '', out: expect.stringContaining('whsec_1') })
  expect([forTrigger.asked(), forSecret.asked()]).toEqual([2 + 2, 1 + 2])
})
