import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'
import { InboxError } from '../../src/base/errors.ts'
import { loadAllHandlers, locationsOf, withoutChecks } from '../../src/dispatch/handler-locations.ts'

let cwd: string
beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'inbox-sinks-'))
  await writeFile(join(cwd, 'slack-url'), 'https://hooks.slack.example/services/from-the-file\n')
})
afterAll(() => rm(cwd, { recursive: true }))

const base = { INBOX_SECRETS: 'main:the-secret-of-the-tests' }

function load(sinks: unknown, routes?: unknown, env: Readonly<Record<string, string>> = {}) {
  const settings = {
    ...base,
    INBOX_SINKS: JSON.stringify(sinks),
    ...(routes !== undefined && { INBOX_ROUTES: JSON.stringify(routes) }),
    ...env,
  }
  return loadConfig({ env: settings, cwd, configFile: null })
}

/** The lines of the error. */
async function problemsOf(loading: Promise<unknown>): Promise<string[]> {
  try {
    await loading
  } catch (error) {
    if (error instanceof InboxError) return error.message.split('\n  ').slice(1)
    throw error
  }
  throw new Error('the settings were accepted')
}

const archive = { kind: 'file', path: './events.ndjson', types: '*' }

/** The sinks of the settings as handlers. */
const loadHandlers = async (...settings: Parameters<typeof load>) =>
  loadAllHandlers(locationsOf(await load(...settings)), () => [])

