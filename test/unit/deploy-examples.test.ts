import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { settingNames } from '../../src/config/settings.ts'

const root = join(import.meta.dirname, '../..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')

type Fields = Readonly<Record<string, unknown>>

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The YAML documents of a file. */
function documentsOf(file: string): readonly Fields[] {
  return parseAllDocuments(read(file)).map((document) => {
    expect(document.errors).toEqual([])
    const value: unknown = document.toJS()
    if (!isFields(value)) throw new Error(`${file}: expected a mapping`)
    return value
  })
}

/** The value at a path of names and indexes. */
function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>((inner, step) => (inner as Record<string | number, unknown> | undefined)?.[step], value)
}

/** Names of settings: `NAME: …` of compose, `name: NAME` of Kubernetes. */
function settingsIn(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(settingsIn)
  if (!isFields(value)) return []
  const own = Object.keys(value).filter((name) => name.startsWith('INBOX_'))
  const named = value['name']
  const env = typeof named === 'string' && named.startsWith('INBOX_') ? [named] : []
  return [...own, ...env, ...Object.values(value).flatMap(settingsIn)]
}

const compose = 'docs/examples/compose-postgres.yaml'
const kubernetes = 'docs/examples/kubernetes-postgres.yaml'

describe.each([compose, kubernetes])('%s', (file) => {
  test('sets only known settings, with database and secrets', () => {
    const names = documentsOf(file).flatMap(settingsIn)
    const known: readonly string[] = settingNames
    expect(names.filter((name) => !known.includes(name))).toEqual([])
    expect(names).toEqual(
      expect.arrayContaining(['INBOX_DATABASE_URL', 'INBOX_SECRETS_FILE', 'INBOX_ADMIN_TOKEN_FILE']),
    )
  })

  test('holds no secret, and docs/cluster.md links to it', () => {
    expect(read(file)).not.toMatch(/postgres:\/\/\w+:(?!\$\{|password@)/)
    expect(read('docs/cluster.md')).toContain(`(${file.replace('docs/', '')})`)
  })
})

test('the compose file mounts its secrets, and gives the inbox time to stop', () => {
  const [file] = documentsOf(compose)
  const inbox = at(file, 'services', 'inbox')
  expect(at(inbox, 'secrets')).toEqual(Object.keys(at(file, 'secrets') as object))
  for (const name of ['INBOX_SECRETS_FILE', 'INBOX_ADMIN_TOKEN_FILE'])
    expect(at(inbox, 'environment', name)).toMatch(/^\/run\/secrets\/(webhook|admin)$/)
  expect(at(inbox, 'stop_grace_period')).toBe('30s')
  // Replicas would compete for a port of the host.
  expect(at(inbox, 'ports')).toBeUndefined()
  expect(at(file, 'configs', 'balancer', 'content')).toContain('server inbox:8080 resolve;')
})

test('Deployment, Service, autoscaler and disruption budget select the same pods', () => {
  const [deployment, service, autoscaler, budget] = documentsOf(kubernetes)
  const labels = at(deployment, 'spec', 'template', 'metadata', 'labels')
  expect(at(deployment, 'spec', 'selector', 'matchLabels')).toEqual(labels)
  expect(at(service, 'spec', 'selector')).toEqual(labels)
  expect(at(budget, 'spec', 'selector', 'matchLabels')).toEqual(labels)
  expect(at(autoscaler, 'spec', 'scaleTargetRef', 'name')).toBe(at(deployment, 'metadata', 'name'))
  // Each apply would reset the number.
  expect(at(deployment, 'spec', 'replicas')).toBeUndefined()
  expect(at(service, 'spec', 'ports', 0, 'targetPort')).toBe('webhook')
  const container = at(deployment, 'spec', 'template', 'spec', 'containers', 0)
  for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe']) {
    const path = probe === 'readinessProbe' ? '/readyz' : '/healthz'
    // The admin port is not public.
    expect(at(container, probe, 'httpGet')).toMatchObject({ port: 'admin', path })
  }
  const namesOf = (list: unknown) => (list as readonly { name: string }[]).map(({ name }) => name)
  const volumes = at(deployment, 'spec', 'template', 'spec', 'volumes')
  expect(namesOf(at(container, 'volumeMounts'))).toEqual(namesOf(volumes))
})
