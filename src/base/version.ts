import { readFileSync } from 'node:fs'

/** The version in package.json, in the folder of `src` and of `dist`. */
export const version: string = readVersion(
  import.meta.url.endsWith('.ts') ? '../../package.json' : '../../../package.json',
)

function readVersion(path: string): string {
  const manifest = JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')) as { version: string }
  return manifest.version
}
