import { readdirSync } from 'node:fs'
import { describe, expect, it, vi } from 'vitest'
import { eventTypes } from '../../schema/index.ts'
import { parseHandler, type HandlerContext } from '../../src/dispatch/define.ts'
import { formatEvent } from '../../src/dispatch/format.ts'
import { silentLogger } from '../../src/log.ts'
import { eventSamples } from '../fixtures/event-samples.ts'

const ctx: HandlerContext = {
  signal: new AbortController().signal,
  attempt: 1,
  idempotencyKey: 'x:evt_1',
  log: silentLogger,
}

describe('bundled handlers', () => {
  it('are one file per documented type', () => {
    const files = readdirSync('handlers').filter((name) => name.endsWith('.ts'))
    expect(files.toSorted()).toEqual(eventTypes.map((type) => `${type}.ts`).toSorted())
  })

  it.each(eventTypes)('R93–R102: %s prints exactly one line', async (type) => {
    const file = `../../handlers/${type}.ts`
    const module = (await import(file)) as { default: unknown }
    const handler = parseHandler(module.default, file, type)
    expect(handler.types).toEqual([type])
    const print = vi.spyOn(console, 'log').mockImplementation(() => {})
    try {
      await handler.run({ ...eventSamples[type], raw: new Uint8Array(), exact: () => undefined }, ctx)
      expect(print.mock.calls).toEqual([[formatEvent(eventSamples[type])]])
    } finally {
      print.mockRestore()
    }
  })
})
