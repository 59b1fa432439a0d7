import { ApiProtocolError } from './errors.ts'

/** More than the largest page can be, by far. */
const answerLimitBytes = 10 * 1024 * 1024

/** The body of an answer as text. Throws ApiProtocolError `answer_too_large`, with the rest unread. */
export async function readText(response: Response, label: string): Promise<string> {
  if (response.body === null) return ''
  const reader = response.body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  let received = 0
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    received += part.value.byteLength
    if (received > answerLimitBytes) {
      await reader.cancel().catch(() => {})
      throw new ApiProtocolError(
        `${label}: the answer is larger than ${answerLimitBytes} bytes, which no answer of the service is`,
        { code: 'answer_too_large', status: response.status, isRetryable: false },
      )
    }
    text += decoder.decode(part.value, { stream: true })
  }
  return text + decoder.decode()
}
