import { readFileSync } from 'node:fs'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { default as addFormats } from 'ajv-formats'
import { operationsOf, resolve, type Json } from './api-document.ts'

// Reads the generated documents from disk and validates values against them, without any of our types.

export interface DocumentedParameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'body' | 'header'
  readonly required: boolean
  readonly schema: Json
}

export interface DocumentedAnswer {
  readonly headers: readonly { readonly name: string; readonly required: boolean; readonly schema: Json }[]
  readonly mediaType: string
  readonly schema: Json
}

export interface DocumentedOperation {
  readonly id: string
  readonly method: string
  /** Below the prefix of the version, parameters in braces. */
  readonly path: string
  /** Null = any key. */
  readonly scope: string | null
  readonly parameters: readonly DocumentedParameter[]
  /** Null = no body. */
  readonly body: Json | null
  /** The members of the body. */
  readonly members: readonly DocumentedParameter[]
  /** False for undocumented operations, which never succeed. */
  readonly isImplemented: boolean
  readonly answers: ReadonlyMap<number, DocumentedAnswer>
}

export type ApiDocument = ReturnType<typeof readOpenApi>

/** The OpenAPI document of the REST service. */
export function readOpenApi() {
  const document = readDocument('openapi')
  const toAnswer = (ref: Json): DocumentedAnswer => {
    const { headers = {}, content } = resolve(document, ref)
    const [[mediaType, { schema }] = ['', {}]] = Object.entries(content as Json)
    const all = Object.entries(headers as Json).map(([name, header]) => {
      const { required = false, schema: own } = resolve(document, header)
      return { name, required, schema: own }
    })
    return { headers: all, mediaType, schema }
  }

  const operations = operationsOf(document).map(({ name, value }): DocumentedOperation => {
    const [method = '', path = ''] = name.split(' ')
    const [scope = null] = value['security'][0]['apiKey']
    const body: Json | null = value['requestBody']?.content['application/json'].schema ?? null
    const { properties = {}, required = [] } = body === null ? {} : resolve(document, body)
    return {
      id: value['operationId'],
      method,
      path,
      scope,
      parameters: value['parameters'] ?? [],
      body,
      members: Object.entries<Json>(properties).map(([member, schema]) => ({
        name: member,
        in: 'body',
        required: required.includes(member),
        schema,
      })),
      isImplemented: Object.keys(value['responses']).some((status) => status.startsWith('2')),
      answers: new Map(Object.entries(value['responses'] as Json).map(([code, one]) => [Number(code), toAnswer(one)])),
    }
  })
  const otherMethods = Object.entries(document['paths'] as Json).flatMap(([path, item]) => {
    const other = item['x-other-methods']
    return other === undefined ? [] : [[path, toAnswer(other)] as const]
  })
  const webhooks = Object.entries(document['webhooks'] as Json).map(([type, { post }]) => {
    const headers: DocumentedParameter[] = post.parameters.map((one: Json) => resolve(document, one))
    return [type, { schema: post.requestBody.content['application/json'].schema, headers }] as const
  })
  return {
    operations,
    /** Responses of each path to other methods. */
    otherMethods: new Map(otherMethods),
    /** The response of any failure. */
    failure: toAnswer({ $ref: '#/components/responses/InvalidRequest' }),
    webhooks: new Map(webhooks),
    problemsOf: createJudge(document),
    strictProblemsOf: createJudge(document, { isStrict: true }),
  }
}

/** The messages of the AsyncAPI document by name, as schemas of their payloads and headers. */
export function readAsyncApi() {
  const document = readDocument('asyncapi')
  const messages = Object.entries(document['channels']['webhook']['messages'] as Json).map(([name, ref]) => {
    const { payload, headers } = resolve(document, ref)
    return [name, { payload: payload as Json, headers: headers as Json }] as const
  })
  return {
    messages: new Map(messages),
    resolve: (schema: Json) => resolve(document, schema),
    problemsOf: createJudge(document),
    strictProblemsOf: createJudge(document, { isStrict: true }),
  }
}

function readDocument(name: string): Json {
  return JSON.parse(readFileSync(`schema/${name}.json`, 'utf8'))
}

/** Validates values against schemas of a document. `isStrict`: objects may have documented members only. */
export function createJudge(document: Json, { isStrict = false } = {}) {
  const ajv = new Ajv2020({ allErrors: true, strict: true, allowUnionTypes: true, strictRequired: false })
  addFormats.default(ajv)
  ajv.addVocabulary(['x-assumption', 'x-extensible-enum', 'example'])
  const compiled = new WeakMap<Json, ValidateFunction>()
  const inline = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(inline)
    if (typeof value !== 'object' || value === null) return value
    if ('$ref' in value) return inline(resolve(document, value))
    const schema = Object.fromEntries(Object.entries(value).map(([key, member]) => [key, inline(member)]))
    return isStrict && 'properties' in schema ? { additionalProperties: false, ...schema } : schema
  }

  /** Why a value doesn't match a schema; empty if it does. */
  return (schema: Json, value: unknown): readonly string[] => {
    const validate = compiled.get(schema) ?? ajv.compile(inline(schema) as object)
    compiled.set(schema, validate)
    validate(value)
    return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath || '/'} ${message}`)
  }
}
