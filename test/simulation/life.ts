/** Thrown into code whose process or thread has ended, where it cannot be kept from going on in another way. */
export class Ended extends Error {}

/**
 * How long a process or a thread lives. What the simulation hands to it asks here before it does anything, so that what is left of
 * dead code changes nothing: its timers do not fire, its calls are not answered, its statements throw.
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

  /** One that ends with this one at the latest. */
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
