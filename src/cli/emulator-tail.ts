import { InvalidArgumentError, type Command } from 'commander'
import { setTimeout as wait } from 'node:timers/promises'
import { InboxError } from '../base/errors.ts'
import type { ShownReport } from '../emulator/control/deliveries.ts'
import type { ShownClock } from '../emulator/control/clock.ts'
import type { WorldEvent } from '../emulator/world/port.ts'
import { asControlCommand, openControl, type ControlOptions, type ControlClient } from './control-client.ts'
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
      const client = await openControl(options)
      await runUntilSignal((ending) => listen(client, options, ending))
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
      if (body !== null) for await (const [name, data] of readEventStream(body)) print(name, data, options)
    } catch (error) {
      if (ending.aborted) return
      if (!wasConnected || !(error instanceof InboxError) || error.exitCode !== 75) throw error
    }
    if (!isLost && !ending.aborted) printNote(`lost ${client.origin}: reconnecting`)
    isLost = true
  }
}

/** Prints a message. The emulator is the same program, so its messages aren't validated. */
function print(name: string, data: string, options: TailOptions): void {
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

/** Reads the Server-Sent Events of an emulator until the stream ends or breaks: `event: NAME`, then one line of data. */
async function* readEventStream(body: ReadableStream): AsyncGenerator<readonly [name: string, data: string], void> {
  let text = ''
  try {
    for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
      const messages = `${text}${chunk}`.split('\n\n')
      text = messages.pop() ?? ''
      for (const message of messages) {
        const [, name, data] = /^event: (.*?)\ndata: (.*)$/s.exec(message) ?? []
        if (name !== undefined && data !== undefined) yield [name, data]
      }
    }
  } catch {
    // The connection broke.
  }
}
