import Sqlite from 'better-sqlite3'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import fileKind from '../../handlers/sinks/file.ts'
import { anItem, aSinkContext, underTest } from '../support/sink-items.ts'
import { createTempDir, type TempDir } from '../support/temp-dir.ts'

function aFileSink(dir: TempDir, more: Record<string, unknown> = {}) {
  const options = fileKind.options.parse({ path: 'events.ndjson', ...more })
  return underTest(fileKind.create({ name: 'archive', options }, { baseDir: dir.path }))
}

const event = (id: string) => anItem({ id })
const read = (dir: TempDir, name = 'events.ndjson') => readFile(join(dir.path, name), 'utf8')
const idsIn = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { id: string }).id)

describe('the sink `file`', () => {
  test('writes one line per event: the exact bytes with line breaks as spaces', async () => {
    await using dir = await createTempDir()
    await using sink = aFileSink(dir)
    const raw =
      '{\r\n "id":"evt_1",\n"type":"x","created_at":"2026-01-31T14:03:22Z","data":{"n":1.50e+0,"s":"a\\nb\\u2028ü"}\n}'
    await sink.send([anItem(Buffer.from(raw)), event('evt_2')])
    const [first, second, end] = (await read(dir)).split('\n')
    expect(first).toBe(raw.replaceAll(/[\r\n]/g, ' '))
    expect(JSON.parse(first!)).toEqual(JSON.parse(raw))
    expect(JSON.parse(second!)).toMatchObject({ id: 'evt_2' })
    expect(end).toBe('')
  })

  test('writes payloads as JSON; creates the folder', async () => {
    await using dir = await createTempDir()
    await using sink = aFileSink(dir, { path: 'deep/in/items.ndjson' })
    await sink.send([anItem({ id: 'evt_1' }, { payload: { note: 'two\nlines' } })])
    expect(await read(dir, 'deep/in/items.ndjson')).toBe('{"note":"two\\nlines"}\n')
  })

  test('renames a full file by number, keeps the newest, and never splits a line', async () => {
    await using dir = await createTempDir()
    const line = event('evt_00').event.raw.length + 1
    await using sink = aFileSink(dir, { maxBytes: 3 * line, keep: 2 })
    const ids = Array.from({ length: 10 }, (_, at) => `evt_${String(at).padStart(2, '0')}`)
    await sink.send(ids.slice(0, 2).map(event))
    await sink.send(ids.slice(2).map(event))
    const names = (await readdir(dir.path)).filter((name) => !name.endsWith('.lock')).toSorted()
    expect(names).toEqual(['events.ndjson', 'events.ndjson.000002', 'events.ndjson.000003'])
    const texts = await Promise.all(
      ['events.ndjson.000002', 'events.ndjson.000003', 'events.ndjson'].map((n) => read(dir, n)),
    )
    expect(texts.map(idsIn)).toEqual([ids.slice(3, 6), ids.slice(6, 9), ids.slice(9)])
  })

  test('a line above the limit gets a separate file; without `keep` nothing is deleted', async () => {
    await using dir = await createTempDir()
    await using sink = aFileSink(dir, { maxBytes: 10 })
    await sink.send(['evt_1', 'evt_2', 'evt_3'].map(event))
    const names = ['events.ndjson.000001', 'events.ndjson.000002', 'events.ndjson']
    const texts = await Promise.all(names.map((name) => read(dir, name)))
    expect(texts.map(idsIn)).toEqual([['evt_1'], ['evt_2'], ['evt_3']])
  })

  test.for([
    ['part of a line is removed and logged', '{"id":"evt_1"}\n{"id":"evt_', '{"id":"evt_1"}\n', 11],
    ['part of the only line is removed', '{"id":"evt_', '', 11],
    ['a line without its newline is removed', '{"id":"evt_0"}\n{"id":"evt_1"}', '{"id":"evt_0"}\n', 14],
    ['whole lines stay', '{"id":"evt_1"}\n', '{"id":"evt_1"}\n', null],
    ['part of a long line is removed', `{"a":1}\n${'x'.repeat(200_000)}`, '{"a":1}\n', 200_000],
  ] as const)('repairs the end after a crash: %s', async ([, before, kept, cut]) => {
    await using dir = await createTempDir()
    await writeFile(join(dir.path, 'events.ndjson'), before)
    await using sink = aFileSink(dir)
    const context = aSinkContext()
    await sink.send([event('evt_2')], context)
    expect(await read(dir)).toBe(`${kept}${event('evt_2').event.raw.toString()}\n`)
    expect(context.lines.map(({ level, bytes }) => [level, bytes])).toEqual(cut === null ? [] : [['warn', cut]])
  })

  test('continues in a new file after a rename or removal', async () => {
    await using dir = await createTempDir()
    await using sink = aFileSink(dir)
    const path = join(dir.path, 'events.ndjson')
    await sink.send([event('evt_1')])
    await rename(path, `${path}.old`)
    await sink.send([event('evt_2')])
    await rm(path)
    await sink.send([event('evt_3')])
    expect([idsIn(await read(dir, 'events.ndjson.old')), idsIn(await read(dir))]).toEqual([['evt_1'], ['evt_3']])
  })

  test('two sinks on one file, by two names, write whole lines and rotate together', async () => {
    await using dir = await createTempDir()
    await writeFile(join(dir.path, 'events.ndjson'), '')
    await symlink('events.ndjson', join(dir.path, 'other.ndjson'))
    const line = event('evt_000').event.raw.length + 1
    const options = { maxBytes: 4 * line, fsync: false }
    const sinks = [aFileSink(dir, options), aFileSink(dir, { ...options, path: 'other.ndjson' })]
    const ids = Array.from({ length: 40 }, (_, at) => `evt_${String(at).padStart(3, '0')}`)
    const sendHalf = async (half: number) => {
      for (const id of ids.filter((_, at) => at % 2 === half)) await sinks[half]!.send([event(id)])
    }
    await Promise.all([sendHalf(0), sendHalf(1)])
    const names = (await readdir(dir.path)).filter((name) => /^events\.ndjson(\.\d+)?$/.test(name))
    const written = (await Promise.all(names.map((name) => read(dir, name)))).flatMap(idsIn)
    expect(written.toSorted()).toEqual(ids)
    expect(names).toHaveLength(10)
  })

  test('waits while another process holds the lock, until aborted', async () => {
    await using dir = await createTempDir()
    const other = new Sqlite(join(dir.path, 'events.ndjson.lock'))
    other.exec('BEGIN IMMEDIATE')
    await using sink = aFileSink(dir)
    const controller = new AbortController()
    const aborted = sink.send([event('evt_1')], aSinkContext({ signal: controller.signal }))
    controller.abort(new Error('time is over'))
    await expect(aborted).rejects.toThrow('aborted')
    const waiting = sink.send([event('evt_2')])
    other.close()
    await waiting
    expect(idsIn(await read(dir))).toEqual(['evt_2'])
  })

  test('after a kill -9 only the last line is incomplete, and the next process continues', async () => {
    await using dir = await createTempDir()
    const script = join(dir.path, 'writer.mjs')
    const root = join(import.meta.dirname, '../..')
    await writeFile(
      script,
      `import { appendLines } from ${JSON.stringify(join(root, 'handlers/sinks/common/append-lines.ts'))}
       const options = { path: ${JSON.stringify(join(dir.path, 'events.ndjson'))}, maxBytes: 1e9, fsync: false, onCut() {} }
       const line = Buffer.from(JSON.stringify({ id: 'x'.repeat(300_000) }) + '\\n')
       for (let n = 0; ; n++) { await appendLines(options, [line, line, line], new AbortController().signal); if (n === 3) console.log('on') }`,
    )
    const writer = spawn(process.execPath, [script], { cwd: dir.path, stdio: ['ignore', 'pipe', 'inherit'] })
    await once(writer.stdout, 'data')
    writer.kill('SIGKILL')
    await once(writer, 'exit')
    // The kernel may have completed the write, so add an incomplete line.
    await appendFile(join(dir.path, 'events.ndjson'), '{"id":"xxx')
    await using sink = aFileSink(dir)
    await sink.send([event('evt_1')])
    const ids = idsIn(await read(dir))
    expect(ids.length).toBeGreaterThanOrEqual(4 * 3 + 1)
    expect(ids.at(-1)).toBe('evt_1')
    expect(new Set(ids.slice(0, -1))).toEqual(new Set(['x'.repeat(300_000)]))
  })

  test('a pipe without a reader is an error; a slow reader gets everything', async () => {
    await using dir = await createTempDir()
    execFileSync('mkfifo', [join(dir.path, 'pipe')])
    await using sink = aFileSink(dir, { path: 'pipe' })
    await expect(sink.send([event('evt_1')])).rejects.toThrow('ENXIO')
    // Opens the pipe for reading without waiting for a writer.
    const opened = 'exec 3<> pipe; exec 4< pipe; exec 3>&-'
    // More than a pipe holds; read only after it was full.
    const ids = Array.from({ length: 20 }, (_, n) => `evt_${n}_${'x'.repeat(20_000)}`)
    const reader = spawn('sh', ['-c', `${opened}; echo open; read go; cat <&4`], { cwd: dir.path })
    await once(reader.stdout, 'data')
    const sending = sink.send(ids.map(event))
    await expect(Promise.race([sending, delay(100, 'waits')])).resolves.toBe('waits')
    const got = text(reader.stdout)
    reader.stdin.end('go\n')
    await sending
    expect(idsIn(await got)).toEqual(ids)
    // A reader that ends does not block.
    const other = spawn('sh', ['-c', `${opened}; echo open; read go`], { cwd: dir.path })
    await once(other.stdout, 'data')
    const controller = new AbortController()
    const aborted = sink.send(ids.map(event), aSinkContext({ signal: controller.signal }))
    controller.abort(new Error('time is over'))
    await expect(aborted).rejects.toThrow('aborted')
    other.kill('SIGKILL')
  })
})
