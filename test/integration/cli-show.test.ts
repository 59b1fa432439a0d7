import { expect, test } from 'vitest'
import { forPeople, runCli } from '../support/cli.ts'
import { RecordingClient, toDelivery } from '../support/history.ts'
import { Sidecar, testToken } from '../support/sidecar.ts'
import { eventBytes } from '../support/signed.ts'

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

test('events show names the place in the file of the handler under the error of an attempt, and the replay it was of', async () => {
  await using sidecar = await Sidecar.start({ handlers })
  using client = new RecordingClient({ url: () => sidecar.url })
  const delivery = toDelivery(eventBytes({ id: 'evt_1' }), { id: 'evt_1' })
  await client.deliver(delivery)
  await client.deliver(delivery)
  await sidecar.drained()
  const env = { INBOX_ADMIN_TOKEN: testToken }
  const run = (...args: string[]) =>
    runCli(forPeople([...args, '--admin-url', sidecar.adminUrl]), { cwd: sidecar.dir, env }).then(
      (result) => result.out,
    )
  const out = await run('events', 'show', 'evt_1')

  const lines = out.split('\n')
  const placeOf = (handler: string) => {
    const row = lines.findIndex((line) => new RegExp(` ${handler} +1 +dead +\\S`).test(line))
    return lines[row + 1]?.trim()
  }
  expect(placeOf('plain')).toMatch(/^at .*\(\/.*handlers\/plain\.mjs:8:11\)$/)
  for (const name of ['builtin', 'node', 'ours']) {
    expect(placeOf(name)).toMatch(new RegExp(`^at .*/handlers/${name}\\.mjs:8:\\d+\\)$`))
  }
  // The error is our own: nothing of the handler is in its stack.
  expect(placeOf('timeout')).not.toMatch(/^at /)
  expect(out).toMatch(/^came again +1 time, with another body 0 times$/m)

  await run('replay', 'evt_1', '--handler', 'plain', '--wait')
  const again = await run('events', 'show', 'evt_1')
  const attempts = [...again.matchAll(/^\S+Z +(\S+) +plain +1 +dead +Error: no such pair$/gm)]
  expect(attempts.map(([, replay]) => replay)).toEqual(['-', '1'])
})
