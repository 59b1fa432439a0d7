import { execFile } from 'node:child_process'
import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const source = fileURLToPath(new URL('clock-jump.c', import.meta.url))
const run = promisify(execFile)

/** The wall clock of processes with `env`: see `clock-jump.c`. */
export class WallClock {
  readonly #file: string
  readonly #shim: string
  #offsetMs = 0

  private constructor(dir: string) {
    this.#file = join(dir, 'clock-offset')
    this.#shim = join(dir, 'clock.so')
  }

  /** Needs `cc`. Throws if the shim doesn't change Node's time. */
  static async create(dir: string): Promise<WallClock> {
    const clock = new WallClock(dir)
    writeFileSync(clock.#file, Buffer.alloc(8))
    await run('cc', ['-shared', '-fPIC', '-O2', '-Wall', '-o', clock.#shim, source, '-ldl'])
    clock.set(3_600_000)
    const { stdout } = await run(process.execPath, ['-p', 'Date.now()'], { env: { ...process.env, ...clock.env } })
    const aheadMs = Number(stdout) - Date.now()
    if (Math.abs(aheadMs - 3_600_000) > 60_000) throw new Error(`expected a clock 1 h ahead (got ${aheadMs} ms)`)
    clock.set(0)
    return clock
  }

  get env(): Readonly<Record<string, string>> {
    return { LD_PRELOAD: this.#shim, CLOCK_OFFSET: this.#file }
  }

  get offsetMs(): number {
    return this.#offsetMs
  }

  /** Sets the difference to the real time. */
  set(offsetMs: number): void {
    this.#offsetMs = offsetMs
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64LE(BigInt(offsetMs))
    const fd = openSync(this.#file, 'r+')
    writeSync(fd, bytes, 0, 8, 0)
    closeSync(fd)
  }
}
