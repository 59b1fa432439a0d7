/** Thrown into code whose process or thread has ended. */
export class Ended extends Error {}

/**
 * The lifetime of a process or thread. After its end, its timers don't fire, its calls never return and its statements throw, so code
 * that is still running changes nothing.
 */
export class Life {
  readonly name: string
  #hasEnded = false
  readonly #atEnd: (() => void)[] = []

  constructor(name: string) {
    this.name = name
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** A life that ends with this one, or earlier. */
  child(name: string): Life {
    const child = new Life(name)
    this.atEnd(() => child.end())
    return child
  }

  atEnd(then: () => void): void {
    if (this.#hasEnded) then()
    else this.#atEnd.push(then)
  }

  end(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    for (const then of this.#atEnd) then()
  }
}
