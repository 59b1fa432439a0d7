import { inspect } from 'node:util'
import type { z } from 'zod'
import { safeText } from '../base/log.ts'
import { settingNames, settings, type SettingName, type SettingValues } from './settings.ts'
import type { GivenSettings } from './sources.ts'

export interface ParsedSettings {
  /** Complete: a setting that cannot be used has its default here and a line among the problems. */
  readonly values: SettingValues
  readonly problems: readonly string[]
}

/** Parses every setting for itself, so that one mistake does not hide another. */
export function parseSettings(given: GivenSettings['values']): ParsedSettings {
  const problems: string[] = []
  const entries = settingNames.map((name) => {
    const result = settings[name].type.safeParse(given[name])
    if (result.success) return [name, result.data]
    problems.push(problemOf(name, given[name], result.error))
    return [name, settings[name].type.parse(undefined)]
  })
  return { values: Object.fromEntries(entries), problems }
}

function problemOf(name: SettingName, value: unknown, error: z.ZodError): string {
  return `${name}: ${mistakeIn(name, value, error)}, for example ${name}=${settings[name].example}`
}

/** What is wrong with the value of a setting and what was expected, never with the value of a secret. */
export function mistakeIn(name: SettingName, value: unknown, error: z.ZodError): string {
  const { expected, isSecret } = settings[name]
  return `${isSecret ? reasonOf(error) : `got ${show(value)}`}; expected ${expected}`
}

/** What the type itself has to say. zod's own words are not used here: they might quote the value. */
function reasonOf(error: z.ZodError): string {
  const [issue] = error.issues
  return issue?.code === 'custom' ? issue.message : 'the value, which is not shown, cannot be used'
}

function show(value: unknown): string {
  return safeText(typeof value === 'string' ? JSON.stringify(value) : inspect(value, { breakLength: Infinity }), 80)
}
