import { expect, it, vi } from 'vitest'
import { eventTypes } from '../../schema/index.ts'
import { formatEvent } from '../../src/dispatch/format.ts'
import { parseDefinition } from '../../src/dispatch/parse-definition.ts'
import { eventSamples } from '../fixtures/event-samples.ts'
import { aContext } from '../support/run-context.ts'

it.each(eventTypes)(
  'R93–R102: the bundled handler of %s prints exactly one line, which marks a replay',
  async (type) => {
    const file = `../../handlers/${type}.ts`
    const module = (await import(file)) as { default: unknown }
    const handler = parseDefinition(module.default, file, type)
    expect(handler.types).toEqual([type])
    const print = vi.spyOn(console, 'log').mockImplementation(() => {})
    try {
      const raw = Buffer.from(JSON.stringify(eventSamples[type]))
      await handler.run(aContext({ raw }))
      await handler.run(aContext({ raw, lease: { replay: { id: 1, newKeys: false } } }))
      const line = formatEvent(eventSamples[type])
      expect(print.mock.calls).toEqual([[line], [`${line} · replay`]])
    } finally {
      print.mockRestore()
    }
  },
)
