import { useEffect, useRef, type ReactNode } from 'react'

/** Something that was asked for from elsewhere on the page: it takes the focus, and is scrolled to, when it appears. */
export function Arrive({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => box.current?.focus(), [])
  return (
    <div ref={box} className="bulk-arrive" role="group" aria-label={label} tabIndex={-1}>
      {children}
    </div>
  )
}
