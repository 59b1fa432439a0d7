import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createEmulator } from '../../src/emulator/emulator.ts'
import { builtInSeed } from '../../src/emulator/seed/parse-seed.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/emulator.md'), 'utf8')
const tour = page.split(/^## /m).find((part) => part.startsWith('A tour')) ?? ''

/** Commands and the answers that the page shows for them. */
const steps = [...tour.matchAll(/```sh\n(.*?)```(?:\n+```json\n(.*?)```)?/gs)].map(([, commands = '', answer]) => ({
  commands: commands.trim().split('\n'),
  answer,
}))

/** Splits a command as a shell does, with variables replaced. */
function wordsOf(command: string, variables: ReadonlyMap<string, string>): string[] {
  const parts = command.matchAll(/'([^']*)'|"((?:\\.|[^"])*)"|(\S+)/g)
  const fill = (text: string) => text.replaceAll(/\$(\w+)/g, (_, name: string) => variables.get(name) ?? `$${name}`)
  return [...parts].map(([, quoted, filled, bare]) => quoted ?? fill((filled ?? bare ?? '').replaceAll('\\"', '"')))
}

/** The request that curl would send. */
function toRequest(words: readonly string[]): { url: string; init: RequestInit } {
  const after = (flag: string) => words.flatMap((word, at) => (words[at - 1] === flag ? [word] : []))
  const [body] = after('-d')
  const headers = after('-H').map((header) => header.split(/: (.*)/s).slice(0, 2) as [string, string])
  const method = after('-X')[0] ?? (body === undefined ? 'GET' : 'POST')
  return { url: words.at(-1) ?? '', init: { method, headers, ...(body !== undefined && { body }) } }
}

/** A matcher for a shown answer: `…` is any value, the rest of a list, or other members. */
function toPattern(shown: unknown): unknown {
  if (shown === '…') return expect.anything()
  if (Array.isArray(shown)) {
    return shown.at(-1) === '…' ? expect.arrayContaining(shown.slice(0, -1).map(toPattern)) : shown.map(toPattern)
  }
  if (typeof shown !== 'object' || shown === null) return shown
  const members = Object.entries(shown).filter(([name]) => name !== '…')
  return expect.objectContaining(Object.fromEntries(members.map(([name, value]) => [name, toPattern(value)])))
}

test('docs/emulator.md shows the answers of its tour', async () => {
  await using emulator = createEmulator({
    seed: { ...builtInSeed('demo'), clock: { mode: 'manual' } },
    listen: { host: '127.0.0.1', port: 0 },
  })
  await emulator.start()
  const variables = new Map<string, string>()
  expect(steps.length).toBeGreaterThan(10)
  for (const { commands, answer } of steps) {
    for (const command of commands.filter((line) => line.startsWith('export '))) {
      for (const [, name = '', text = ''] of command.matchAll(/(\w+)=('[^']*'|\S+)/g)) {
        variables.set(name, text.replaceAll("'", '').replace('http://127.0.0.1:8090', emulator.url ?? ''))
      }
    }
    const curl = commands.find((line) => line.startsWith('curl '))
    if (curl === undefined) continue
    const { url, init } = toRequest(wordsOf(curl, variables))
    const answered: unknown = await (await fetch(url, init)).json()
    expect(answer, `${curl}\n${JSON.stringify(answered, null, 2)}`).toBeDefined()
    expect(answered, curl).toEqual(toPattern(JSON.parse(answer ?? 'null')))
  }
})
