import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The names that .dockerignore lets through: ours leaves out everything and takes single names back. */
export function dockerContext(root: string): string[] {
  const [first, ...others] = readFileSync(join(root, '.dockerignore'), 'utf8').trim().split('\n')
  if (first !== '*' || others.some((line) => !/^![\w.-]+$/.test(line))) {
    throw new Error('.dockerignore: expected * and then names after !')
  }
  return others.map((line) => line.slice(1))
}