describe('sinks of the settings', () => {
  it('come from the config file or, as JSON, from the environment', async () => {
    const file = join(cwd, 'some.config.mjs')
    await writeFile(
      file,
      `export default { sinks: { archive: ${JSON.stringify(archive)} }, routes: [{ to: 'archive' }] }`,
    )
    const fromFile = await loadConfig({ env: base, cwd, configFile: file })
    expect(fromFile.sinks).toEqual((await load({ archive }, [{ to: 'archive' }])).sinks)
    expect(fromFile.sinks).toMatchObject([
      { name: 'archive', kind: 'file', routes: [{ types: ['*'] }, { types: ['*'] }], options: { fsync: true } },
    ])
    expect(fromFile.handlersDir).toBeNull()
  })

  it('may refer to variables and files, whose content is not shown', async () => {
    const url = { file: './slack-url' }
    const env = { SLACK: 'https://hooks.slack.example/services/from-the-variable' }
    const config = await load({ a: { kind: 'slack', url }, b: { kind: 'slack', url: { env: 'SLACK' } } }, [], env)
    expect(config.sinks.map(({ options }) => options)).toEqual([
      { url: 'https://hooks.slack.example/services/from-the-file' },
      { url: 'https://hooks.slack.example/services/from-the-variable' },
    ])
    expect(config.sinks.map(({ name, description }) => [name, description])).toEqual([
      ['a', `slack to file ${join(cwd, 'slack-url')}, gets items of handlers`],
      ['b', 'slack to $SLACK, gets items of handlers'],
    ])
  })

  it('are described by kind, target and routes, without secrets', async () => {
    const config = await load(
      {
        desk: {
          kind: 'slack',
          url: 'https://hooks.slack.example/services/T0/B0/secret',
          types: ['wallet.*'],
          networks: 'base',
        },
        db: { kind: 'sql', url: 'postgres://user:secret@db.example/inbox', types: '*' },
        app: { kind: 'forward', url: 'https://app.example/hook?token=secret' },
        run: { kind: 'exec', command: ['notify', '--key', 'secret'] },
        cache: { kind: 'redis', url: 'redis://user:secret@cache.example:6379' },
      },
      [{ types: 'pump.graduation', where: { 'data.symbol': 'secret' }, to: 'app' }],
    )
    expect(config.sinks.map(({ name, description }) => [name, description])).toEqual([
      ['desk', 'slack to https://hooks.slack.example, gets wallet.* on base'],
      ['db', 'sql to postgres://db.example, gets *'],
      ['app', 'forward to https://app.example/hook, gets pump.graduation by data.symbol'],
      ['run', 'exec to notify …, gets items of handlers'],
      ['cache', 'redis to redis://cache.example:6379, gets items of handlers'],
    ])
  })

  it('are checked together: one error lists all invalid ones, with suggestions and without values', async () => {
    const app = { kind: 'forward', url: 'http://127.0.0.1/' }
    const sinks = {
      'a b': archive,
      chat: { kind: 'slak', url: 'https://hooks.slack.example/hush' },
      desk: { kind: 'slack', url: 'ftp://hooks.slack.example/hush', retry: { tries: 3 }, batch: 0 },
      app: { ...app, headrs: {}, headers: { Host: 'hush' }, terminalStatuses: [200] },
      signed: { ...app, signature: 'standard-webhooks' },
      short: { ...app, signature: 'standard-webhooks', secret: 'whsec_hush' },
      lost: { kind: 'slack', url: { env: 'NOT_SET' } },
      gone: { kind: 'slack', url: { file: './not-there' } },
      some: { ...archive, types: undefined, networks: 'base' },
      none: 'file',
      phone: { kind: 'telegram', token: 'hush', chatId: 'here' },
      pager: { kind: 'pagerduty', routingKey: 'hush', minSeverity: 'high' },
      cache: { kind: 'redis', url: 'redis://user:hu/sh@cache.example:6379' },
      db: { kind: 'sql', url: 'postgres://user:12/hush@db.example/inbox' },
    }
    const routes = [
      { types: 'wallet.*', to: 'dask' },
      { type: 'wallet.*', to: 'desk' },
      { types: 'wal*', where: { amount: 1, 'data.x': { above: 3 } }, to: 'desk' },
      { to: [] },
    ]
    const problems = await problemsOf(load(sinks, routes))
    const hint = 'expected `whsec_` and base64, or other text of at least 24 visible ASCII characters'
    const types = "expected a type such as 'wallet.large_trade', a prefix such as 'wallet.*', '*', or a list of these"
    expect(problems.map((problem) => problem.split(';')[0])).toEqual([
      'sinks: the name of a sink is 1 to 100 letters, digits, dots, dashes or underscores, not "a b"',
      'sinks.chat.kind: there is no kind "slak" (did you mean slack?)',
      'sinks.desk.retry: unknown option `tries`',
      'sinks.desk.batch: expected at least 1',
      'sinks.desk.url: expected an https URL without user name and password (http only for this machine)',
      'sinks.app.headers.Host: expected a header that the sink does not set',
      'sinks.app.terminalStatuses.0: expected at least 400',
      'sinks.app: unknown option `headrs` (did you mean headers?)',
      "sinks.signed.secret: expected together with signature: 'standard-webhooks', and only then",
      `sinks.short.secret.0: ${hint}`,
      'sinks.lost.url must have a value: NOT_SET is not set',
      `sinks.gone.url must be readable: ${join(cwd, 'not-there')} cannot be read (ENOENT): check the path and its permissions`,
      "sinks.some.types: expected together with source, networks or where: '*' for all types",
      'sinks.none: expected an object with a `kind`',
      'sinks.phone.token: expected the token that BotFather gives, such as 123456789:AA…',
      'sinks.phone.chatId: expected a number or @channel',
      'sinks.pager.routingKey: expected the 32 characters of an integration key',
      'sinks.pager.minSeverity: expected one of "info"|"warning"|"critical"',
      'sinks.cache.url: expected redis://host:port or rediss://host:port, with percent-encoded user and password if needed',
      'sinks.db.url: expected postgres://host:port/database, with percent-encoded user and password if needed, or sqlite:./path/to.db',
      'routes[0].to: there is no sink "dask" (did you mean desk?)',
      'routes[1]: unknown option `type` (did you mean types?)',
      `routes[2].types.0: ${types}`,
      "routes[2].where.amount: expected 'id', 'type', 'created_at' or a path such as 'data.amount_usd'",
      'routes[2].where.data.x: unknown option `above`',
      'routes[2].where.data.x: expected at least one of eq, ne, gt, gte, lt, lte, in, exists',
      'routes[3].to: expected the name of a sink, or a list of these',
    ])
    expect(problems.join()).not.toContain('hush')
    expect(problems).toContainEqual(expect.stringContaining("for example { kind: 'slack', url: "))
    expect(await problemsOf(load('[}'))).toEqual([expect.stringContaining('sinks: expected an object')])
    expect(await problemsOf(load({}, {}, { INBOX_SINKS: '{' }))).toHaveLength(2)
  })

  it('conflict with the sink of INBOX_FORWARD_URL', async () => {
    const problems = await problemsOf(load({ forward: archive }, undefined, { INBOX_FORWARD_URL: 'http://127.0.0.1/' }))
    expect(problems).toEqual(['sinks.forward: INBOX_FORWARD_URL creates a sink of this name; keep one of them'])
  })

  it('with undocumented types, networks or fields in routes cause warnings', async () => {
    const { warnings } = await load({ archive }, [
      { types: ['wallet.large_trdae', 'token.*'], to: 'archive' },
      { types: 'wallet.*', networks: 'etherium', where: { 'data.amount_us': 1, id: 'x' }, to: 'archive' },
      { types: 'wallet.*', where: { 'data.amount_usd': { gte: '100' }, 'data.tx_hash': '0x1' }, to: 'archive' },
      { types: 'bridge.moved', where: { 'data.anything': 1 }, to: 'archive' },
    ])
    expect(warnings).toEqual([
      'sinks.archive: a route has the undocumented type wallet.large_trdae (did you mean wallet.large_trade?)',
      'sinks.archive: a route has the undocumented network etherium (did you mean ethereum?)',
      'sinks.archive: a route has the unknown field data.amount_us of wallet.* (did you mean data.amount_usd?)',
      'sinks.archive: a route has the undocumented type bridge.moved',
    ])
  })

  it('with undocumented types or fields in templates cause warnings', async () => {
    const url = 'https://hooks.slack.example/services/T0/B0/secret'
    const templates = {
      'wallet.large_trade': '{title} {data.amont_usd|usd} {data.tx_hash} {data.amont_usd}',
      'wallet.large_trde': '{data.anything}',
      '*': '{data.amount_usd}',
    }
    const { warnings } = await load({ desk: { kind: 'slack', url, types: 'walet.*', templates } })
    expect(warnings).toEqual([
      'sinks.desk: a route has the undocumented type walet.* (did you mean wallet.*?)',
      'sinks.desk.templates: wallet.large_trade has the unknown field data.amont_usd of wallet.large_trade (did you mean data.amount_usd?)',
      'sinks.desk.templates: the undocumented type wallet.large_trde (did you mean wallet.large_trade?)',
    ])
  })

  it('get the warnings of the inbox if notify names them, and such sinks replace no folder of handlers', async () => {
    const desk = { kind: 'slack', url: 'https://hooks.slack.example/services/x' }
    const config = await load({ desk, archive }, [], { INBOX_NOTIFY: 'desk' })
    expect(config.sinks.map(({ name, routes }) => [name, routes.flatMap(({ types }) => types)])).toEqual([
      ['desk', ['inbox.*']],
      ['archive', ['*']],
    ])
    expect(config.warnings).toEqual([])
    expect(config.sinks[0]!.description).toBe('slack to https://hooks.slack.example, gets inbox.*')
    expect((await load({ desk }, [], { INBOX_NOTIFY: 'desk' })).handlersDir).toBe(join(cwd, 'handlers'))
    expect((await load({ desk, archive }, [], { INBOX_NOTIFY: 'archive' })).handlersDir).toBeNull()
    expect(await problemsOf(load({ desk, archive }, [], { INBOX_NOTIFY: 'desks,archive' }))).toEqual([
      'notify: there is no sink "desks" (did you mean desk?); known sinks: desk, archive',
    ])
    const routed = (types: string) => load({ desk: { ...desk, types, where: { 'data.level': 'critical' } } })
    for (const [types, count] of [
      ['inbox.warning', 0],
      ['inbox.*', 0],
      ['inbox.warnings', 1],
    ] as const)
      expect((await routed(types)).warnings).toHaveLength(count)
  })

  it('are refused if they would write to the database file of the inbox', async () => {
    const linked = join(cwd, 'linked')
    await symlink(cwd, linked)
    const sinks = {
      a: { kind: 'sql', url: 'sqlite:./data/inbox.db', types: '*' },
      b: { kind: 'sql', url: `sqlite://${linked}/data/inbox.db`, types: '*' },
      c: { kind: 'file', path: './data/../data/inbox.db', types: '*' },
      d: { kind: 'sql', url: 'sqlite:./data/events.db', types: '*' },
    }
    const env = { INBOX_DATABASE_URL: 'sqlite:./data/inbox.db' }
    const rule = 'this is the database file of the inbox; expected another file'
    expect(await problemsOf(load(sinks, undefined, env))).toEqual([
      `sinks.a.url: ${rule}`,
      `sinks.b.url: ${rule}`,
      `sinks.c.path: ${rule}`,
    ])
  })

  it('are all refused at load if the machine lacks something they need', async () => {
    const run = { kind: 'exec', command: ['no-such-program'] }
    const sinks = {
      gone: run,
      here: { ...run, command: ['./slack-url'] },
      node: { ...run, command: [process.execPath] },
      found: { ...run, command: ['sh'] },
      elsewhere: { ...run, command: ['sh'], env: { PATH: '/nowhere' } },
      below: { ...archive, path: './slack-url/events.ndjson' },
      folder: { ...archive, path: '.' },
      fresh: { ...archive, path: './to/be/made/events.ndjson' },
      nul: { ...archive, path: '/dev/null' },
    }
    const loading = loadHandlers(sinks)
    await expect(loading).rejects.toMatchObject({ code: 'handler_invalid' })
    const { message } = (await loading.catch((error: unknown) => error)) as Error
    expect(message.split('\n')).toEqual([
      'sinks.gone.command: no executable program "no-such-program" on the PATH; install it, or give its path',
      `sinks.here.command: no executable program "./slack-url" at ${join(cwd, 'slack-url')}; install it, or give its path`,
      'sinks.elsewhere.command: no executable program "sh" on the PATH; install it, or give its path',
      `sinks.below.path: ${join(cwd, 'slack-url')} is not a folder; choose another path`,
      `sinks.folder.path: ${cwd} is a folder; expected the path of a file`,
    ])
    const locations = locationsOf(await load({ gone: { ...run, types: '*' } }))
    await expect(loadAllHandlers(withoutChecks(locations), () => [])).resolves.toHaveLength(1)
  })

  it('have the defaults of their kind, overridden by the settings', async () => {
    const app = { kind: 'forward', url: 'http://127.0.0.1/', types: 'wallet.*' }
    const over = { order: 'none', concurrency: 3, rate: 10, timeoutMs: 5, retry: { attempts: 7 }, onDead: 'hold' }
    const [plain, changed] = await loadHandlers({ plain: app, changed: { ...app, ...over, order: 'key' } })
    expect(plain).toMatchObject({
      kind: 'sink',
      name: 'plain',
      types: ['wallet.*'],
      order: 'key',
      timeoutMs: 30_000,
      retry: { attempts: 200, baseMs: 1_000, capMs: 600_000 },
      match: undefined,
      file: 'the settings (sinks.plain)',
    })
    expect(changed).toMatchObject({ ...over, order: 'key', retry: { attempts: 7, baseMs: 1_000, capMs: 600_000 } })
    const [archived] = await loadHandlers({ archive: { ...archive, batch: 2 } })
    expect(archived).toMatchObject({ batch: 2, concurrency: 1 })
  })

  it('need order: key for onDead: hold', async () => {
    const url = 'https://hooks.slack.example/services/T0/B0/secret'
    const desk = { kind: 'slack', url, types: '*', onDead: 'hold' }
    await expect(loadHandlers({ desk })).rejects.toThrow("sinks.desk.onDead: 'hold' requires order: 'key'")
    await expect(loadHandlers({ desk: { ...desk, order: 'key' } })).resolves.toHaveLength(1)
  })

  it('refuse batch if their kind sends one item at a time', async () => {
    const app = { kind: 'forward', url: 'http://127.0.0.1/', batch: 2 }
    await expect(loadHandlers({ app })).rejects.toThrow(
      'sinks.app.batch: a forward sink sends one item at a time; remove `batch`',
    )
  })
})
