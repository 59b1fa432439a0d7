import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Names that .dockerignore includes. Ours excludes everything and includes single names. */
export function dockerContext(root: string): string[] {
  const [first, ...others] = readFileSync(join(root, '.dockerignore'), 'utf8').trim().split('\n')
  if (first !== '*' || others.some((line) => !/^![\w.-]+$/.test(line))) {
    throw new Error('.dockerignore: expected * and then names after !')
  }
  return others.map((line) => line.slice(1))
}
