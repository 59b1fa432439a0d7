export interface ReasonWords {
  readonly title: string
  /** What it means. */
  readonly means: string
  readonly todo: string
}

const again = 'Once the sender is mended it sends new events; tell it of these.'

/** Why a body with a right signature is no event that can be used: the codes of src/receiver/envelope.ts. */
export const quarantineReasons: Readonly<Record<string, ReasonWords>> = {
  not_utf8: {
    title: 'Not UTF-8',
    means: 'The bytes are no UTF-8 text: another encoding, compressed, or cut in the middle of a character.',
    todo: `Look at the first bytes: 1f 8b is gzip, ff fe is UTF-16. ${again}`,
  },
  byte_order_mark: {
    title: 'Byte-order mark',
    means: 'Before the JSON stands a byte-order mark (ef bb bf), which JSON does not allow.',
    todo: `The sender, or what rewrites on the way, has to leave it out. ${again}`,
  },
  not_json: {
    title: 'Not JSON',
    means: 'The text is no JSON: cut off, empty, or of another format.',
    todo: `See whether its end is missing. ${again}`,
  },
  too_deep: {
    title: 'Nested too deeply',
    means: 'The JSON is nested more than 64 levels deep, which no documented event is.',
    todo: 'It is a mistake of the sender or an attack with its secret: ask it, and change the secret if it knows nothing of it.',
  },
  not_an_envelope: {
    title: 'No event',
    means: 'It is JSON, but no event: type, created_at or data are missing or of another kind.',
    todo: 'Compare it with the documentation: the sender may have a new format, and a newer version of this program may take it. Then try again.',
  },
  own_type: {
    title: 'Of a type of the inbox itself',
    means: 'Its type begins with inbox., which is for warnings of the inbox itself.',
    todo: 'Nobody but this inbox makes such events: find out who signs with your secret.',
  },
  bad_id: {
    title: 'No usable id',
    means:
      'Its id is missing, no text, empty, longer than 255 characters, or no well-formed Unicode: it could not be told from others.',
    todo: `The sender has to give each event an id. ${again}`,
  },
}

/** What a reason means; of one that is not known, that it is not. */
export function quarantineReason(code: string): ReasonWords {
  return Object.hasOwn(quarantineReasons, code) && quarantineReasons[code] !== undefined
    ? quarantineReasons[code]
    : {
        title: 'Another reason',
        means: 'This page does not know the reason; docs/operations.md may.',
        todo: 'Look at one of the bodies, and try again after an update.',
      }
}
