const longestGram = 3

/** Finds texts by a part of them, in any case, without looking at all of them. */
export class SearchIndex {
  readonly #texts: string[] = []
  /** Where each part of one to three letters occurs. */
  readonly #places = new Map<string, number[]>()

  /** Adds a text; its number is how many there were before. Parts are never found across two of its lines. */
  add(text: string): void {
    const lower = text.toLowerCase()
    const place = this.#texts.push(lower) - 1
    for (const gram of gramsOf(lower)) {
      const places = this.#places.get(gram)
      if (places === undefined) this.#places.set(gram, [place])
      else places.push(place)
    }
  }

  /** Numbers of the texts that have `part` in them, smallest first. */
  find(part: string): readonly number[] {
    const wanted = part.toLowerCase()
    if (wanted.includes('\n')) return []
    const length = Math.min(longestGram, wanted.length)
    const grams = Array.from({ length: wanted.length - length + 1 }, (_, at) => wanted.slice(at, at + length))
    const lists = grams.map((gram) => this.#places.get(gram) ?? [])
    const shortest = lists.reduce((best, list) => (list.length < best.length ? list : best), lists[0] ?? [])
    return wanted.length <= longestGram
      ? shortest
      : shortest.filter((place) => this.#texts[place]?.includes(wanted) === true)
  }
}

function gramsOf(text: string): ReadonlySet<string> {
  const grams = new Set<string>()
  for (let at = 0; at < text.length; at++) {
    for (let length = 1; length <= longestGram && at + length <= text.length; length++) {
      grams.add(text.slice(at, at + length))
    }
  }
  return grams
}
