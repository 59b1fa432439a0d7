/** Reasons for which a receiver refuses for good, or never gets, what a genuine sender may have sent; a wrong signature is none of them. */
export const rejections = ['body_too_large', 'content_encoding_unsupported', 'bad_request', 'body_incomplete'] as const

export type Rejection = (typeof rejections)[number]

const known: ReadonlySet<string> = new Set(rejections)

export function isRejection(reason: string): reason is Rejection {
  return known.has(reason)
}
