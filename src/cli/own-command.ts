import { basename, relative, sep } from 'node:path'

const name = 'onchain-inbox'

/**
 * How this program is called again from the folder `cwd`, for people, if it was started as `script`: by its name where that is
 * installed, otherwise as the file that it is.
 */
export function ownCommand(script: string, cwd: string): string {
  if (basename(script) === name) return script.includes(`${sep}node_modules${sep}`) ? `npx ${name}` : name
  const steps = relative(cwd, script)
  const file = steps.startsWith('..') ? script : steps
  return `node ${/^[\w./\\:-]+$/.test(file) ? file : `'${file}'`}`
}
