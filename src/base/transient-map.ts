/**
 * A map whose entries come and go quickly. In a `Map` or `Set`, V8 links each internal table to the one that replaces it. Once such a table
 * is in the old generation, all later tables and their entries count as used until the next full garbage collection. An object as a
 * dictionary has no such links.
 */
export class TransientMap<K extends string | number, V> {
  readonly #entries = Object.create(null) as Record<K, V | undefined>
  #size = 0

  get size(): number {
    return this.#size
  }

  get(key: K): V | undefined {
    return this.#entries[key]
  }

  set(key: K, value: V): void {
    if (!(key in this.#entries)) this.#size++
    this.#entries[key] = value
  }

  delete(key: K): void {
    if (!(key in this.#entries)) return
    this.#size--
    delete this.#entries[key]
  }

  values(): V[] {
    return Object.values(this.#entries)
  }
}
