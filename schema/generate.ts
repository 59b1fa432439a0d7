// Writes schema/json/ from the zod sources; with --check it only reports what is not as it would write it.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { envelopeSchema, eventSchemas, eventTypes } from './index.ts'

const jsonFolder = fileURLToPath(new URL('json', import.meta.url))
const dialect = 'https://json-schema.org/draft/2020-12/schema'

type JsonObject = Record<string, unknown>

/** The generated files by name: one JSON Schema (2020-12) per event type, and `event.json` for all of them. */
export function generateFiles(): ReadonlyMap<string, string> {
  const files = new Map<string, string>()
  for (const type of eventTypes) {
    files.set(`${type}.json`, toText({ $schema: dialect, $id: `${type}.json`, ...toJsonSchema(eventSchemas[type]) }))
  }
  files.set('event.json', toText(unionSchema()))
  return files
}

/** What is wrong in `folder`, a line per file: stale, missing or superfluous. */
export function checkFiles(folder: string): readonly string[] {
  const wanted = generateFiles()
  const present = listFolder(folder)
  const problems = [...wanted].flatMap(([name, text]) => {
    if (!present.includes(name)) return [`missing: ${name}`]
    return readFileSync(join(folder, name), 'utf8') === text ? [] : [`stale: ${name}`]
  })
  return [...problems, ...present.filter((name) => !wanted.has(name)).map((name) => `superfluous: ${name}`)]
}

/** Writes all files into `folder` and removes what no longer belongs there. */
export function writeFiles(folder: string): void {
  const wanted = generateFiles()
  mkdirSync(folder, { recursive: true })
  for (const name of listFolder(folder)) if (!wanted.has(name)) rmSync(join(folder, name), { recursive: true })
  for (const [name, text] of wanted) writeFileSync(join(folder, name), text)
}

/** A documented type must fit its own schema; every other type passes with the envelope alone (R127). */
function unionSchema(): JsonObject {
  const byType = eventTypes.map((type) => ({
    if: { properties: { type: { const: type } }, required: ['type'] },
    // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
    then: { $ref: `${type}.json` },
  }))
  return {
    $schema: dialect,
    $id: 'event.json',
    ...toJsonSchema(envelopeSchema),
    title: 'event',
    description: 'Any event. A documented type fits the schema of that type; a type that is not documented yet passes.',
    allOf: byType,
  }
}

function toJsonSchema(schema: z.ZodType): JsonObject {
  return z.toJSONSchema(schema, { target: 'draft-2020-12', io: 'input' })
}

function toText(schema: JsonObject): string {
  return `${JSON.stringify(schema, null, 2)}\n`
}

function listFolder(folder: string): readonly string[] {
  try {
    return readdirSync(folder).toSorted()
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
}

if (import.meta.main) {
  if (process.argv.includes('--check')) {
    const problems = checkFiles(jsonFolder)
    for (const problem of problems) console.error(`schema/json: ${problem}`)
    if (problems.length > 0) {
      console.error('schema/json does not match its sources in schema/: run `npm run generate`.')
      process.exitCode = 1
    }
  } else {
    writeFiles(jsonFolder)
  }
}
