import { execFile } from 'node:child_process'
import { copyFile, mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Sidecar } from '../support/sidecar.ts'

const source = fileURLToPath(new URL('power-loss.c', import.meta.url))

/** What a power cut would leave of the folder of a process: only what was fsync'd. See `power-loss.c`. */
export class PowerLossImage {
  readonly #folder: string
  readonly #image: string
  readonly #shim: string

  private constructor(folder: string) {
    this.#folder = folder
    // Folders within the folder are not part of what is cut.
    this.#image = join(folder, 'image')
    this.#shim = join(folder, 'image.so')
  }

  /** Compiles what watches the processes of a sidecar, and begins with an empty image. Needs `cc`. */
  static async create(sidecar: Sidecar): Promise<PowerLossImage> {
    const image = new PowerLossImage(sidecar.dir)
    await mkdir(image.#image)
    const libraries = ['-ldl', '-lpthread']
    await promisify(execFile)('cc', ['-shared', '-fPIC', '-O2', '-Wall', '-o', image.#shim, source, ...libraries])
    return image
  }

  /** To be given to each process that is to be watched. */
  get env(): Readonly<Record<string, string>> {
    return { LD_PRELOAD: this.#shim, POWER_LOSS_FOLDER: this.#folder, POWER_LOSS_IMAGE: this.#image }
  }

  /** Cuts the power, once the process is dead: what was not fsync'd of the database is gone. */
  async cut(): Promise<void> {
    for (const folder of [this.#folder, this.#image]) {
      const names = (await readdir(folder)).filter((name) => name.startsWith('inbox.db'))
      for (const name of names) {
        if (folder === this.#folder) await rm(join(folder, name))
        else await copyFile(join(folder, name), join(this.#folder, name))
      }
    }
  }
}
