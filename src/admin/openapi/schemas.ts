import { z } from 'zod'
import { toComponents, toJsonSchema, type JsonObject } from '../../../schema/json-schema.ts'
import { components } from './components.ts'

const prefix = '#/components/schemas/'

/** The schemas of the document, each once. */
export function componentSchemas(): JsonObject {
  return Object.fromEntries(
    Object.entries(toComponents(components)).map(([name, schema]) => [name, { title: name, ...tidied(schema) }]),
  )
}

/** How a schema of an answer is referred to; one that is a choice, by its choices. Throws for one without a name. */
export function refOf(schema: z.ZodType): JsonObject {
  if (schema instanceof z.ZodUnion) return { oneOf: schema.options.map((one) => refOf(one as z.ZodType)) }
  const name = Object.entries(components).find(([, component]) => component === schema)?.[0]
  if (name === undefined) throw new Error('an answer has no name among the components of the document')
  return { $ref: `${prefix}${name}` }
}

/** The schema of a body or of parameters, in place. */
export function schemaOf(schema: z.ZodType): JsonObject {
  const { $schema: _dialect, ...rest } = tidied(toJsonSchema(schema))
  return rest
}

/** Without what says nothing, or what `format` says already. */
function tidied(schema: JsonObject): JsonObject {
  return JSON.parse(JSON.stringify(schema), (_key, value: unknown) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    const { pattern, format, minimum, maximum, ...rest } = value as JsonObject
    return {
      ...rest,
      // `contentEncoding` says that already, in the words of the standard.
      ...(format !== undefined && format !== 'base64' && { format }),
      ...(pattern !== undefined && format === undefined && { pattern }),
      ...(minimum !== undefined && minimum !== Number.MIN_SAFE_INTEGER && { minimum }),
      ...(maximum !== undefined && maximum !== Number.MAX_SAFE_INTEGER && { maximum }),
    }
  }) as JsonObject
}
