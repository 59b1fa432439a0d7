import type { Command } from 'commander'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { loadProgram } from '../../src/cli/program.ts'
import { callsOf, pages, readPage, snippetsOf } from '../support/snippets.ts'

let program: Command

beforeAll(async () => {
  program = await loadProgram()
  for (const command of commandsOf(program)) {
    const { _actionHandler: action } = command as unknown as { readonly _actionHandler: unknown }
    // One without an action shows its help, or says that it does not know a sub-command.
    if (action !== null) command.action(() => {})
  }
})

function commandsOf(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(commandsOf)]
}

/** What the program says of a call; null if it takes it. */
async function complaintAbout(args: readonly string[]): Promise<string | null> {
  try {
    await program.parseAsync(args, { from: 'user' })
    return null
  } catch (error) {
    const { message, code } = error as { readonly message: string; readonly code?: string }
    return code?.startsWith('commander.help') || code === 'commander.version' ? null : message
  }
}

interface ShellCode {
  readonly line: number
  readonly code: string
  /** Within a sentence: the name of a command, perhaps without all that it needs. */
  readonly isMention?: boolean
}

/** Code of a page that is for a shell: blocks, and what stands within a sentence with `npx` before it. */
function shellCode(page: string): readonly ShellCode[] {
  const text = readPage(page)
  const inline = [...text.matchAll(/`(npx onchain-inbox [^`…]+)`/g)].map(({ 1: code = '', index }) => {
    return { line: text.slice(0, index).split('\n').length, code, isMention: true }
  })
  return [...snippetsOf(page, text).filter(({ language }) => language === 'sh'), ...inline]
}

const calls = pages.flatMap((page) =>
  shellCode(page).flatMap(({ line, code, isMention = false }) =>
    callsOf(code, 'onchain-inbox').map((args) => ({ page, line, args, isMention })),
  ),
)

describe('commands in the docs', () => {
  test('every call of onchain-inbox is one that the program takes', async () => {
    vi.spyOn(process.stdout, 'write').mockReturnValue(true)
    const wrong: string[] = []
    for (const { page, line, args, isMention } of calls) {
      const complaint = await complaintAbout(args)
      if (isMention && complaint?.includes('required')) continue
      if (complaint !== null) wrong.push(`${page}:${line}: onchain-inbox ${args.join(' ')}: ${complaint}`)
    }
    vi.restoreAllMocks()
    expect(wrong).toEqual([])
    expect(calls.length).toBeGreaterThan(30)
  })

  test('`npm run …` names scripts that there are', () => {
    const { scripts } = JSON.parse(readPage('package.json')) as { readonly scripts: Readonly<Record<string, string>> }
    const named = pages.flatMap((page) =>
      shellCode(page)
        .flatMap(({ code }) => callsOf(code, 'npm').filter(([verb]) => verb === 'run'))
        .flatMap((args) => args.slice(1).find((arg) => !arg.startsWith('-')) ?? []),
    )
    expect(named.filter((script) => !Object.hasOwn(scripts, script))).toEqual([])
  })
})
