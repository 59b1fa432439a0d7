import { readFileSync } from 'node:fs'

/** Version from package.json; found from both `src` and `dist`. */
export const version: string = readVersion(
  import.meta.url.endsWith('.ts') ? '../../package.json' : '../../../package.json',
)

function readVersion(path: string): string {
  const manifest = JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')) as { version: string }
  return manifest.version
}
