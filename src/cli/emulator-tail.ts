import { InvalidArgumentError, type Command } from 'commander'
import { setTimeout as wait } from 'node:timers/promises'
import type { AttemptReport } from '../emulator/emulator.ts'
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
/** The emulator says something every 15 s. */
const maxSilenceMs = 45_000

/** `onchain-inbox emulator tail`: events, attempts of deliveries and changes of the clock, as they happen. */
export function addEmulatorTailCommand(emulator: Command): void {
  const tail = emulator
    .command('tail')
    .description('print what happens in a running emulator, as it happens, until Ctrl-C')
    .option('--types <types>', `some of ${kinds.join(',')}`, parseKinds, kinds)
  asControlCommand(tail, ['emulator tail', 'emulator tail --types attempt --json']).action(
    async (options: TailOptions) => {
      await withControl(options, (client) => runUntilSignal((ending) => listen(client, options, ending)))
    },
  )
}

/** Listens until told to end; to an emulator that has gone again as soon as it is back. */
async function listen(client: ControlClient, options: TailOptions, ending: AbortSignal): Promise<void> {
  const print = createPrinter(options)
  let isLost = false
  for (let heard = false; !ending.aborted; await wait(retryMs, undefined, { signal: ending }).catch(() => {})) {
    using silence = createSilence()
    try {
      const { body } = await client.stream(options.types, AbortSignal.any([ending, silence.signal]))
      if (isLost) printNote(`${client.origin} is back`)
      heard = true
      isLost = false
      if (body !== null) for await (const message of readEventStream(body, silence.rearm)) print(message)
    } catch (error) {
      if (ending.aborted) return
      if (!heard || !(error instanceof InboxError) || error.exitCode !== 75) throw error
    }
    if (!isLost && !ending.aborted) printNote(`${client.origin} has gone: tail goes on when it returns`)
    isLost = true
  }
}

/** Aborts when nothing was heard for too long. */
function createSilence() {
  const controller = new AbortController()
  const timer = setTimeout(() => controller.abort(), maxSilenceMs)
  return {
    signal: controller.signal,
    rearm: () => void timer.refresh(),
    [Symbol.dispose]: () => clearTimeout(timer),
  }
}

/**
 * Prints messages one after the other. For people a line of another day than the one before begins with its date; and the clock
 * is told of when its mode or speed is another, or it was put back, unless nothing else was asked for: an advance of many hours is
 * made of many.
 */
function createPrinter(options: TailOptions): (message: StreamMessage) => void {
  const isAllOfClock = options.json === true || options.types.every((kind) => kind === 'clock')
  let day: string | undefined
  let last: ShownClock | undefined
  const dated = (at: string, line: string) => {
    const isSame = at.slice(0, 10) === day
    day = at.slice(0, 10)
    return isSame ? line : `${day} ${line}`
  }
  // The other side is the same program: what it gives is not checked again.
  return ({ name, data }) => {
    if (name === 'event') {
      const { event } = JSON.parse(data) as WorldEvent
      const { id, type, created_at } = event
      printResult({ msg: 'event', id, type, created_at, data: event.data }, options, () =>
        dated(created_at, eventLine(event)),
      )
    } else if (name === 'attempt') {
      const attempt = JSON.parse(data) as ShownReport
      printResult({ msg: 'attempt', ...attempt }, options, () =>
        dated(attempt.at, attemptLine(toReport(attempt), true)),
      )
    } else if (name === 'clock') {
      const clock = JSON.parse(data) as ShownClock
      const isOther = last?.mode !== clock.mode || last.speed !== clock.speed || clock.now < last.now
      last = clock
      if (isOther || isAllOfClock) {
        printResult({ msg: 'clock', ...clock }, options, () => dated(clock.now, clockLine(clock)))
      }
    }
  }
}

function toReport(attempt: ShownReport): AttemptReport {
  const { at, nextAttemptAt } = attempt
  const times = { at: Date.parse(at), nextAttemptAt: nextAttemptAt === null ? null : Date.parse(nextAttemptAt) }
  return { ...attempt, ...times }
}

function clockLine({ mode, speed, now }: ShownClock): string {
  const pace = mode === 'manual' ? 'it stands still until it is advanced' : `${speed} times as fast as the wall`
  return `${now.slice(11, 19)}  clock: ${mode}, ${pace}`
}

function parseKinds(text: string): readonly string[] {
  const names = text.split(',')
  if (names.every((name) => kinds.includes(name))) return names
  throw new InvalidArgumentError(`Expected some of ${kinds.join(',')}.`)
}

/** One message of a stream of Server-Sent Events. */
interface StreamMessage {
  readonly name: string
  readonly data: string
}

/**
 * Reads a stream of Server-Sent Events to its end, in order or not. `onBytes` is called whenever something came, be it nothing
 * but a comment. Lines end with `\n`, as the emulator writes them.
 */
async function* readEventStream(
  body: ReadableStream<Uint8Array>,
  onBytes: () => void,
): AsyncGenerator<StreamMessage, void> {
  const decoder = new TextDecoder()
  const reader = body.getReader()
  let text = ''
  for (;;) {
    const chunk = await reader.read().catch(() => null)
    if (chunk === null || chunk.done) return
    onBytes()
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
