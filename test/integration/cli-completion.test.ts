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

const made = new Map<string, Promise<string>>()

/** The file with the script for a shell. */
function scriptFor(shell: string): Promise<string> {
  const script = made.get(shell) ?? makeScript(shell)
  made.set(shell, script)
  return script
}

async function makeScript(shell: string): Promise<string> {
  const { code, out, errors } = await runCli(['completion', shell], { cwd: tmpdir() })
  expect({ code, errors }).toEqual({ code: 0, errors: '' })
  const file = join(dir.path, `completion.${shell}`)
  await writeFile(file, out)
  return file
}

/** What is typed, and what is offered for its last word. `[]` = names of files. */
const cases: readonly (readonly [string, readonly string[]])[] = [
  ['onchain-inbox ev', ['events']],
  ['onchain-inbox events ', ['list', 'show', 'tail']],
  ['onchain-inbox events --h', ['--help']],
  ['onchain-inbox events tail --f', ['--follow']],
  ['onchain-inbox events list --type wallet.l', ['wallet.large_trade']],
  ['onchain-inbox events list --limit 3 --network ', networkIds],
  ['onchain-inbox events list --status de', ['dead']],
  ['onchain-inbox trigger ', eventTypes],
  ['onchain-inbox trigger pump.graduation --se', ['--seed', '--secret', '--set']],
  ['onchain-inbox emulator re', ['replay']],
  ['onchain-inbox emulator replay --dr', ['--dry-run']],
  ['onchain-inbox emulator --seed-', ['--seed-file']],
  ['onchain-inbox completion ', ['bash', 'fish', 'zsh']],
  ['onchain-inbox serve --config ', []],
  ['onchain-inbox backup ', []],
]

test.skipIf(!has('bash'))(
  'bash completes commands, options and known values, and starts no program for it (needs bash)',
  async () => {
    const file = await scriptFor('bash')
    const asked = cases.map(([line]) => {
      const words = line.split(' ')
      return `COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _onchain_inbox; echo "\${COMPREPLY[*]}"`
    })
    // Nothing is on the PATH: the script has what it needs.
    const script = `PATH=/nowhere; source ${file}; ${asked.join('\n')}`
    const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', script], { encoding: 'utf8' })
    expect(stderr).toBe('')
    const offered = stdout.split('\n').map((line) =>
      line
        .split(' ')
        .filter((word) => word !== '')
        .toSorted(),
    )
    expect(cases.map(([line], index) => [line, offered[index]])).toEqual(
      cases.map(([line, words]) => [line, words.toSorted()]),
    )
  },
)

test.skipIf(!has('fish'))('fish completes commands, options and known values (needs fish)', async () => {
  const file = await scriptFor('fish')
  for (const [line, words] of cases.filter(([, offered]) => offered.length > 0)) {
    const { stdout } = spawnSync('fish', ['--no-config', '-c', `source ${file}; complete -C '${line}'`], {
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], HOME: dir.path },
    })
    const offered = stdout.split('\n').map((text) => text.split('\t')[0] ?? '')
    for (const word of words) expect(offered, line).toContain(word)
  }
})

test.skipIf(!has('zsh'))('zsh takes the script, and finds the words at a place (needs zsh)', async () => {
  const file = await scriptFor('zsh')
  // What zsh itself does with the words that were found is left out: it needs a terminal.
  const asked = cases.map(([line]) => {
    const words = line.split(' ')
    return `words=(${words.map((word) => `'${word}'`).join(' ')}); CURRENT=${words.length}; shown=; _onchain-inbox; print -r -- "$shown"`
  })
  const stubs = `compdef() { :; }; _files() { shown=; }; _describe() { local -a all=(\${(P)2}); shown="\${(j: :)all[@]%%:*}"; }`
  const { stdout, stderr } = spawnSync('zsh', ['-f', '-c', `${stubs}\nsource ${file}\n${asked.join('\n')}`], {
    encoding: 'utf8',
  })
  expect(stderr).toBe('')
  for (const [index, [line, words]] of cases.entries()) {
    const offered = (stdout.split('\n')[index] ?? '').split(' ').filter((word) => word !== '')
    for (const word of words) expect(offered, line).toContain(word)
    if (words.length === 0) expect(offered, line).toEqual([])
  }
})
