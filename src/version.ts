import { readFileSync } from 'node:fs'

/** The version in package.json, which lies one folder above `src` and two above `dist/src`. */
export const version: string = readVersion(import.meta.url.endsWith('.ts') ? '../package.json' : '../../package.json')

function readVersion(path: string): string {
  const manifest = JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')) as { version: string }
  return manifest.version
}
