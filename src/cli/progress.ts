import { host } from './host.ts'
/** A line on standard error that is written over as work goes on; nothing where that is no terminal. */
export interface Progress {
  show(done: number, text: string): void
  end(): void
}

const barWidth = 24

export function createProgress(output: NodeJS.WriteStream = host().stderr): Progress {
  if (!output.isTTY) return { show() {}, end() {} }
  let isShown = false
  return {
    /** `done` from 0 to 1. */
    show(done, text) {
      const full = Math.round(Math.min(1, Math.max(0, done)) * barWidth)
      const bar = '█'.repeat(full) + '░'.repeat(barWidth - full)
      const line = `${bar} ${String(Math.round(done * 100)).padStart(3)} %  ${text}`
      output.write(`\r\u001b[2K${line.slice(0, Math.max(20, output.columns - 1))}`)
      isShown = true
    },
    end() {
      if (isShown) output.write('\r\u001b[2K')
      isShown = false
    },
  }
}
