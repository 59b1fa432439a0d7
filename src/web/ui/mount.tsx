import './valid-language.ts'
import {
  Anchor,
  Badge,
  Button,
  createTheme,
  localStorageColorSchemeManager,
  MantineProvider,
  NativeSelect,
  PasswordInput,
  Textarea,
  TextInput,
} from '@mantine/core'
import { StrictMode, type ReactNode } from 'react'
import { createRoot } from 'react-dom/client'
import { HashRouter } from './router.tsx'
import './ui.css'

const compact = { defaultProps: { size: 'xs' } } as const
const theme = createTheme({
  cursorType: 'pointer',
  respectReducedMotion: true,
  defaultRadius: 'sm',
  components: {
    Anchor: Anchor.extend({ defaultProps: { inherit: true } }),
    Badge: Badge.extend({ defaultProps: { tt: 'none', lts: 0, px: 5, maw: '100%' } }),
    Button: Button.extend({ defaultProps: { size: 'xs', maw: '100%' } }),
    NativeSelect: NativeSelect.extend(compact),
    PasswordInput: PasswordInput.extend(compact),
    Textarea: Textarea.extend(compact),
    TextInput: TextInput.extend(compact),
  },
})
const colorSchemeManager = localStorageColorSchemeManager({ key: 'onchain-inbox-color-scheme' })

/**
 * Renders an app into the page. The content policy forbids `<style>` elements. So variables come from the style sheet, and components that
 * insert styles at run time (AppShell, Grid, SimpleGrid, responsive props, scroll locks) are not used.
 */
export function mount(app: ReactNode): void {
  const root = document.querySelector('#root')
  if (root === null) return
  createRoot(root).render(
    <StrictMode>
      <MantineProvider
        theme={theme}
        colorSchemeManager={colorSchemeManager}
        defaultColorScheme="auto"
        withCssVariables={false}
        withGlobalClasses={false}
      >
        <HashRouter>{app}</HashRouter>
      </MantineProvider>
    </StrictMode>,
  )
}
