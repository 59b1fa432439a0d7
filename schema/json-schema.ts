import { z } from 'zod'

export type JsonObject = Record<string, unknown>

const options = { target: 'draft-2020-12', io: 'input' } as const
type Override = (context: { readonly jsonSchema: z.core.JSONSchema.BaseSchema }) => void

/** The JSON Schema (2020-12) of accepted input, before defaults and conversions. `override` may change each schema in it. */
export function toJsonSchema(schema: z.ZodType, override: Override = () => {}): JsonObject {
  return z.toJSONSchema(schema, { ...options, override })
}

/**
 * The schemas of a document by name. They refer to each other by `#/components/schemas/…`. Meaningless members are
 * omitted: `additionalProperties: {}`, and the bounds of safe integers.
 */
export function toComponents(schemas: Readonly<Record<string, z.ZodType>>): Readonly<Record<string, JsonObject>> {
  const registry = z.registry<{ id: string }>()
  for (const [id, schema] of Object.entries(schemas)) registry.add(schema, { id })
  return convertRegistry(registry)
}

/** Like `toComponents`, for schemas in a registry. */
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
