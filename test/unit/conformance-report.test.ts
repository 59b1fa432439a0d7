import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { parseEffects } from '../../src/cli/conformance/effects.ts'
import { failed } from '../../src/cli/conformance/judge.ts'
import { toJunit } from '../../src/cli/conformance/report.ts'
import { toReport, type Verdict } from '../../src/cli/conformance/run.ts'
import { needsOf, scenarios } from '../../src/cli/conformance/scenarios.ts'

const url = new URL('https://user:word@hooks.example/in?token=hidden')
const nasty = `]]> </failure> & "quoted" 'single' <b> tab\tnul\u0000 bell\u0007 escape\u001b[31m half\ud800 end\uffff`

const verdicts: readonly Verdict[] = [
  { scenario: 'acceptance', rule: 'is accepted', verdict: 'passed', detail: '200 after 4 ms', ms: 4 },
  {
    scenario: 'forgery',
    rule: `refuses ${nasty}`,
    ms: 1_234,
    ...failed({ sent: nasty, expected: '401', came: '200', todo: 'fix it' }),
  },
  { scenario: 'rotation', rule: 'both', verdict: 'not checked', detail: nasty, ms: 0 },
]
const report = toReport({ url, verdicts, ms: 1_500, cut: null })

/** Strict about what is written here, not about all of XML. */
function elementsOf(xml: string) {
  const rest = xml.replace(/^<\?xml version="1.0" encoding="UTF-8"\?>\n/, '')
  const open: string[] = []
  const elements: { name: string; attributes: Record<string, string>; path: string; text: string }[] = []
  // eslint-disable-next-line no-control-regex
  expect(xml).not.toMatch(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Cs}/u)
  let end = 0
  for (const match of rest.matchAll(
    /<(\/?)([a-z]+)((?: [a-z]+="[^"<&]*(?:&(?:amp|lt|gt|quot|apos|#\d+);[^"<&]*)*")*)(\/?)>|([^<]+)/g,
  )) {
    const [whole, closing, name = '', attributes = '', selfClosing, text] = match
    expect(match.index, `no XML at ${rest.slice(end, end + 40)}`).toBe(end)
    end += whole.length
    if (text !== undefined) {
      expect(text).toMatch(/^(?:[^&<>]|&(?:amp|lt|gt|quot|apos|#\d+);)*$/)
      const element = elements.at(-1)
      if (element !== undefined && text.trim() !== '') element.text += unescape(text)
    } else if (closing === '/') expect(open.pop()).toBe(name)
    else {
      const pairs = [...attributes.matchAll(/ ([a-z]+)="([^"]*)"/g)].map(([, key = '', value = '']) => [
        key,
        unescape(value),
      ])
      elements.push({ name, attributes: Object.fromEntries(pairs), path: open.join('/'), text: '' })
      if (selfClosing !== '/') open.push(name)
    }
  }
  expect(end).toBe(rest.length)
  expect(open).toEqual([])
  return elements
}

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }
const unescape = (text: string) =>
  text.replaceAll(/&(?:#(\d+)|([a-z]+));/g, (_, code: string | undefined, name: string) =>
    code === undefined ? (entities[name] ?? '?') : String.fromCharCode(Number(code)),
  )

describe('the JUnit report', () => {
  const read = () => elementsOf(toJunit(report))

  test('has a suite per scenario and a case per verdict, with counts and seconds', () => {
    const elements = read()
    expect(elements[0]).toMatchObject({
      name: 'testsuites',
      attributes: {
        name: 'onchain-inbox conformance of https://hooks.example/in',
        tests: '3',
        failures: '1',
        errors: '0',
        skipped: '1',
        time: '1.500',
      },
    })
    const suites = elements.filter(({ name }) => name === 'testsuite')
    expect(suites.map(({ attributes }) => attributes['name'])).toEqual(['acceptance', 'forgery', 'rotation'])
    expect(suites[1]?.attributes).toMatchObject({ tests: '1', failures: '1', skipped: '0', time: '1.234' })
    const cases = elements.filter(({ name }) => name === 'testcase')
    expect(cases[0]?.attributes).toEqual({ classname: 'acceptance', name: 'is accepted', time: '0.004' })
  })

  test('holds whatever text there is, and nothing that XML cannot hold', () => {
    const shown = nasty.replace('\u0000', '\\u0000').replace('\u0007', '\\u0007').replace('\u001b', '\\u001b')
    const kept = shown.replace('\ud800', '\ufffd').replace('\uffff', '\\uffff')
    const elements = read()
    const failure = elements.find(({ name }) => name === 'failure')
    expect(failure?.attributes['message']).toBe(`refuses ${kept}`)
    expect(failure?.text).toBe(`sent: ${kept}\nexpected: 401\ncame: 200\nto do: fix it`)
    expect(elements.find(({ name }) => name === 'skipped')?.attributes['message']).toBe(kept)
  })

  test('of a run that was cut short has an error', () => {
    const cut = { outcome: 'interrupted', reason: 'it was <interrupted>' } as const
    const found = elementsOf(toJunit(toReport({ url, verdicts: [], ms: 1, cut })))
    expect(found[0]?.attributes).toMatchObject({ tests: '1', errors: '1' })
    expect(found.find(({ name }) => name === 'error')?.attributes['message']).toBe('it was <interrupted>')
  })
})

test('a failed rule outweighs an early end; a run that checked nothing fails', () => {
  const cut = { outcome: 'unreachable', reason: 'gone' } as const
  const outcome = (some: readonly Verdict[], end: typeof cut | null) =>
    toReport({ url, verdicts: some, ms: 1, cut: end }).outcome
  expect(outcome(verdicts, cut)).toBe('failed')
  expect(outcome([verdicts[0]!, verdicts[2]!], null)).toBe('passed')
  expect(outcome([verdicts[0]!, verdicts[2]!], cut)).toBe('unreachable')
  expect(outcome([verdicts[2]!], null)).toBe('failed')
  expect(outcome([verdicts[2]!], cut)).toBe('unreachable')
})

describe('effects are read from', () => {
  test.each([
    ['lines of JSON', '{"id":"evt_1"}\n{"id":"evt_2","at":7}\n\n{"id":"evt_1"}\n'],
    ['plain ids', 'evt_1\r\n  evt_2\nevt_1'],
    ['a JSON array of objects', '[{"id":"evt_1"},{"id":"evt_2","x":[]},{"id":"evt_1"}]'],
    ['a JSON array of ids', '\n[ "evt_1", "evt_2", "evt_1" ]\n'],
  ])('%s, repeated ones and their order kept', (_, text) => {
    expect(parseEffects(text)).toEqual(['evt_1', 'evt_2', 'evt_1'])
  })

  test('nothing at all: nothing was done', () => {
    expect(parseEffects('')).toEqual([])
    expect(parseEffects('[]')).toEqual([])
  })

  test.each([
    ['evt_1\ntwo words', 'line 2 of'],
    ['{"event":"evt_1"}', 'line 1 of'],
    ['{"id":1}', 'line 1 of'],
    ['{"id":"evt_1"', 'line 1 of'],
    ['<html>', 'line 1 of'],
    ['[{"id":"evt_1"}', 'begin like a JSON array'],
    ['[1]', 'begin like a JSON array'],
  ])('no other text: %j', (text, message) => {
    expect(() => parseEffects(text)).toThrow(message)
    expect(() => parseEffects(text)).toThrow('expected {"id": "evt_…"} or a plain id on each line')
  })
})

test('docs/conformance.md lists exactly the scenarios and rules, in their order', async () => {
  const page = await readFile(new URL('../../docs/conformance.md', import.meta.url), 'utf8')
  const rows = [...page.matchAll(/^\| `([a-z-]+)` \| (.*) \| (.*)\|$/gm)].map(([, ...cells]) =>
    cells.map((cell) => cell.trim()),
  )
  const options = { effects: '`--effects`', restart: '`--restart`', nextSecret: '`--next-secret`' }
  const expected = Object.entries(scenarios).flatMap(([name, cases]) =>
    cases.flatMap((one) =>
      one.checks.map((check) => [
        name,
        check.rule,
        needsOf(one, check)
          .map((need) => options[need])
          .join(' '),
      ]),
    ),
  )
  expect(rows).toEqual(expected)
})
