import { demoCredentials } from '../base/demo-credentials.ts'
import { formatDuration } from '../emulator/duration.ts'
import type { Begun, Emulator } from '../emulator/emulator.ts'
import type { Seed } from '../emulator/seed/schema.ts'
import { printResult, type OutputOptions, createProgress } from './output.ts'
import { renderRecord } from './table.ts'

/** Starts an emulator, with a progress line while it simulates the past. */
export async function startEmulator(emulator: Emulator): Promise<Begun> {
  using progress = createProgress()
  const startedAt = emulator.world.now()
  return await emulator.start((at, until) =>
    progress.show((at - startedAt) / Math.max(1, until - startedAt), 'simulating the past'),
  )
}

/** Prints the addresses and initial state of an emulator. Drawn secrets are shown only here (R68), secrets of the seed only if published. */
export function printListening(emulator: Emulator, seed: Seed, begun: Begun, options: OutputOptions): void {
  const { isNew, drawn } = begun
  const isDemo = seed.controlToken === demoCredentials.controlToken
  const apiKey = isDemo ? demoCredentials.apiKey : drawn.find(({ kind }) => kind === 'api-key')?.value
  const others = drawn.filter(({ value }) => value !== apiKey)
  const { mode, speed, now } = emulator.clock.state()
  const { accounts, url } = emulator
  const result = {
    msg: 'listening',
    url,
    apiKey,
    controlToken: isDemo || seed.controlToken === undefined ? emulator.controlToken : undefined,
    dashboard: {
      url: `${url}/`,
      user: emulator.login.user,
      password: isDemo || seed.dashboard === undefined ? emulator.login.password : undefined,
    },
    drawn: others.length > 0 ? others : undefined,
    accounts: accounts.accounts().map(({ accountId, name, plan }) => {
      const valid = accounts.keys(accountId).filter(({ revokedAt }) => revokedAt === null)
      return { name, plan, keys: valid.map((key) => key.name) }
    }),
    webhooks: accounts.webhooks().map(({ url: endpoint, events }) => ({ url: endpoint, events })),
    clock: { mode, speed, now: new Date(now).toISOString() },
    world: { seed: seed.world.seed, isNew, ...(isNew && { history: formatDuration(seed.world.history) }) },
  }
  printResult(result, options, (listening) => {
    const { msg: _msg, drawn: secrets = [], accounts: people, webhooks, ...facts } = listening
    const record = renderRecord('emulator', {
      ...facts,
      ...Object.fromEntries(secrets.map(({ kind, of, value }) => [`${kind} of ${of}`, value])),
      accounts: people.map(({ name, plan, keys }) => `${name} (${[plan, ...keys].join(', ')})`),
      webhooks: webhooks.map((webhook) => `${webhook.url} (${webhook.events.join(', ')})`),
    })
    const once = 'Keys, secrets and passwords that the emulator drew are not shown again.'
    return [
      `listening on ${url}/v1`,
      record,
      ...(isDemo ? [] : [once]),
      `try: curl -H 'Authorization: Bearer ${apiKey ?? '<API key>'}' ${url}/v1/networks`,
    ].join('\n\n')
  })
}
