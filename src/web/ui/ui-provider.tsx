import { Anchor, createTheme, localStorageColorSchemeManager, MantineProvider } from '@mantine/core'
import type { ReactNode } from 'react'
import './ui.css'

const theme = createTheme({
  cursorType: 'pointer',
  respectReducedMotion: true,
  defaultRadius: 'sm',
  components: { Anchor: Anchor.extend({ defaultProps: { inherit: true } }) },
})
const colorSchemeManager = localStorageColorSchemeManager({ key: 'onchain-inbox-color-scheme' })

/**
 * What components of a page need around them. No style tag is put into the page, since its content policy allows none:
 * variables are those of the style sheet, so a theme must not name colours of its own (ui.css does).
 */
export function UiProvider({ children }: { readonly children: ReactNode }) {
  return (
    <MantineProvider
      theme={theme}
      colorSchemeManager={colorSchemeManager}
      defaultColorScheme="auto"
      withCssVariables={false}
      withGlobalClasses={false}
    >
      {children}
    </MantineProvider>
  )
}
