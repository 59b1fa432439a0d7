const secretName = /secret|key|token|auth|passw/i
/** Documented names that sound like those of secrets, and hold addresses, symbols or numbers. */
const documented = new Set(['token', 'token_address', 'token_in', 'token_out', 'token_symbol', 'total_tokens_held'])
const address = /^(?:0x[\da-fA-F]{40}|[1-9A-HJ-NP-Za-km-z]{32,44})$/
/** Values that this service draws. */
const drawn = /\b(?:sk|whsec|ctl)_[\w-]{16,}/g
/** No key is shorter; to hide what is shorter would garble everything. */
const shortestKey = 8

/** What stands where a secret was. */
export const hidden = '[hidden]'

/** Whether a value is to be hidden for the name that it has. What is documented is shown, unless it is another thing. */
export function isSecretMember(name: string, value: unknown): boolean {
  if (!secretName.test(name)) return false
  return !documented.has(name) || (name === 'token' && typeof value === 'string' && !address.test(value))
}

/** A text without the key that was presented, wherever it stands, and without any that was drawn (R68). */
export function withoutKeys(text: string, presentedKey: string | null): string {
  const forms = presentedKey === null || presentedKey.length < shortestKey ? [] : formsOf(presentedKey)
  return forms.reduce((rest, form) => rest.replaceAll(form, hidden), text).replace(drawn, hidden)
}

/** As it is, as it stands in JSON, and as it stands in JSON that is told of in JSON. */
function formsOf(key: string): readonly string[] {
  const once = escaped(key)
  return [...new Set([escaped(once), once, key])]
}

function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}
