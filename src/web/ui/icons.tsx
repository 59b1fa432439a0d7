// Drawn on 24 by 24. Every icon has text next to it or is in a labelled button.
const paths = {
  copy: 'M8 8h11v11H8z M5 16H4V5h11v1',
  check: 'M5 13l4 4L19 7',
  search: 'M10.5 4a6.5 6.5 0 1 0 0 13a6.5 6.5 0 0 0 0-13 M15.5 15.5L20 20',
} as const

export function Icon({ name }: { readonly name: keyof typeof paths }) {
  return (
    <svg viewBox="0 0 24 24" width="14" height="14" aria-hidden="true">
      <path d={paths[name]} fill="none" stroke="currentColor" strokeWidth="2" />
    </svg>
  )
}
