/** Has the browser save a text as a file; nothing leaves the machine. */
export function download(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  // The browser has read it by the next turn.
  setTimeout(() => URL.revokeObjectURL(url), 0)
}
