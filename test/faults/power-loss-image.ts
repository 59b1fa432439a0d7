import { execFile } from 'node:child_process'
import { copyFile, mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Sidecar } from '../support/sidecar.ts'

const source = fileURLToPath(new URL('power-loss.c', import.meta.url))

/** The folder of a process after a power cut: only fsync'd data. See `power-loss.c`. */
export class PowerLossImage {
  readonly #folder: string
  readonly #image: string
  readonly #shim: string

  private constructor(folder: string) {
    this.#folder = folder
    // Subfolders are not part of the image.
    this.#image = join(folder, 'image')
    this.#shim = join(folder, 'image.so')
  }

  /** Compiles the library that records a sidecar's fsyncs, and creates an empty image. Needs `cc`. */
  static async create(sidecar: Sidecar): Promise<PowerLossImage> {
    const image = new PowerLossImage(sidecar.dir)
    await mkdir(image.#image)
    const libraries = ['-ldl', '-lpthread']
    await promisify(execFile)('cc', ['-shared', '-fPIC', '-O2', '-Wall', '-o', image.#shim, source, ...libraries])
    return image
  }

  /** Environment of recorded processes. */
  get env(): Readonly<Record<string, string>> {
    return { LD_PRELOAD: this.#shim, POWER_LOSS_FOLDER: this.#folder, POWER_LOSS_IMAGE: this.#image }
  }

  /** Cuts the power after the process has died: the database keeps only fsync'd data. */
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
