import { InvalidArgumentError, type Command } from 'commander'
import { setTimeout as wait } from 'node:timers/promises'
import { InboxError } from '../base/errors.ts'
import type { ShownReport } from '../emulator/control/deliveries.ts'
import type { ShownClock } from '../emulator/control/clock.ts'
import type { WorldEvent } from '../emulator/world/port.ts'
import { asControlCommand, withControl, type ControlOptions, type ControlClient } from './control-client.ts'
import { attemptLine, eventLine } from './follow-deliveries.ts'
import { runUntilSignal } from './host.ts'
import { printNote, printResult } from './output.ts'

interface TailOptions extends ControlOptions {
  readonly types: readonly string[]
}

const kinds: readonly string[] = ['event', 'attempt', 'clock']
const retryMs = 500

/** `onchain-inbox emulator tail`: prints events and delivery attempts as they happen. */
export function addEmulatorTailCommand(emulator: Command): void {
  const tail = emulator
    .command('tail')
    .description('Print events and attempts of a running emulator')
    .option('--types <types>', `any of ${kinds.join(',')}`, parseKinds, ['event', 'attempt'])
  asControlCommand(tail, ['emulator tail', 'emulator tail --types attempt --json']).action(
    async (options: TailOptions) => {
      await withControl(options, (client) => runUntilSignal((ending) => listen(client, options, ending)))
    },
  )
}

/** Listens until aborted, and reconnects to an emulator that comes back. */
async function listen(client: ControlClient, options: TailOptions, ending: AbortSignal): Promise<void> {
  let isLost = false
  for (let wasConnected = false; !ending.aborted; await wait(retryMs, undefined, { signal: ending }).catch(() => {})) {
    try {
      const { body } = await client.stream(options.types, ending)
      if (isLost) printNote(`${client.origin} is back`)
      wasConnected = true
      isLost = false
      if (body !== null) for await (const message of readEventStream(body)) print(message, options)
    } catch (error) {
      if (ending.aborted) return
      if (!wasConnected || !(error instanceof InboxError) || error.exitCode !== 75) throw error
    }
    if (!isLost && !ending.aborted) printNote(`lost ${client.origin}: reconnecting`)
    isLost = true
  }
}

/** Prints a message. The emulator is the same program, so its messages aren't validated. */
function print({ name, data }: StreamMessage, options: TailOptions): void {
  if (name === 'event') {
    const { event } = JSON.parse(data) as WorldEvent
    const { id, type, created_at } = event
    printResult({ msg: 'event', id, type, created_at, data: event.data }, options, () => eventLine(event))
  } else if (name === 'attempt') {
    const attempt = JSON.parse(data) as ShownReport
    printResult({ msg: 'attempt', ...attempt }, options, () => attemptLine(attempt, true))
  } else if (name === 'clock') {
    printResult({ msg: 'clock', ...(JSON.parse(data) as ShownClock) }, options, clockLine)
  }
}

function clockLine({ mode, speed, now }: ShownClock): string {
  const pace = mode === 'manual' ? 'stands still until advanced' : `${speed} × real time`
  return `${now.slice(11, 19)}  clock: ${mode}, ${pace}`
}

function parseKinds(text: string): readonly string[] {
  const names = text.split(',')
  if (names.every((name) => kinds.includes(name))) return names
  throw new InvalidArgumentError(`Expected any of ${kinds.join(',')}.`)
}

/** A Server-Sent Event. */
interface StreamMessage {
  readonly name: string
  readonly data: string
}

/** Reads Server-Sent Events until the stream ends or breaks. Lines end with `\n`. */
async function* readEventStream(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamMessage, void> {
  const decoder = new TextDecoder()
  const reader = body.getReader()
  let text = ''
  for (;;) {
    const chunk = await reader.read().catch(() => null)
    if (chunk === null || chunk.done) return
    text += decoder.decode(chunk.value, { stream: true })
    const messages = text.split('\n\n')
    text = messages.pop() ?? ''
    for (const message of messages) {
      const data = fieldOf(message, 'data')
      if (data !== undefined) yield { name: fieldOf(message, 'event') ?? 'message', data }
    }
  }
}

function fieldOf(message: string, name: string): string | undefined {
  const start = `${name}: `
  return message
    .split('\n')
    .find((line) => line.startsWith(start))
    ?.slice(start.length)
}
