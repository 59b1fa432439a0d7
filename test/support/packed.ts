import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const root = join(import.meta.dirname, '../..')

export interface Manifest {
  readonly version: string
  readonly files: readonly string[]
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>
  readonly scripts: Readonly<Record<string, string>>
}

export interface PackedFile {
  readonly path: string
  readonly mode: number
}

export interface Packed {
  readonly tarball: string
  /** As npm notes it of what it installs: `sha512-…`. */
  readonly integrity: string
  readonly files: readonly PackedFile[]
}

const generated: readonly string[] = ['dist', 'docs/api', 'schema/json', 'schema/admin-openapi.json']

/** Builds the package from scratch in `folder` and packs it there, as `npm pack` does in a clone. */
export async function pack(folder: string): Promise<Packed> {
  const staged = join(folder, 'package')
  await mkdir(staged)
  await run(process.execPath, [join(root, '.ci/build.mjs'), join(staged, 'dist')], root)
  const { files } = await readManifest(join(root, 'package.json'))
  for (const file of ['package.json', ...files.filter((name) => !generated.includes(name))]) {
    await cp(join(root, file), join(staged, file), { recursive: true })
  }
  await run(process.execPath, ['--import', './.ci/old-typescript.mjs', '.ci/reference.mjs', staged], root)
  const [packed] = JSON.parse(
    await npm(['pack', '--json', '--ignore-scripts', '--pack-destination', folder], staged),
  ) as [Omit<Packed, 'tarball'> & { readonly filename: string }]
  return { ...packed, tarball: join(folder, packed.filename) }
}

/** Installs packages into an empty project, with their install scripts, as a user would. False if there is no way to a registry. */
export async function installInto(folder: string, ...packages: readonly string[]): Promise<boolean> {
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'package.json'), '{ "name": "somebody-s", "private": true, "type": "module" }\n')
  try {
    await npm(['install', '--prefer-offline', '--ignore-scripts=false', '--no-audit', '--no-fund', ...packages], folder)
    return true
  } catch (error) {
    if (/ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENETUNREACH/.test(String(error))) return false
    throw error
  }
}

export async function readManifest(file: string): Promise<Manifest> {
  return JSON.parse(await readFile(file, 'utf8')) as Manifest
}

function npm(args: readonly string[], cwd: string): Promise<string> {
  return run('npm', args, cwd)
}

/** What a script of `npm run` is told of its own package is not for the npm that it starts. */
const env = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^npm_(?:package|lifecycle|config_local_prefix)/.test(name)),
)

/** What a program printed; rejects, with what it said, if it ends with another code than 0. */
export async function run(command: string, args: readonly string[], cwd: string): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(command, args, { cwd, env, maxBuffer: 32 * 1024 * 1024 })
    return stdout
  } catch (error) {
    const { message, stdout = '' } = error as Error & { readonly stdout?: string }
    throw new Error(`${message}\n${stdout.slice(-2_000)}`, { cause: error })
  }
}
