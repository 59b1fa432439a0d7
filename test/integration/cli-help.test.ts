import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import { expect, test } from 'vitest'
import { commandsPage, examplesOf } from '../../docs/make-commands.ts'
import { loadProgram } from '../../src/cli/program.ts'
import { runCli } from '../support/cli.ts'

const program = await loadProgram()
const run = (...args: string[]) => runCli(args, { cwd: tmpdir() })

interface Named {
  readonly name: string
  readonly command: Command
}

const all = below(program, [])

function below(command: Command, path: readonly string[]): readonly Named[] {
  return command.commands.flatMap((one) => {
    const words = [...path, one.name()]
    return [{ name: words.join(' '), command: one }, ...below(one, words)]
  })
}

test('every command has a description of one imperative line of at most 72 characters, and every option one', () => {
  const isLine = (text: string) => /^[A-Z][a-z]+,? .*[^.]$/.test(text) && text.length <= 72
  const isOption = (text: string) => /^(?![A-Z][a-z]).*[^.]$/.test(text)
  const wrong = all.flatMap(({ name, command }) => [
    ...(isLine(command.description()) ? [] : [name]),
    ...command.options.filter(({ description }) => !isOption(description)).map(({ flags }) => `${name} ${flags}`),
  ])
  expect(all.length).toBeGreaterThan(40)
  expect(wrong).toEqual([])
})

test('no help names a requirement by its number', () => {
  const texts = all.map(({ command }) => command.helpInformation() + examplesOf(command).join('\n'))
  expect(texts.filter((text) => /\b[RAP]\d{1,3}\b/.test(text))).toEqual([])
})

// docs-commands.test.ts parses the examples, as docs/commands.md has them.
test('the help of every command has an example of it', () => {
  const without = all.filter(
    ({ name, command }) => !new RegExp(`\\bonchain-inbox ${name}\\b`).test(examplesOf(command).join('\n')),
  )
  expect(without.map(({ name }) => name)).toEqual([])
})

test('help lists all commands in groups', async () => {
  const { code, out } = await run('--help')
  expect(code).toBe(0)
  for (const group of ['Start:', 'Events and handlers:', 'Database:', 'Development and tests:', 'Other:']) {
    expect(out).toContain(`\n${group}\n`)
  }
  for (const { name } of all.filter((one) => !one.name.includes(' '))) {
    expect(out).toMatch(new RegExp(`^  ${name}\\b`, 'm'))
  }
})

test('docs/commands.md is current (node docs/make-commands.ts)', async () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/commands.md'), 'utf8')
  expect(page).toBe(await commandsPage())
})
