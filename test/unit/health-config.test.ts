import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'

const cwd = '/srv/inbox'

const sinks = {
  desk: { kind: 'slack', url: 'https://hooks.slack.example/services/x' },
  archive: { kind: 'file', path: './events.ndjson', types: '*' },
}
const load = (env: Readonly<Record<string, string>>, given: object = sinks) =>
  loadConfig({
    env: { INBOX_SECRETS: 'main:the-secret-of-the-tests', INBOX_SINKS: JSON.stringify(given), ...env },
    cwd,
    configFile: null,
  })

test('notify routes internal events to the named sinks only', async () => {
  const config = await load({ INBOX_NOTIFY: 'desk' })
  expect(config.sinks.map(({ name, routes }) => [name, routes.flatMap(({ types }) => types)])).toEqual([
    ['desk', ['inbox.*']],
    ['archive', ['*']],
  ])
  expect(config.warnings).toEqual([])
  expect(config.sinks[0]!.description).toBe('slack to https://hooks.slack.example, gets inbox.*')
})

test('notify rejects names of unknown sinks', async () => {
  await expect(load({ INBOX_NOTIFY: 'desks,archive' })).rejects.toThrow(
    'notify: there is no sink "desks" (did you mean desk?); known sinks: desk, archive',
  )
  await expect(load({ INBOX_NOTIFY: 'desk' }, {})).rejects.toThrow(
    'notify: there is no sink "desk"; there are no sinks',
  )
})

test('a route for an unknown internal type is a config warning', async () => {
  const routed = (types: string) => load({}, { desk: { ...sinks.desk, types, where: { 'data.level': 'critical' } } })
  expect((await routed('inbox.warning')).warnings).toEqual([])
  expect((await routed('inbox.*')).warnings).toEqual([])
  expect((await routed('inbox.warnings')).warnings).toHaveLength(1)
})

test('a sink for warnings only does not replace the folder of handlers', async () => {
  const desk = { desk: sinks.desk }
  expect((await load({ INBOX_NOTIFY: 'desk' }, desk)).handlersDir).toBe(join(cwd, 'handlers'))
  expect((await load({ INBOX_NOTIFY: 'archive' })).handlersDir).toBeNull()
})

test('INBOX_CONSOLE_URL loses trailing slashes, and must be a plain URL', async () => {
  expect((await load({ INBOX_CONSOLE_URL: 'https://inbox.example.com/' })).consoleUrl).toBe('https://inbox.example.com')
  expect((await load({ INBOX_CONSOLE_URL: 'https://example.com/inbox//' })).consoleUrl).toBe(
    'https://example.com/inbox',
  )
  for (const url of ['inbox.example.com', 'ftp://x', 'https://u:p@x', 'https://x/?a=1', 'https://x/#/events'])
    await expect(load({ INBOX_CONSOLE_URL: url })).rejects.toThrow('INBOX_CONSOLE_URL')
})
