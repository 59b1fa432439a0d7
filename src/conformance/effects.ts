import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { z } from 'zod'
import type { Clock } from '../clock.ts'
import { InboxError, messageOf } from '../errors.ts'
import { safeText } from '../log.ts'
import { describe } from './sender.ts'
import { runShell } from './shell.ts'

export interface EffectsReaderOptions {
  /** A URL that answers GET, or a shell command. */
  readonly source: string
  readonly isInsecure: boolean
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** Gives the id of the event of each effect, in the order in which they were had. Rejects with an Error that says why it cannot. */
export type EffectsReader = () => Promise<readonly string[]>

const limitMs = 10_000
const longestAnswer = 64 * 1024 * 1024

/** Reads what a receiver did, as it tells it itself. */
export function createEffectsReader({ source, isInsecure, clock, signal }: EffectsReaderOptions): EffectsReader {
  if (!isUrl(source)) return async () => parseEffects(await runShell(source, { clock, limitMs, signal, isRead: true }))
  const url = new URL(source)
  return async () => parseEffects(await get(url, { isInsecure, clock, signal }))
}

/**
 * Reads once, before there is anything to read.
 *
 * @throws InboxError `usage` that says why it cannot be read
 */
export async function checkEffects(read: EffectsReader): Promise<void> {
  try {
    await read()
  } catch (error) {
    throw new InboxError(
      'usage',
      `--effects cannot be read: ${safeText(messageOf(error))}. It is read before anything is sent, too: expected a URL that is ` +
        'answered with 200, or a command that ends with 0, also while nothing was done yet',
      { cause: error },
    )
  }
}

function isUrl(source: string): boolean {
  return /^https?:\/\//i.test(source) && URL.canParse(source)
}

const effect = z.union([z.string(), z.object({ id: z.string() }).transform(({ id }) => id)])
const forms = 'expected {"id": "evt_…"} or a plain id on each line, or a JSON array of them'

/**
 * The ids in a text that tells of effects: lines, each `{"id": "evt_…"}` or a plain id, or one JSON array of either. Empty lines and
 * members beside `id` mean nothing.
 *
 * @throws Error that names the first line that is none of these, without its text
 */
export function parseEffects(text: string): readonly string[] {
  const content = text.trim()
  if (content.startsWith('[')) {
    const array = z.array(effect).safeParse(parseJson(content))
    if (!array.success) throw new Error(`what tells of effects begins like a JSON array and is none of ids; ${forms}`)
    return array.data
  }
  return content
    .split('\n')
    .map((line, index) => ({ line: line.trim(), number: index + 1 }))
    .filter(({ line }) => line !== '')
    .map(({ line, number }) => {
      if (/^[^\s{}"<>]+$/.test(line)) return line
      const parsed = effect.safeParse(parseJson(line))
      if (parsed.success) return parsed.data
      throw new Error(`line ${number} of what tells of effects is no effect; ${forms}`)
    })
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function get(url: URL, { isInsecure, clock, signal }: Omit<EffectsReaderOptions, 'source'>): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { agent: false, signal }
    const request =
      url.protocol === 'https:'
        ? httpsRequest(url, { ...options, rejectUnauthorized: !isInsecure })
        : httpRequest(url, options)
    const deadline = clock.after(limitMs, () => request.destroy(new Error(`no answer within ${limitMs / 1_000} s`)))
    request.on('error', (error) => reject(new Error(describe(error), { cause: error })))
    request.on('close', () => deadline.cancel())
    request.on('response', (response) => {
      const chunks: Buffer[] = []
      let length = 0
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        length += chunk.length
        if (length > longestAnswer) request.destroy(new Error(`the answer has more than ${longestAnswer} bytes`))
      })
      response.on('error', reject)
      response.on('end', () => {
        if (response.statusCode === 200) resolve(Buffer.concat(chunks).toString())
        else reject(new Error(`a GET of the effects was answered ${response.statusCode}, expected 200`))
      })
    })
    request.end()
  })
}
