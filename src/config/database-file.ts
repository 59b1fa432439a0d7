import { resolve } from 'node:path'
import { messageOf } from '../base/errors.ts'
import { readSecretFile } from '../base/secret-file.ts'
import { mistakeIn, parseSettings } from './parse.ts'
import { settings } from './settings.ts'
import type { GivenSettings } from './sources.ts'

/**
 * The same settings with the content of INBOX_DATABASE_URL_FILE as INBOX_DATABASE_URL, where the former is set; a relative path starts
 * at `cwd`. What is wrong with it is among the problems, without any of the content; then there is no INBOX_DATABASE_URL.
 */
export async function withDatabaseUrl(given: GivenSettings, cwd: string): Promise<GivenSettings> {
  const { INBOX_DATABASE_URL_FILE: path, ...values } = given.values
  if (path === undefined) return given
  const { INBOX_DATABASE_URL: url, ...others } = values
  const failed = (...problems: readonly string[]) => ({
    ...given,
    values: others,
    problems: [...given.problems, ...problems],
  })
  if (url !== undefined) {
    return failed('INBOX_DATABASE_URL: INBOX_DATABASE_URL_FILE is set as well; expected only one of them')
  }
  const { values: parsed, problems } = parseSettings({ INBOX_DATABASE_URL_FILE: path })
  if (parsed.INBOX_DATABASE_URL_FILE === undefined) return failed(...problems)
  const file = resolve(cwd, parsed.INBOX_DATABASE_URL_FILE)
  let text: string
  try {
    text = await readSecretFile(file)
  } catch (error) {
    return failed(`INBOX_DATABASE_URL_FILE: ${messageOf(error)}; expected ${settings.INBOX_DATABASE_URL_FILE.expected}`)
  }
  const { error } = settings.INBOX_DATABASE_URL.type.safeParse(text)
  if (error !== undefined) {
    const mistake = mistakeIn('INBOX_DATABASE_URL', text, error)
    return failed(`INBOX_DATABASE_URL_FILE: the content of ${file} cannot be used: ${mistake}`)
  }
  return { ...given, values: { ...given.values, INBOX_DATABASE_URL: text } }
}
