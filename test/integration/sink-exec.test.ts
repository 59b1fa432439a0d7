import { readFile, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import execKind from '../../handlers/sinks/exec.ts'
import { TerminalError } from '../../src/index.ts'
import { anItem, aSinkContext, underTest } from '../support/sink-items.ts'
import { createTempDir, type TempDir } from '../support/temp-dir.ts'
import { until } from '../support/until.ts'

const anExec = (dir: TempDir, command: readonly string[], more: Record<string, unknown> = {}) =>
  underTest(
    execKind.create({ name: 'script', options: execKind.options.parse({ command, ...more }) }, { baseDir: dir.path }),
  )

const shell = (script: string) => ['sh', '-c', script]
const read = (dir: TempDir, name: string) => readFile(join(dir.path, name), 'utf8')

/** False for a zombie. */
async function isAlive(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null)
  return stat !== null && !/\) [ZX] /.test(stat)
}

describe('the sink `exec`', () => {
  test('passes the bytes of the event as standard input, and its names as environment variables', async () => {
    await using dir = await createTempDir()
    const sink = anExec(dir, shell('cat > body; env > environment; pwd > folder'), { env: { TOKEN: 'of the command' } })
    const raw = Buffer.from('{ "id":"evt_1",\n"type":"x.y","created_at":"","data":{"n":1.50} }')
    process.env.INBOX_SECRETS_OF_TEST = 'not for the command'
    await sink.send([anItem(raw, { attempt: 3, source: 'desk' })])
    delete process.env.INBOX_SECRETS_OF_TEST
    expect(await read(dir, 'body')).toBe(raw.toString())
    expect((await read(dir, 'folder')).trim()).toBe(await realpath(dir.path))
    const environment = new Map(
      (await read(dir, 'environment'))
        .trim()
        .split('\n')
        .map((line) => line.split('=') as [string, string]),
    )
    // Set by the shell.
    for (const name of ['PWD', 'OLDPWD', 'SHLVL', '_']) environment.delete(name)
    expect(Object.fromEntries(environment)).toEqual({
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      TOKEN: 'of the command',
      INBOX_EVENT_ID: 'desk/evt_1',
      INBOX_EVENT_TYPE: 'x.y',
      INBOX_IDEMPOTENCY_KEY: 'sink:desk/evt_1',
      INBOX_ATTEMPT: '3',
    })
  })

  test('passes a payload as JSON, uses `cwd`, no shell, and encodes ids', async () => {
    await using dir = await createTempDir()
    const script =
      'require("fs").writeFileSync("args", process.argv[1] + process.env.INBOX_EVENT_ID + require("fs").readFileSync(0))'
    const sink = anExec(dir, [process.execPath, '-e', script, '$HOME `id`'], { cwd: '.' })
    await sink.send([anItem({ id: 'a b\0ü' }, { payload: { a: 1 } })])
    expect(await read(dir, 'args')).toBe('$HOME `id`a%20b%00%C3%BC{"a":1}')
  })

  test('exit code 0 is done, `terminalExitCodes` make dead letters, others are retried', async () => {
    await using dir = await createTempDir()
    const ends = async (code: number) =>
      anExec(dir, shell(`exit ${code}`), { terminalExitCodes: [65] }).send([anItem({ id: 'evt_1' })])
    await ends(0)
    await expect(ends(65)).rejects.toThrow(TerminalError)
    await expect(ends(65)).rejects.toThrow('the command sh ended with exit code 65')
    for (const code of [1, 75]) await expect(ends(code)).rejects.not.toBeInstanceOf(TerminalError)
    await expect(anExec(dir, shell('kill -9 $$')).send([anItem({ id: 'evt_1' })])).rejects.toThrow(
      'the command sh was ended by SIGKILL',
    )
  })

  test('the command need not read its input; the start of its output is logged at debug', async () => {
    await using dir = await createTempDir()
    const context = aSinkContext()
    const big = anItem({ id: 'evt_1', data: { text: 'x'.repeat(1_000_000) } })
    await anExec(dir, shell('exec <&-; echo wrong >&2; head -c 3000000 /dev/zero | tr "\\0" y')).send([big], context)
    const [line] = context.lines
    expect(line).toMatchObject({ level: 'debug', message: 'command ended', exitCode: 0 })
    expect(line).toMatchObject({ stdout: 'y'.repeat(4096), stderr: 'wrong\n' })
  })

  test('an abort kills the command and its children', async () => {
    await using dir = await createTempDir()
    const controller = new AbortController()
    const script = 'trap "" TERM; sleep 600 & echo $! > child; echo $$ > self; wait'
    const sending = anExec(dir, shell(script)).send(
      [anItem({ id: 'evt_1' })],
      aSinkContext({ signal: controller.signal }),
    )
    const pid = async (name: string) => Number(await read(dir, name).catch(() => '0'))
    await until(async () => (await pid('self')) > 0, 'the command has started')
    const pids = [await pid('self'), await pid('child')]
    expect(await Promise.all(pids.map(isAlive))).toEqual([true, true])
    controller.abort(new Error('time is over'))
    await expect(sending).rejects.toThrow('time is over')
    await until(async () => !(await Promise.all(pids.map(isAlive))).includes(true), 'both are gone')
  })

  test('does not wait for background processes', async () => {
    await using dir = await createTempDir()
    const context = aSinkContext()
    await anExec(dir, shell('sleep 600 & echo $!')).send([anItem({ id: 'evt_1' })], context)
    const left = Number(String(context.lines[0]!.stdout))
    expect(await isAlive(left)).toBe(true)
    process.kill(left, 'SIGKILL')
  })
})
