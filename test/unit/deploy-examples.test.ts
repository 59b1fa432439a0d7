import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { settingNames } from '../../src/config/settings.ts'
import type { Json } from '../support/api-document.ts'

const root = join(import.meta.dirname, '../..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')

/** The YAML documents of a file. */
function documentsOf(file: string): Json[] {
  return parseAllDocuments(read(file)).map((document) => {
    expect(document.errors).toEqual([])
    return document.toJS() as Json
  })
}

const namesOf = (list: readonly Json[]) => list.map(({ name }) => name)
const compose = 'docs/examples/compose-postgres.yaml'
const kubernetes = 'docs/examples/kubernetes-postgres.yaml'

test.each([compose, kubernetes])(
  '%s sets only known settings, with database and secrets, and holds no secret; docs/cluster.md links to it',
  (file) => {
    const names = read(file).match(/INBOX_\w+/g) ?? []
    const known: readonly string[] = settingNames
    expect(names.filter((name) => !known.includes(name))).toEqual([])
    expect(names).toEqual(
      expect.arrayContaining(['INBOX_DATABASE_URL', 'INBOX_SECRETS_FILE', 'INBOX_ADMIN_TOKEN_FILE']),
    )
    expect(read(file)).not.toMatch(/postgres:\/\/\w+:(?!\$\{|password@)/)
    expect(read('docs/cluster.md')).toContain(`(${file.replace('docs/', '')})`)
  },
)

test('the compose file mounts its secrets, and gives the inbox time to stop', () => {
  const [file] = documentsOf(compose) as [Json]
  const { inbox } = file['services']
  expect(inbox).toMatchObject({
    secrets: Object.keys(file['secrets']),
    environment: { INBOX_SECRETS_FILE: '/run/secrets/webhook', INBOX_ADMIN_TOKEN_FILE: '/run/secrets/admin' },
    stop_grace_period: '30s',
  })
  // Replicas would compete for a port of the host.
  expect(inbox).not.toHaveProperty('ports')
})

test('Deployment, Service, autoscaler and disruption budget select the same pods', () => {
  const [deployment, service, autoscaler, budget] = documentsOf(kubernetes) as [Json, Json, Json, Json]
  const { replicas, selector, template } = deployment['spec']
  const { labels } = template.metadata
  expect(selector).toEqual({ matchLabels: labels })
  expect(service).toMatchObject({ spec: { selector: labels, ports: [{ targetPort: 'webhook' }] } })
  expect(budget).toMatchObject({ spec: { selector: { matchLabels: labels } } })
  expect(autoscaler).toMatchObject({ spec: { scaleTargetRef: { name: deployment['metadata'].name } } })
  // Each apply would reset the number.
  expect(replicas).toBeUndefined()
  const probeOf = (path: string) => ({ httpGet: { port: 'admin', path } })
  const probes = {
    startupProbe: probeOf('/healthz'),
    livenessProbe: probeOf('/healthz'),
    readinessProbe: probeOf('/readyz'),
  }
  const [container] = template.spec.containers
  expect(container).toMatchObject(probes)
  expect(namesOf(container.volumeMounts)).toEqual(namesOf(template.spec.volumes))
})
