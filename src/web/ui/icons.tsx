// Drawn on 24 by 24; all of them are beside a name, so none has one of its own.

const paths = {
  copy: 'M8 8h11v11H8z M5 16H4V5h11v1',
  check: 'M5 13l4 4L19 7',
  pause: 'M8 5v14 M16 5v14',
  play: 'M7 5l12 7-12 7z',
  keyboard: 'M3 6h18v12H3z M7 10h.01 M12 10h.01 M17 10h.01 M8 14h8',
  refresh: 'M20 11A8 8 0 1 0 18 17 M20 5v6h-6',
} as const

export type IconName = keyof typeof paths

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg className="ui-icon" viewBox="0 0 24 24" width="16" height="16" aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  )
}
