import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { eventTypes, networkIds } from '../../schema/index.ts'
import { runCli } from '../support/cli.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { has } from '../support/tools.ts'

const dir = await createTempDir()
afterAll(() => dir[Symbol.asyncDispose]())

/** Writes the script for a shell, and returns its file. */
async function scriptFor(shell: string): Promise<string> {
  const { code, out, errors } = await runCli(['completion', shell], { cwd: tmpdir() })
  expect({ code, errors }).toEqual({ code: 0, errors: '' })
  const file = join(dir.path, `completion.${shell}`)
  await writeFile(file, out)
  return file
}

/** Typed text, and candidates for its last word. `[]` = file names. */
const cases: readonly (readonly [string, readonly string[]])[] = [
  ['onchain-inbox ev', ['events']],
  ['onchain-inbox events ', ['list', 'show', 'tail']],
  ['onchain-inbox events --h', ['--help']],
  ['onchain-inbox events tail --f', ['--follow']],
  ['onchain-inbox events list --type wallet.l', ['wallet.large_trade']],
  ['onchain-inbox events list --limit 3 --network ', networkIds],
  ['onchain-inbox events list --status de', ['dead']],
  ['onchain-inbox trigger ', eventTypes],
  ['onchain-inbox trigger pump.graduation --se', ['--secret', '--set']],
  ['onchain-inbox emulator re', ['replay']],
  ['onchain-inbox emulator replay --dr', ['--dry-run']],
  ['onchain-inbox emulator --seed-', ['--seed-file']],
  ['onchain-inbox completion ', ['bash', 'fish', 'zsh']],
  ['onchain-inbox serve --config ', []],
  ['onchain-inbox backup ', []],
]

const wordsOf = (line: string) => line.split(' ').filter((word) => word !== '')
const quoted = (line: string) =>
  line
    .split(' ')
    .map((word) => `'${word}'`)
    .join(' ')

/** Runs a script, and returns its lines as words. */
function run(shell: string, args: readonly string[], script: string): readonly (readonly string[])[] {
  const env = { PATH: process.env['PATH'], HOME: dir.path }
  const { stdout, stderr } = spawnSync(shell, [...args, '-c', script], { encoding: 'utf8', env })
  expect(stderr).toBe('')
  return stdout.split('\n').map(wordsOf)
}

test.skipIf(!has('bash'))(
  'bash completes commands, options and values without running a program (needs bash)',
  async () => {
    const asked = cases.map(([line]) => {
      const index = line.split(' ').length - 1
      return `COMP_WORDS=(${quoted(line)}); COMP_CWORD=${index}; _onchain_inbox; echo "\${COMPREPLY[*]}"`
    })
    const offered = run('bash', ['--norc'], `PATH=/nowhere; source ${await scriptFor('bash')}; ${asked.join('\n')}`)
    expect(cases.map(([line], index) => [line, offered[index]?.toSorted()])).toEqual(
      cases.map(([line, words]) => [line, words.toSorted()]),
    )
  },
)

test.skipIf(!has('fish'))('fish completes commands, options and values (needs fish)', async () => {
  const file = await scriptFor('fish')
  for (const [line, words] of cases.filter(([, offered]) => offered.length > 0)) {
    const offered = run('fish', ['--no-config'], `source ${file}; complete -C '${line}'`)
    expect(offered.flat(), line).toEqual(expect.arrayContaining([...words]))
  }
})

test.skipIf(!has('zsh'))('zsh completes commands, options and values (needs zsh)', async () => {
  // The menu of zsh itself needs a terminal.
  const asked = cases.map(([line]) => {
    const current = line.split(' ').length
    return `words=(${quoted(line)}); CURRENT=${current}; shown=; _onchain-inbox; print -r -- "$shown"`
  })
  const stubs = `compdef() { :; }; _files() { shown=; }; compadd() { local -a all=(\${(P)2}); shown="\${(j: :)all}"; }`
  const offered = run('zsh', ['-f'], `${stubs}\nsource ${await scriptFor('zsh')}\n${asked.join('\n')}`)
  for (const [index, [line, words]] of cases.entries()) {
    expect(offered[index], line).toEqual(words.length === 0 ? [] : expect.arrayContaining([...words]))
  }
})
