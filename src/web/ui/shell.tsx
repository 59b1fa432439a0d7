import {
  Burger,
  CloseButton,
  Drawer,
  NativeSelect,
  NavLink as NavItem,
  useMantineColorScheme,
  type MantineColorScheme,
} from '@mantine/core'
import { createContext, useContext, useEffect, useRef, useState, type ReactNode, type RefObject } from 'react'
import { Link, useLocation } from 'wouter'
import { ActionDialog } from './action.tsx'
import { formatCount, formatNumber } from './format.ts'
import { Empty } from './states.tsx'
import { Status, type Tone } from './status.tsx'
import { Text } from './text.tsx'

export interface NavLink {
  readonly label: string
  readonly path: string
  /** Shown unless it is 0. */
  readonly badge?: { readonly count: number; readonly tone: Tone; readonly label: string }
}

export interface ShellProps {
  readonly name: string
  /** Ends the title of every page. */
  readonly site?: string
  readonly nav: readonly NavLink[]
  /** At the right end of every page's header. */
  readonly tools: ReactNode
  /** At the bottom of the navigation. */
  readonly end: ReactNode
  readonly children: ReactNode
}

interface ShellState {
  readonly site: string
  readonly tools: ReactNode
  readonly menu: ReactNode
  /** True until a page was shown. */
  readonly isFirst: RefObject<boolean>
}

const ShellContext = createContext<ShellState>({ site: '', tools: null, menu: null, isFirst: { current: true } })

/** Navigation to the left of the page, or in a drawer on narrow screens. */
export function Shell({ name, site = 'Inbox', nav, tools, end, children }: ShellProps) {
  const [isOpen, setOpen] = useState(false)
  const [path] = useLocation()
  const main = useRef<HTMLElement>(null)
  const isFirst = useRef(true)
  useEffect(() => setOpen(false), [path])
  const navigation = (
    <>
      <Navigation nav={nav} path={path} />
      <div className="ui-stack ui-dim ui-nav-end">
        <ColorScheme />
        {end}
      </div>
    </>
  )
  const menu = (
    <Burger
      className="ui-narrow-only"
      opened={isOpen}
      size="sm"
      aria-label="Navigation"
      onClick={() => setOpen(true)}
    />
  )
  return (
    <div className="ui-shell">
      {/* A link would change the place after #. */}
      <button type="button" className="ui-skip" onClick={() => main.current?.focus()}>
        Skip to content
      </button>
      <aside className="ui-stack ui-side">
        <strong>{name}</strong>
        {navigation}
      </aside>
      <main ref={main} tabIndex={-1}>
        <ShellContext value={{ site, tools, menu, isFirst }}>
          <ActionDialog>{children}</ActionDialog>
        </ShellContext>
      </main>
      <Drawer
        opened={isOpen}
        onClose={() => setOpen(false)}
        title={name}
        size={240}
        lockScroll={false}
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        <div className="ui-stack">{navigation}</div>
      </Drawer>
    </div>
  )
}

function Navigation({ nav, path }: Pick<ShellProps, 'nav'> & { readonly path: string }) {
  return (
    <nav aria-label="Pages">
      {nav.map(({ label, path: to, badge }) => (
        <NavItem
          key={to}
          component={Link}
          href={to}
          label={label}
          aria-current={path === to || (to !== '/' && path.startsWith(`${to}/`)) ? 'page' : undefined}
          color="var(--ui-info)"
          bdrs="sm"
          py={5}
          rightSection={
            badge !== undefined &&
            badge.count > 0 && (
              <Status tone={badge.tone}>
                <span title={`${formatCount(badge.count)} ${badge.label}`}>{formatNumber(badge.count)}</span>
              </Status>
            )
          }
        />
      ))}
    </nav>
  )
}

function ColorScheme() {
  // Suppressing transitions would insert a `<style>` element.
  const { colorScheme, setColorScheme } = useMantineColorScheme({ keepTransitions: true })
  return (
    <NativeSelect
      aria-label="Colour scheme"
      data={[
        { value: 'auto', label: 'System colours' },
        { value: 'light', label: 'Light' },
        { value: 'dark', label: 'Dark' },
      ]}
      value={colorScheme}
      onChange={(event) => setColorScheme(event.currentTarget.value as MantineColorScheme)}
    />
  )
}

export interface PageProps {
  readonly title: string
  /** At the right of the title. */
  readonly actions?: ReactNode
  readonly children: ReactNode
}

/** A page with its heading, which gets the focus after a change of page. */
export function Page({ title, actions, children }: PageProps) {
  const { site, tools, menu, isFirst } = useContext(ShellContext)
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} – ${site}`
  }, [title, site])
  useEffect(() => {
    // The first page keeps the focus of the browser.
    if (!isFirst.current) return whenNoDialog(() => heading.current?.focus({ preventScroll: true }))
    isFirst.current = false
    return undefined
  }, [])
  return (
    <div className="ui-page">
      <div className="ui-head">
        {menu}
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {actions}
        <div className="ui-row ui-bar-end">{tools}</div>
      </div>
      <div className="ui-fill ui-body">{children}</div>
    </div>
  )
}

/** Calls back now, or once the open dialogs are closed. Returns a function that cancels it. */
function whenNoDialog(callback: () => void): (() => void) | undefined {
  const isOpen = () => document.querySelector('[role=dialog]') !== null
  if (!isOpen()) {
    callback()
    return undefined
  }
  const observer = new MutationObserver(() => {
    if (isOpen()) return
    observer.disconnect()
    callback()
  })
  observer.observe(document.body, { childList: true, subtree: true })
  return () => observer.disconnect()
}

export function NotFound() {
  return (
    <Page title="Not found">
      <Empty title="There is no page here">
        <Link href="/">Overview</Link>
      </Empty>
    </Page>
  )
}

export interface PanelProps {
  readonly title: string
  /** In small text at the right end of the heading. */
  readonly note?: ReactNode
  readonly actions?: ReactNode
  /** No padding around the content. */
  readonly isFlush?: boolean
  readonly children: ReactNode
}

/** A part of a page in a box. */
export function Panel({ title, note, actions, isFlush = false, children }: PanelProps) {
  return (
    <section className="ui-panel" aria-label={title}>
      <div className="ui-panel-head">
        <h2>{title}</h2>
        <small className="ui-dim ui-bar-end">{note}</small>
        {actions}
      </div>
      <div className={isFlush ? undefined : 'ui-stack ui-panel-body'}>{children}</div>
    </section>
  )
}

/** Values by name, in two columns. Undefined ones are left out; null is a dash. Strings are external text. */
export function Facts({ facts }: { readonly facts: Readonly<Record<string, ReactNode>> }) {
  return (
    <dl className="ui-facts">
      {Object.entries(facts)
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{typeof value === 'string' || value === null ? <Text value={value} /> : value}</dd>
          </div>
        ))}
    </dl>
  )
}

export interface SidePanelProps {
  readonly title: ReactNode
  readonly label: string
  readonly actions?: ReactNode
  readonly onClose: () => void
  readonly children: ReactNode
}

/** Details at the right of a list; over the list on narrow screens. */
export function SidePanel({ title, label, actions, onClose, children }: SidePanelProps) {
  return (
    <aside className="ui-stack ui-sidepanel" aria-label={label}>
      <div className="ui-row">
        <h2 className="ui-grow">{title}</h2>
        {actions}
        <CloseButton aria-label="Close panel" title="Close (Esc)" onClick={onClose} />
      </div>
      {children}
    </aside>
  )
}
