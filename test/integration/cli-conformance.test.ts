import { once } from 'node:events'
import { expect, test } from 'vitest'
import { testSecret } from '../support/app.ts'
import { AppServer } from '../support/app-server.ts'
import { runCli, beginCli } from '../support/cli.ts'
import { linesOf } from './cli-emulator-run.ts'

const options = { cwd: '/', env: { SECRET: testSecret } }
const argsFor = (url: string, ...more: readonly string[]) => [
  'conformance',
  '--secret',
  'env:SECRET',
  '--url',
  url,
  ...more,
]

test('conformance prints a line per rule, and names missing options', async () => {
  await using app = await AppServer.start()
  const { code, out, errors } = await runCli(argsFor(app.url, '--only', 'methods,rotation,repeated'), options)
  expect({ code, errors }).toEqual({ code: 1, errors: '' })
  expect(out.split('\n')).toMatchObject([
    'failed       methods       a GET is not acknowledged',
    '             sent: a GET without a signature',
    '             expected: an answer that is not 2xx',
    expect.stringMatching(/^ {13}got: 200 after \d+ ms$/),
    '             fix: accept POST only, and answer anything else 405',
    'not checked  rotation      an event signed with --secret is acknowledged: --next-secret is needed for a second secret',
    'not checked  rotation      an event signed with --next-secret is acknowledged: --next-secret is needed for a second secret',
    'passed       repeated      every delivery of one event is acknowledged',
    'not checked  repeated      an event that was delivered several times is done once: --effects is needed to see what the receiver did',
    expect.stringMatching(/^1 passed, 1 failed, 3 not checked, in \d+\.\d s$/),
    '',
  ])
})

test('Ctrl-C ends conformance, and the report holds the verdicts so far', async () => {
  await using app = await AppServer.start()
  const run = beginCli(argsFor(app.url, '--only', 'repeated,slow', '--json'), options)
  await once(run.stdout, 'data')
  run.kill('SIGINT')
  const { code, out } = await run.ended
  const lines = linesOf({ out })
  expect(code).toBe(75)
  expect(lines[0]).toMatchObject({ msg: 'verdict', scenario: 'repeated', verdict: 'passed' })
  expect(lines.at(-1)).toMatchObject({ msg: 'finished', outcome: 'interrupted', reason: 'interrupted', passed: 1 })
})

test('conformance warns about a receiver on another machine', async () => {
  await using app = await AppServer.start()
  // This machine, under a name that doesn't say so.
  const url = `http://0.0.0.0:${app.port}/webhooks`
  const { code, out, errors } = await runCli(argsFor(`${url}?token=hidden`, '--only', 'repeated'), options)
  expect(code).toBe(0)
  expect(out).toContain('1 passed, 0 failed, 1 not checked')
  expect(errors).toBe(`warning: ${url} is not this machine, and will get over a thousand requests\n`)
})
