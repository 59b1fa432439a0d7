import { z } from 'zod'

export type JsonObject = Record<string, unknown>

const options = { target: 'draft-2020-12', io: 'input' } as const

/** The JSON Schema (2020-12) of what is accepted: of a value before defaults and conversions. */
export function toJsonSchema(schema: z.ZodType): JsonObject {
  return z.toJSONSchema(schema, options)
}

/**
 * The schemas of a document by name: each stands alone, and refers to the others by `#/components/schemas/…`. What
 * says nothing is left out: `additionalProperties: {}`, and the bounds of the integers that JavaScript can tell apart.
 */
export function toComponents(schemas: Readonly<Record<string, z.ZodType>>): Readonly<Record<string, JsonObject>> {
  const registry = z.registry<{ id: string }>()
  for (const [id, schema] of Object.entries(schemas)) registry.add(schema, { id })
  return convertRegistry(registry)
}

/** `toComponents` for schemas that were registered under their names. */
export function convertRegistry(
  registry: ReturnType<typeof z.registry<{ id: string }>>,
): Readonly<Record<string, JsonObject>> {
  const converted = z.toJSONSchema(registry, {
    ...options,
    uri: (id) => `#/components/schemas/${id}`,
    override: ({ jsonSchema }) => {
      if (JSON.stringify(jsonSchema.additionalProperties) === '{}') delete jsonSchema.additionalProperties
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
    },
  })
  return Object.fromEntries(
    Object.entries(converted.schemas).map(([name, { $schema: _dialect, $id: _id, ...schema }]) => [name, schema]),
  )
}
