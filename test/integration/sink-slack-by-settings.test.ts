import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'
import { createEvent } from '../../src/app/testing/create-event.ts'
import { startTestApp, testSecret } from '../support/app.ts'
import {
  botToken,
  discordRules,
  genieKey,
  opsgenieRules,
  pagerdutyRules,
  routingKey,
  slackRules,
  telegramRules,
} from '../support/fake-chat-rules.ts'
import { FakeChat } from '../support/fake-chat.ts'
import { recordingLog } from '../support/recording-log.ts'
import { delivery } from '../support/signed.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { until } from '../support/until.ts'

test('slack, discord, telegram, pagerduty and opsgenie tell of an event by settings alone, with secrets from files and environment', async () => {
  await using all = new AsyncDisposableStack()
  const start = async (rules: Parameters<typeof FakeChat.start>[0]) => all.use(await FakeChat.start(rules))
  const [slack, discord, telegram, pagerduty, opsgenie] = [
    await start(slackRules),
    await start(discordRules),
    await start(telegramRules),
    await start(pagerdutyRules),
    await start(opsgenieRules),
  ]
  await using dir = await createTempDir()
  await writeFile(join(dir.path, 'slack-url'), `${slack.url}\n`)
  const types = 'contract.*'
  const sinks = {
    desk: { kind: 'slack', url: { file: './slack-url' }, types, templates: { '*': '{data.symbol}: {severity}' } },
    room: { kind: 'discord', url: discord.url, types },
    phone: { kind: 'telegram', token: botToken, chatId: 42, baseUrl: telegram.origin, types, order: 'key', batch: 1 },
    pager: { kind: 'pagerduty', routingKey, baseUrl: pagerduty.origin, types },
    genie: { kind: 'opsgenie', apiKey: genieKey, baseUrl: opsgenie.origin, types, retry: { attempts: 2 } },
  }
  discord.next.push({ tooMany: 0.05 })
  pagerduty.next.push({ status: 503, body: routingKey })
  const { log, lines } = recordingLog()
  await using app = await startTestApp({
    dir: dir.path,
    log,
    settings: { INBOX_SINKS: JSON.stringify(sinks), INBOX_HANDLERS: '' },
  })
  const event = createEvent('contract.honeypot_detected', { id: 'evt_1' })
  const { body, headers } = delivery(Buffer.from(JSON.stringify(event)))
  const answer = await fetch(app.url, {
    method: 'POST',
    body: body as Buffer<ArrayBuffer>,
    headers: headers as HeadersInit,
  })
  expect(answer.status).toBe(200)
  const fakes = [slack, discord, telegram, pagerduty, opsgenie]
  await until(() => fakes.every(({ accepted }) => accepted.length === 1), 'all have told of the event')
  const runs = async () => (await app.inbox.event('evt_1'))?.runs ?? []
  await until(async () => (await runs()).every(({ state }) => state === 'done'), 'all runs are done')
  expect(slack.shown).toEqual([`${event.data.symbol}: critical`])
  expect(fakes.flatMap(({ refused }) => refused)).toEqual([])
  const stored = JSON.stringify([await runs(), lines, app.config.sinks.map(({ description }) => description)])
  const secrets = [botToken, routingKey, genieKey, slackRules.path, discordRules.path, testSecret]
  for (const secret of secrets) expect(stored).not.toContain(secret)
})

test('what is wrong with a notifier is said at once, without its secrets', async () => {
  const token = 'not-a-token-but-secret'
  const sinks = {
    desk: { kind: 'slack', url: `http://hooks.slack.example/${token}`, templates: { '*': '{data.a|euro}', '': 'x' } },
    phone: { kind: 'telegram', token, chatId: 'here' },
    pager: { kind: 'pagerduty', routingKey: token, minSeverity: 'high' },
  }
  const env = { INBOX_SECRETS: testSecret, INBOX_SINKS: JSON.stringify(sinks) }
  await using dir = await createTempDir()
  const problem = await loadConfig({ env, cwd: dir.path }).then(
    () => '',
    (error: unknown) => String(error),
  )
  for (const part of [
    'sinks.desk.url: expected an https URL without user name and password',
    'sinks.desk.templates.*: {data.a|euro}: expected one filter at most, behind a path, of usd, amount, percent',
    'sinks.phone.token: expected the token that BotFather gives',
    'sinks.phone.chatId: expected a number or @channel',
    'sinks.pager.routingKey: expected the 32 characters of an integration key',
    'sinks.pager.minSeverity',
  ])
    expect(problem).toContain(part)
  expect(problem).not.toContain(token)
})
