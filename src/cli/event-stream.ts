/** One message of a stream of Server-Sent Events. */
export interface StreamMessage {
  readonly name: string
  readonly data: string
}

/**
 * Reads a stream of Server-Sent Events to its end, in order or not. `onBytes` is called whenever something came, be it nothing
 * but a comment. Lines end with `\n`, as the emulator writes them.
 */
export async function* readEventStream(
  body: ReadableStream<Uint8Array>,
  onBytes: () => void,
): AsyncGenerator<StreamMessage, void> {
  const decoder = new TextDecoder()
  const reader = body.getReader()
  let text = ''
  for (;;) {
    const chunk = await reader.read().catch(() => null)
    if (chunk === null || chunk.done) return
    onBytes()
    text += decoder.decode(chunk.value, { stream: true })
    const messages = text.split('\n\n')
    text = messages.pop() ?? ''
    for (const message of messages) {
      const data = fieldOf(message, 'data')
      if (data !== undefined) yield { name: fieldOf(message, 'event') ?? 'message', data }
    }
  }
}

function fieldOf(message: string, name: string): string | undefined {
  const start = `${name}: `
  return message
    .split('\n')
    .find((line) => line.startsWith(start))
    ?.slice(start.length)
}
