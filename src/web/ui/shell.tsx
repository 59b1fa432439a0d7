import { Burger, Drawer } from '@mantine/core'
import { useEffect, useRef, useState, type ReactNode } from 'react'
import { ColorSchemeSelect } from './color-scheme.tsx'
import { formatCount, formatNumber } from './format.ts'

export interface NavLink {
  readonly label: string
  readonly path: string
  /** How many wait there for somebody to look at them. */
  readonly count?: number
}

export interface NavSection {
  readonly title: string
  readonly links: readonly NavLink[]
}

export interface ShellProps {
  /** Of the whole page. */
  readonly name: string
  readonly nav: readonly NavSection[]
  /** Where the page is. */
  readonly path: string
  /** In the bar on top. */
  readonly bar: ReactNode
  /** What the bar is about. */
  readonly barLabel: string
  readonly children: ReactNode
}

/** A page with its navigation: at the side, or behind a button where there is no room for it. */
export function Shell({ name, nav, path, bar, barLabel, children }: ShellProps) {
  const [isOpen, setOpen] = useState(false)
  const main = useRef<HTMLElement>(null)
  useFocusOnMove(path, () => setOpen(false))
  return (
    <div className="ui-shell">
      {/* No link: the part after # is where the page is. */}
      <button type="button" className="ui-skip" onClick={() => main.current?.focus()}>
        Skip to the content
      </button>
      <aside className="ui-side">
        <Brand name={name} />
        <Navigation nav={nav} path={path} />
        <ColorSchemeSelect />
      </aside>
      {/* No header: that of an open dialog would be a second one. */}
      <div className="ui-bar" role="region" aria-label={barLabel}>
        <div className="ui-bar-menu">
          <Burger opened={isOpen} size="sm" aria-label="Navigation" onClick={() => setOpen(true)} />
          <Brand name={name} />
        </div>
        <div className="ui-bar-end">{bar}</div>
      </div>
      <main ref={main} className="ui-main" tabIndex={-1}>
        {children}
      </main>
      <Drawer
        opened={isOpen}
        onClose={() => setOpen(false)}
        title={name}
        size="xs"
        lockScroll={false}
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        <div className="ui-stack">
          <Navigation nav={nav} path={path} />
          <ColorSchemeSelect />
        </div>
      </Drawer>
    </div>
  )
}

function Brand({ name }: { readonly name: string }) {
  return (
    <a className="ui-brand" href="#/">
      <svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true" focusable="false">
        <path d="M3 13h5l2 3h4l2-3h5v6H3z M6 10l6-6 6 6 M12 4v8" />
      </svg>
      <span>{name}</span>
    </a>
  )
}

function Navigation({ nav, path }: Pick<ShellProps, 'nav' | 'path'>) {
  return (
    <nav className="ui-nav" aria-label="Pages">
      {nav.map(({ title, links }) => (
        <div key={title}>
          <p>{title}</p>
          <ul>
            {links.map((link) => (
              <li key={link.path}>
                <a href={`#${link.path}`} aria-current={isAt(link.path, path) ? 'page' : undefined}>
                  {link.label}
                  {link.count !== undefined && <NavCount count={link.count} />}
                </a>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </nav>
  )
}

function NavCount({ count }: { readonly count: number }) {
  return (
    <>
      {' '}
      <span className="ui-nav-count" title={formatCount(count)}>
        {formatNumber(count)}
      </span>
    </>
  )
}

function isAt(link: string, path: string): boolean {
  return path === link || (link !== '/' && path.startsWith(`${link}/`))
}

/**
 * Whoever moves to another page is at its heading: on top, and with the focus, as after a page load, unless the page has given that to
 * a field.
 */
function useFocusOnMove(path: string, onMove: () => void): void {
  const last = useRef(path)
  useEffect(() => {
    if (last.current === path) return
    last.current = path
    onMove()
    window.scrollTo(0, 0)
    if (document.activeElement?.matches('main input') === true) return
    document.querySelector<HTMLElement>('#page-title')?.focus({ preventScroll: true })
  })
}
