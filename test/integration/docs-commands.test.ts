import type { Command } from 'commander'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { loadProgram } from '../../src/cli/program.ts'
import { callsOf, pages, readPage, snippetsOf } from '../support/snippets.ts'

let program: Command

beforeAll(async () => {
  program = await loadProgram()
  for (const command of commandsOf(program)) {
    const { _actionHandler: action } = command as unknown as { readonly _actionHandler: unknown }
    // A command without an action shows its help, or refuses an unknown sub-command.
    if (action !== null) command.action(() => {})
  }
})

function commandsOf(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(commandsOf)]
}

/** The error of a call; null if it is valid. */
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
  /** In a sentence, where required options may be missing. */
  readonly isMention?: boolean
}

/** Shell code of a page: blocks, and inline code that begins with `npx`. */
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
  test('calls of onchain-inbox are valid', async () => {
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

  test('`npm run` names existing scripts', () => {
    const { scripts } = JSON.parse(readPage('package.json')) as { readonly scripts: Readonly<Record<string, string>> }
    const named = pages.flatMap((page) =>
      shellCode(page)
        .flatMap(({ code }) => callsOf(code, 'npm').filter(([verb]) => verb === 'run'))
        .flatMap((args) => args.slice(1).find((arg) => !arg.startsWith('-')) ?? []),
    )
    expect(named.filter((script) => !Object.hasOwn(scripts, script))).toEqual([])
  })
})
