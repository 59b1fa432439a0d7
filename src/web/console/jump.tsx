import { Button } from '@mantine/core'
import { Spotlight, spotlight } from '@mantine/spotlight'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { pathWith } from '../ui/api.tsx'
import type { NavLink } from '../ui/shell.tsx'
import { shortText } from '../ui/text.tsx'
import { Icon } from '../ui/values.tsx'
import type { HandlerJson } from '../../admin/handlers.ts'
import { deliveryTabs } from './deliveries/deliveries.tsx'
import { systemTabs } from './system/system.tsx'

const tabs = [
  ...deliveryTabs.map(({ label, path }) => ({ label, path: `/deliveries/${path}`.replace(/\/$/, '') })),
  ...systemTabs.map(({ label, path }) => ({ label, path: `/system/${path}`.replace(/\/$/, '') })),
]

export interface JumpProps {
  readonly pages: readonly NavLink[]
  readonly handlers: readonly HandlerJson[]
}

interface Target {
  readonly label: string
  readonly note: string
  readonly path: string
}

function targetsOf(text: string, { pages, handlers }: JumpProps): readonly Target[] {
  const has = (name: string) => name.toLowerCase().includes(text.toLowerCase())
  const named = [
    ...[...pages, ...tabs].filter(({ label }) => has(label)).map(({ label, path }) => ({ label, note: 'Page', path })),
    ...handlers
      .filter(({ name }) => text !== '' && has(name))
      .slice(0, 8)
      .map(({ name }) => ({ label: shortText(name), note: 'Handler', path: pathWith('/handlers', { open: name }) })),
  ]
  if (text === '') return named
  const isAddress = /^0x[0-9a-f]{40}$/i.test(text) || /^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(text)
  const isId = named.length === 0 && !/\s/.test(text)
  return [
    ...(isAddress ? [{ label: text, note: 'Address', path: pathWith('/events', { address: text }) }] : []),
    ...(isId ? [{ label: text, note: 'Event id', path: `/events/${encodeURIComponent(text)}` }] : []),
    ...named,
    { label: text, note: 'Search bodies', path: pathWith('/events', { q: text }) },
  ]
}

export function JumpButton() {
  return (
    <Button variant="default" leftSection={<Icon name="search" />} onClick={spotlight.open}>
      Jump
    </Button>
  )
}

/** Jumps to a page, handler, event id or address. Opens with Ctrl-K or Cmd-K. Stays mounted while pages change. */
export function Jump(props: JumpProps) {
  const [text, setText] = useState('')
  const [, navigate] = useLocation()
  return (
    <Spotlight.Root
      query={text}
      onQueryChange={setText}
      // It would clear after the transition, and delete text that was typed after opening again.
      clearQueryOnClose={false}
      onSpotlightClose={() => setText('')}
      shortcut={['mod + K']}
      lockScroll={false}
      scrollable
      maxHeight={320}
    >
      <Spotlight.Search placeholder="Event id, address, handler or page" aria-label="Jump to" />
      <Spotlight.ActionsList>
        {targetsOf(text.trim(), props).map(({ label, note, path }) => (
          // Several tabs share a path.
          <Spotlight.Action
            key={`${note} ${path} ${label}`}
            label={label}
            description={note}
            onClick={() => navigate(path)}
          />
        ))}
      </Spotlight.ActionsList>
    </Spotlight.Root>
  )
}
