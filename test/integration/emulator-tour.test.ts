import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createEmulator } from '../../src/emulator/emulator.ts'
import { builtInSeed } from '../../src/emulator/seed/parse-seed.ts'
import { callsOf } from '../support/snippets.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/emulator.md'), 'utf8')
const tour = page.split(/^## /m).find((part) => part.startsWith('A tour')) ?? ''

/** The commands with the responses shown on the page. */
const steps = [...tour.matchAll(/```sh\n(.*?)```(?:\n+```json\n(.*?)```)?/gs)].map(([, commands = '', answer]) => ({
  commands,
  answer,
}))

/** The request of a curl command. */
function toRequest(words: readonly string[]): { url: string; init: RequestInit } {
  const after = (flag: string) => words.flatMap((word, at) => (words[at - 1] === flag ? [word] : []))
  const [body] = after('-d')
  const headers = after('-H').map((header) => header.split(/: (.*)/s).slice(0, 2) as [string, string])
  const method = after('-X')[0] ?? (body === undefined ? 'GET' : 'POST')
  return { url: words.at(-1) ?? '', init: { method, headers, ...(body !== undefined && { body }) } }
}

/** A pattern of a shown response: `…` matches a value, the rest of a list, or other members. */
function toPattern(shown: unknown): unknown {
  if (shown === '…') return expect.anything()
  if (Array.isArray(shown)) {
    return shown.at(-1) === '…' ? expect.arrayContaining(shown.slice(0, -1).map(toPattern)) : shown.map(toPattern)
  }
  if (typeof shown !== 'object' || shown === null) return shown
  const members = Object.entries(shown).filter(([name]) => name !== '…')
  return expect.objectContaining(Object.fromEntries(members.map(([name, value]) => [name, toPattern(value)])))
}

test('the commands of the tour in docs/emulator.md give the responses shown there', { timeout: 300_000 }, async () => {
  await using emulator = createEmulator({
    seed: { ...builtInSeed('demo'), clock: { mode: 'manual' } },
    listen: { host: '127.0.0.1', port: 0 },
  })
  await emulator.start()
  const variables = new Map<string, string>()
  expect(steps.length).toBeGreaterThan(10)
  for (const { commands, answer } of steps) {
    for (const assignment of callsOf(commands, 'export').flat()) {
      const [name = '', value = ''] = assignment.split(/=(.*)/s)
      variables.set(name, value.replace('http://127.0.0.1:8090', emulator.url ?? ''))
    }
    const [curl] = callsOf(commands, 'curl')
    if (curl === undefined) continue
    const fill = (word: string) => word.replaceAll(/\$(\w+)/g, (_, name: string) => variables.get(name) ?? `$${name}`)
    const { url, init } = toRequest(curl.map(fill))
    const answered: unknown = await (await fetch(url, init)).json()
    expect(answer, `${curl.join(' ')}\n${JSON.stringify(answered, null, 2)}`).toBeDefined()
    expect(answered, curl.join(' ')).toEqual(toPattern(JSON.parse(answer ?? 'null')))
  }
})
