import type { AnyEvent, SinkItem } from 'onchain-inbox'
import { formatAmount, formatPercent, formatText, formatTime, formatUsd, shortAddress } from 'onchain-inbox/format'
import type { MessageWord, Template, TemplateFilter, Templates } from '../../../src/config/sinks/templates.ts'
import type { Message } from './message.ts'
import { foreign, joined, own, type Piece } from './piece.ts'

type Event = SinkItem['event']

const longestText = 1_000
const mostOfList = 20

const filters: Readonly<Record<TemplateFilter, (value: unknown) => string>> = {
  usd: (value) => formatUsd(value),
  amount: (value) => formatAmount(value, 9),
  percent: (value) => formatPercent(value),
  address: shortAddress,
  time: formatTime,
}

const words: Readonly<Record<MessageWord, (message: Message) => readonly Piece[]>> = {
  title: ({ title }) => [foreign(title)],
  facts: ({ facts }) => joined(facts.map(([label, value]) => [foreign(`${label} ${value}`)])),
  links: ({ links }) => joined(links.map(({ label, url }) => [{ text: label, url }])),
  network: ({ network }) => [foreign(network ?? '?')],
  severity: ({ severity }) => [own(severity)],
}

/** The template for events of a type: that of the very type, else the longest prefix that fits, else that of `*`. */
export function templateFor(templates: Templates, type: string): Template | undefined {
  if (Object.hasOwn(templates, type)) return templates[type]
  const prefixes = Object.keys(templates).filter((name) => name.endsWith('.*') && type.startsWith(name.slice(0, -1)))
  const [longest] = prefixes.toSorted((a, b) => b.length - a.length)
  return templates[longest ?? '*']
}

/** What a template says of an event. A placeholder whose value is not there, or is nothing to show, gives `?`. */
export function fillTemplate(template: Template, event: Event, message: Message): Piece[] {
  return template.flatMap((part) => {
    if (part.kind === 'text') return [own(part.text)]
    if (part.kind === 'word') return words[part.word](message)
    return [foreign(valueOf(event, part.path, part.filter).toWellFormed())]
  })
}

function valueOf(event: Event, path: string, filter: TemplateFilter | null): string {
  const value = lookUp(event, path.split('.'))
  if (filter !== null) return filters[filter](value)
  // A number as the sender wrote it, every digit.
  if (typeof value === 'number') return formatText(event.exact(path) ?? String(value), longestText)
  if (Array.isArray(value))
    return (
      value
        .slice(0, mostOfList)
        .map((one) => scalar(one))
        .join(', ') || 'none'
    )
  return scalar(value)
}

function scalar(value: unknown): string {
  return formatText(typeof value === 'number' || typeof value === 'boolean' ? String(value) : value, longestText)
}

/** Own members only. */
function lookUp(event: AnyEvent, keys: readonly string[]): unknown {
  return keys.reduce<unknown>(
    (node, key) =>
      typeof node === 'object' && node !== null && Object.hasOwn(node, key) ? Reflect.get(node, key) : undefined,
    event,
  )
}
