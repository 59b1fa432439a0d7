import { spawnSync } from 'node:child_process'
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createTempDir } from '../support/temp-dir.ts'

const root = join(import.meta.dirname, '../..')

interface Installed {
  readonly packages: Record<string, { version: string; optional?: boolean }>
}

/**
 * Runs `.ci/setup.mjs` in a copy of a clone after `npm ci`. `change` edits the list of installed packages, `bins` are the
 * files in `node_modules/.bin`. Returns true if the script installs packages.
 */
async function installs(change: (installed: Installed) => void, bins = ['node']): Promise<boolean> {
  await using dir = await createTempDir()
  const at = (path: string) => join(dir.path, path)
  for (const file of ['.ci/setup.mjs', 'package-lock.json']) await cp(join(root, file), at(file))
  const installed = JSON.parse(await readFile(at('package-lock.json'), 'utf8')) as Installed
  delete installed.packages['']
  change(installed)
  await mkdir(at('node_modules/.bin'), { recursive: true })
  await writeFile(at('node_modules/.package-lock.json'), JSON.stringify(installed))
  for (const bin of bins) await writeFile(at(`node_modules/.bin/${bin}`), '')
  await mkdir(at('bin'))
  await writeFile(at('bin/npm'), '#!/bin/sh\nexit 0\n', { mode: 0o755 })
  const { status, stderr } = spawnSync(process.execPath, [at('.ci/setup.mjs')], { env: { PATH: at('bin') } })
  expect(status).toBe(0)
  return String(stderr).includes('Installing packages')
}

test('installs if a package is missing or has another version, or an install script has not run', async () => {
  const removeOptional = ({ packages }: Installed) => {
    for (const [path, { optional }] of Object.entries(packages)) if (optional) delete packages[path]
  }
  expect(await installs(removeOptional)).toBe(false)
  expect(await installs(({ packages }) => void delete packages['node_modules/vitest'])).toBe(true)
  expect(await installs(({ packages }) => void (packages['node_modules/zod'] = { version: '1.0.0' }))).toBe(true)
  expect(await installs(() => {}, [])).toBe(true)
})
