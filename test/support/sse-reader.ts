/** Opens a stream of Server-Sent Events. */
export async function openSse(url: string, headers: Readonly<Record<string, string>> = {}) {
  const response = await fetch(url, { headers })
  const reader = response.body?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  const read = async () => {
    const chunk = await reader?.read()
    text += decoder.decode(chunk?.value, { stream: true })
    return chunk?.done !== true
  }
  return {
    response,
    /** Everything received, once it ends with `end`. */
    async until(end: string) {
      while (!text.endsWith(end)) if (!(await read())) throw new Error(`ended after ${JSON.stringify(text)}`)
      return text
    },
    /** Everything received until the end. */
    async rest() {
      while (await read());
      return text
    },
    async leave() {
      await reader?.cancel()
    },
  }
}
