import { resolve } from 'node:path'
import { inspect } from 'node:util'
import type { z } from 'zod'
import { messageOf } from '../base/errors.ts'
import { safeText } from '../base/log.ts'
import { readSecretFile } from '../base/secret-file.ts'
import { settingNames, settings, type SettingName, type SettingValues } from './settings.ts'
import { filePairs, type RawSettings } from './collect.ts'

export interface ParsedSettings {
  /** All settings. An invalid one has its default here, and a line in `problems`. */
  readonly values: SettingValues
  readonly problems: readonly string[]
}

/** Parses each setting on its own, so that all problems are found. */
export function parseSettings(raw: RawSettings['values']): ParsedSettings {
  const problems: string[] = []
  const entries = settingNames.map((name) => {
    const result = settings[name].type.safeParse(raw[name])
    if (result.success) return [name, result.data]
    problems.push(problemOf(name, raw[name], result.error))
    return [name, settings[name].type.parse(undefined)]
  })
  return { values: Object.fromEntries(entries), problems }
}

/**
 * Replaces `<name>_FILE` by the content of the file, for the settings in `names`. Relative paths start at `cwd`. Problems never
 * contain the content. A setting with a problem stays unset. Leaves out INBOX_SECRETS_FILE, which is read again when it changes.
 */
export async function withFiles(
  raw: RawSettings,
  cwd: string,
  names: readonly SettingName[] = settingNames,
): Promise<RawSettings> {
  const values: Record<string, unknown> = { ...raw.values }
  const problems = [...raw.problems]
  for (const [name, fileName] of filePairs) {
    if (name === 'INBOX_SECRETS' || !names.includes(name) || values[fileName] === undefined) continue
    const isTwice = values[name] !== undefined
    if (isTwice) problems.push(`${name}: ${fileName} is set as well; expected only one of them`)
    delete values[name]
    const { data: path } = settings[fileName].type.safeParse(values[fileName])
    if (isTwice || path === undefined) continue
    const file = resolve(cwd, path)
    try {
      const text = await readSecretFile(file)
      const { error } = settings[name].type.safeParse(text)
      if (error === undefined) values[name] = text
      else problems.push(`${fileName}: the content of ${file} ${mistakeIn(name, text, error)}`)
    } catch (error) {
      problems.push(`${fileName}: ${messageOf(error)}; expected ${settings[fileName].expected}`)
    }
  }
  return { ...raw, values, problems }
}

function problemOf(name: SettingName, value: unknown, error: z.ZodError): string {
  return `${name} ${mistakeIn(name, value, error)}, for example ${name}=${settings[name].example}`
}

/** `must be … (got …)`, never with the value of a secret. */
export function mistakeIn(name: SettingName, value: unknown, error: z.ZodError): string {
  const { expected, isSecret } = settings[name]
  return `must be ${expected} (${isSecret ? reasonOf(error) : `got ${show(value)}`})`
}

/** The message of a custom check. zod's messages might quote the value. */
function reasonOf(error: z.ZodError): string {
  const [issue] = error.issues
  return issue?.code === 'custom' ? issue.message : 'its value is not shown'
}

function show(value: unknown): string {
  return safeText(typeof value === 'string' ? JSON.stringify(value) : inspect(value, { breakLength: Infinity }), 80)
}
