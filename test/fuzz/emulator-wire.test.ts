import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { apiKey } from '../integration/emulator-stage.ts'
import { readOpenApi } from '../support/openapi-document.ts'
import { authorization, fuzzRuns, startFuzzStage, type FuzzStage } from '../support/openapi-fuzz-stage.ts'
import {
  authorizations,
  encodings,
  mediaTypeParameters,
  mediaTypes,
  methods,
  targets,
  wireBytes,
} from '../support/openapi-wire-arbitraries.ts'
import { headerOf, jsonOf, requestBytes, type RawAnswer } from '../support/raw-http.ts'

const { operations } = readOpenApi()
const timeout = 3_600_000
const right = { Authorization: authorization }
const ids = operations.map(({ id }) => id)

let stage: FuzzStage
beforeAll(async () => {
  stage = await startFuzzStage()
})
afterAll(() => stage[Symbol.asyncDispose]())

test('R66 whatever stands in for a key, nothing is told without a right one', { timeout }, () =>
  stage.unchanged([400, 401], () =>
    fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...ids),
        fc.array(authorizations, { maxLength: 2 }),
        fc.boolean(),
        async (id, values, isRepeated) => {
          const { path, method, answers } = operations.find((one) => one.id === id)!
          const target = `/v1${path.replace(/\{\w+\}/, 'x')}`
          const given = isRepeated && values.length > 0 ? [...values, authorization] : values
          const headers = { ...(given.length > 0 && { Authorization: given }), 'Content-Type': 'application/json' }
          const body = Buffer.from('{}')
          const answer = await stage.send(
            { method, target, headers, ...(method !== 'GET' && { body }) },
            { method, target },
          )
          const [, key] = /^bearer +(\S+)$/i.exec(given[0]?.trim() ?? '') ?? []
          if (given.length !== 1 || key !== apiKey) expect(answer.status, JSON.stringify(given)).toBe(401)
          else expect([...answers.keys()]).toContain(answer.status)
        },
      ),
      { ...fuzzRuns, examples: [['createAlert', [authorization], false]] },
    ),
  ),
)

test('R50 a body is read only as JSON in UTF-8, whatever its headers say', { timeout }, () =>
  stage.unchanged([400, 415], () =>
    fc.assert(
      fc.asyncProperty(mediaTypes, mediaTypeParameters, encodings, async (type, parameter, encoding) => {
        const contentType = `${type}${parameter}`
        const headers = {
          ...right,
          'Content-Type': contentType,
          ...(encoding !== null && { 'Content-Encoding': encoding }),
        }
        const target = '/v1/alerts'
        const parts = { method: 'POST', target, headers, body: Buffer.from('{}') }
        const answer = await stage.send(parts, { method: 'POST', target, body: {} })
        const isJson = /^application\/json\s*(;|$)/i.test(contentType.trim())
        if (!isJson || ['gzip', 'br', 'deflate, gzip', 'x'].includes(encoding ?? '')) expect(answer.status).toBe(415)
        else expect([400, 415]).toContain(answer.status)
      }),
      { ...fuzzRuns, examples: [['application/json', '', null]] },
    ),
  ),
)

/** What chance seldom comes to: answered with 200, 404, 405, 501. */
const rareTargets: [string, string][] = [
  ['GET', '/v1/networks'],
  ['GET', '/v1/none'],
  ['PUT', '/v1/networks'],
  ['GET', '/v1/contracts/x'],
]

test('A2 A3 whatever path and method, the answer is in the envelope, and nothing is changed', { timeout }, () =>
  stage.unchanged([200, 404, 405, 501], () =>
    fc.assert(
      fc.asyncProperty(methods, targets, async (method, target) => {
        const body = method === 'GET' ? undefined : Buffer.from('{}')
        const headers = { ...right, 'Content-Type': 'application/json' }
        const [answer, ...more] = await stage.sendBytes(
          requestBytes({ method, target, headers, ...(body && { body }) }),
        )
        expect(more).toEqual([])
        expectKnown(answer)
        if (answer === undefined) return
        if (answer.status < 300) expect(method, target).toBe('GET')
        if (answer.status >= 400) stage.expectEnvelope(answer)
      }),
      { ...fuzzRuns, examples: rareTargets },
    ),
  ),
)

/** Refused, or served; never failed. */
function expectKnown(answer: RawAnswer | undefined): void {
  expect(answer, 'there must be an answer').toBeDefined()
  expect([200, 400, 404, 405, 413, 415, 431, 501], answer?.body.toString()).toContain(answer?.status)
}

/** The dashboard, or what stands in its place where it was not built. */
function expectPage({ body }: RawAnswer): void {
  expect(body.toString()).toMatch(/^<!doctype html>/i)
}

test('R1 R117 whatever bytes come, each answer is in the envelope, and the service lives on', { timeout }, () =>
  stage.unchanged([200, 400], () =>
    fc.assert(
      fc.asyncProperty(wireBytes, async (bytes) => {
        for (const answer of await stage.sendBytes(bytes)) {
          if (answer.status === 100) continue
          expect([200, 400, 401, 404, 405, 408, 413, 415, 429, 431, 501], answer.head).toContain(answer.status)
          if (answer.status >= 400) stage.expectEnvelope(answer)
          else if (headerOf(answer, 'content-type')?.startsWith('text/html')) expectPage(answer)
          else expect(jsonOf(answer)).toMatchObject({ success: true })
        }
      }),
      fuzzRuns,
    ),
  ),
)
