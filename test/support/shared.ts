import { inject } from 'vitest'
import type { SharedThing } from '../shared.ts'

/**
 * Returns the URL or folder of a resource that test files share, such as a database or the built console. The first call
 * starts or builds it.
 */
export async function shared(name: SharedThing): Promise<string> {
  const response = await fetch(`${inject('shared')}/${name}`)
  const text = await response.text()
  if (!response.ok) throw new Error(text)
  return text
}
