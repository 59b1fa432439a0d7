import { inject } from 'vitest'
import type { SharedThing } from '../shared.ts'

/** A thing that test files share, as its text; started when the first file asks for it. */
export async function shared(name: SharedThing): Promise<string> {
  const response = await fetch(`${inject('shared')}/${name}`)
  const text = await response.text()
  if (!response.ok) throw new Error(text)
  return text
}
