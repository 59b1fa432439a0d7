import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../support/app.ts'
import { debianProgram } from '../support/debian.ts'

const promtool = await debianProgram('promtool', ['prometheus'])
const dashboard = new URL('../../docs/grafana/onchain-inbox.json', import.meta.url)

/** Types of metrics by name. */
function typesOf(text: string): ReadonlyMap<string, string> {
  return new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]))
}

describe('the metrics of a running service', () => {
  let app: TestApp
  let text: string

  beforeAll(async () => {
    app = await startTestApp()
    const answer = await fetch(`${app.adminUrl}/metrics`, { headers: { Authorization: `Bearer ${app.adminToken}` } })
    text = await answer.text()
  })
  afterAll(() => app[Symbol.asyncDispose]())

  test('follow the conventions of Prometheus', () => {
    const own = [...typesOf(text)].filter(([name]) => name.startsWith('inbox_'))
    expect(own.length).toBeGreaterThan(20)
    for (const [name, type] of own) {
      expect(name).toMatch(/^inbox_[a-z0-9_]+$/)
      expect(name).not.toMatch(/_(?:ms|milliseconds|kb|mb|percent|minutes|hours)(?:_|$)/)
      expect(name.endsWith('_total'), name).toBe(type === 'counter')
      expect(text).toMatch(new RegExp(`^# HELP ${name} \\S.{10,}$`, 'm'))
    }
  })

  test.skipIf(promtool === null)('pass promtool (needs promtool)', () => {
    const { status, stdout, stderr } = spawnSync(promtool?.file ?? '', ['check', 'metrics'], {
      input: text,
      encoding: 'utf8',
      env: promtool?.env,
    })
    // Node's own metrics are not ours.
    const said = `${stdout}${stderr}`.split('\n').filter((line) => line.startsWith('inbox_'))
    expect(said).toEqual([])
    // 3: it has remarks.
    expect([0, 3]).toContain(status)
  })

  test('include all metrics of the Grafana dashboard', () => {
    const names = new Set(
      [...readFileSync(dashboard, 'utf8').matchAll(/\b(?:inbox|process|nodejs)_[a-z0-9_]+/g)].map(([name]) => name),
    )
    const types = typesOf(text)
    const known = (name: string) => types.has(name) || types.has(name.replace(/_(?:bucket|sum|count)$/, ''))
    expect(names.size).toBeGreaterThan(15)
    expect([...names].filter((name) => !known(name))).toEqual([])
  })
})
