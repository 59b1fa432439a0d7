import { systemClock } from '../base/clock.ts'
import { InboxError, messageOf } from '../base/errors.ts'
import { safeText } from '../base/log.ts'
import { signSample } from '../sources/samples.ts'
import { readSource } from './configured-source.ts'
import { readBytesArgument } from './secret-argument.ts'
import { printResult, type OutputOptions } from './output.ts'
import type { ConfigOption } from './settings.ts'

export interface TriggerSourceOptions extends OutputOptions, ConfigOption {
  readonly source: string
  readonly count: number
  readonly body?: string
  readonly url?: string
}

/** Time for an acknowledgement, as of the service (R115). */
const timeoutMs = 5_000

interface SignedDelivery {
  /** For people. */
  readonly label: string
  /** For the output as JSON. */
  readonly about: object
  readonly headers: Readonly<Record<string, string>>
  readonly raw: Buffer<ArrayBuffer>
}

/**
 * Posts signed samples to a source of the running inbox. Returns true if all were acknowledged.
 *
 * @throws InboxError `receiver_unreachable` if nothing answers, `usage` if only the sender can sign
 */
export async function triggerSource(type: string | undefined, options: TriggerSourceOptions): Promise<boolean> {
  const { source, provider, url } = await readSource(options.source, options)
  const body = options.body === undefined ? undefined : await readBytesArgument('--body', options.body)
  return postEach(options.url ?? url, options, () => {
    const sample = signSample(source, { provider, type, body, now: systemClock.now() })
    return { ...sample, label: `${source.name}  ${sample.raw.length} bytes`, about: { source: source.name } }
  })
}

/**
 * Posts `count` deliveries one after another, and prints the answers. Returns true if all were acknowledged.
 *
 * @throws InboxError `receiver_unreachable` if nothing answers
 */
export async function postEach(
  url: string,
  options: OutputOptions & { readonly count: number },
  createDelivery: () => SignedDelivery,
): Promise<boolean> {
  let acknowledged = 0
  for (let sent = 0; sent < options.count; sent++) {
    const { label, about, headers, raw } = createDelivery()
    const { status, text } = await post(url, headers, raw)
    if (status !== null && status < 300) acknowledged++
    printResult({ msg: 'delivery', ...about, status, answer: text }, options, () =>
      `${label}  ${status ?? 'no status'}  ${safeText(text, 200)}`.trimEnd(),
    )
  }
  return acknowledged === options.count
}

async function post(url: string, headers: Readonly<Record<string, string>>, body: Buffer<ArrayBuffer>) {
  try {
    const signal = AbortSignal.timeout(timeoutMs)
    const response = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'manual' })
    // Only the status line counts (A43).
    return { status: response.status, text: await response.text().catch(() => '') }
  } catch (error) {
    if (error instanceof Error && error.name === 'TimeoutError')
      return { status: null, text: `no response within ${timeoutMs / 1_000} s` }
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
    const advice = 'start the receiver, or set another --url'
    throw new InboxError('receiver_unreachable', `no answer from ${safeText(url)} (${messageOf(cause)}): ${advice}`)
  }
}
