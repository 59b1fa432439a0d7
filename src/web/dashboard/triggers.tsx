import { Link } from 'wouter'
import type { StoryName } from '../../emulator/world/port.ts'
import { toNumber, Form } from '../ui/form.tsx'
import { formatCount } from '../ui/format.ts'
import { eventTypes } from '../../../schema/names.ts'
import { Page, Panel } from '../ui/shell.tsx'
import type { Triggered } from './contract.ts'
import { choiceField } from './fields.tsx'

const about: Readonly<Record<StoryName, string>> = {
  scam: 'A token is listed, its owner hides, nobody can sell it, and its liquidity is removed.',
  launch: 'A token is launched on the bonding curve of Solana and bought up.',
  whale: 'A wealthy wallet trades.',
  crash: 'The price of a token falls step by step.',
  'bag-holder': 'A tracked wallet books a gain, then holds a falling token.',
}
const stories = Object.entries(about).map(([name, text]) => ({ name, about: text }))

/** Makes events arise: at once, or by a story over minutes to hours of world time. */
export function TriggersPage() {
  return (
    <Page title="Triggers">
      <Panel title="Trigger events" note="Plays the shortest story that leads to the event">
        <Form
          submit="Trigger"
          fields={[
            { name: 'type', label: 'Event type', choices: eventTypes },
            { name: 'count', label: 'Count', initial: '1' },
            { name: 'rate', label: 'Events per second', placeholder: 'All at once', isOptional: true },
            {
              name: 'set',
              label: 'Overridden fields',
              description:
                'One per line: data.amount_usd = 250000. Such an event is raw: the world has no record of it.',
              rows: 3,
              isOptional: true,
            },
          ]}
          run={async ({ api, value }) => {
            const set = parseOverrides(value('set'))
            const { type, count, isRaw } = await api.send<Triggered>('POST', '/trigger', {
              type: value('type'),
              count: toNumber(value('count')),
              ...(value('rate') !== '' && { rate: toNumber(value('rate')) }),
              ...(Object.keys(set).length > 0 && { set }),
            })
            return (
              <>
                {formatCount(count)} {isRaw ? 'raw ' : ''}
                {type} triggered. <Link href={`/deliveries?type=${type}`}>Deliveries</Link>
              </>
            )
          }}
        />
      </Panel>
      <Panel title="Stories" note="Events over minutes to hours of world time">
        <Form
          isRow
          submit="Begin"
          fields={(value) => [choiceField('Story', stories, value)]}
          run={async ({ api, value }) => {
            await api.send('POST', '/world/story', { story: value('name') })
            return `Story ${value('name')} has begun.`
          }}
        />
      </Panel>
    </Page>
  )
}

/** Parses lines such as `data.amount_usd = 250000`: the value is JSON, else text. Throws an Error with the line. */
export function parseOverrides(text: string): Readonly<Record<string, unknown>> {
  const set: Record<string, unknown> = {}
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue
    const at = line.indexOf('=')
    if (at < 1) throw new Error(`expected a line such as data.amount_usd = 250000 (got “${line.trim()}”)`)
    set[line.slice(0, at).trim()] = parseValue(line.slice(at + 1).trim())
  }
  return set
}

function parseValue(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}
