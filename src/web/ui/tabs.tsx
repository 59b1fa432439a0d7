import { Tabs } from '@mantine/core'
import type { ReactNode } from 'react'
import { useLocation } from 'wouter'
import { Page } from './shell.tsx'
import { Empty } from './states.tsx'

export interface Tab {
  /** Part of the address below the page; empty for the first tab. */
  readonly path: string
  readonly label: string
  readonly content: () => ReactNode
}

export interface TabbedPageProps {
  readonly title: string
  readonly path: string
  /** From the address. */
  readonly tab: string | undefined
  readonly tabs: readonly Tab[]
}

/** A page with tabs. Each tab has its own address. Only the open tab is rendered. */
export function TabbedPage({ title, path, tab = '', tabs }: TabbedPageProps) {
  const [, navigate] = useLocation()
  const open = tabs.find((each) => each.path === tab)
  // A tab's value can't be empty, so values begin with a slash.
  return (
    <Page title={open === undefined || tab === '' ? title : `${title}: ${open.label}`}>
      <Tabs
        className="ui-fill"
        value={`/${tab}`}
        onChange={(value) => navigate(value === '/' ? path : path + value)}
        keepMounted={false}
      >
        <Tabs.List aria-label={title}>
          {tabs.map((each) => (
            <Tabs.Tab key={each.path} value={`/${each.path}`}>
              {each.label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {open === undefined ? (
          <Empty title="There is no such tab" />
        ) : (
          <Tabs.Panel value={`/${tab}`} className="ui-fill ui-body">
            {open.content()}
          </Tabs.Panel>
        )}
      </Tabs>
    </Page>
  )
}
