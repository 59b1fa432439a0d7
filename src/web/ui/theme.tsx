import {
  Anchor,
  Button,
  createTheme,
  localStorageColorSchemeManager,
  MantineProvider,
  NativeSelect,
  NumberInput,
  TextInput,
} from '@mantine/core'
import type { ReactNode } from 'react'
import './ui.css'

const compact = { defaultProps: { size: 'xs' } } as const
const theme = createTheme({
  cursorType: 'pointer',
  respectReducedMotion: true,
  defaultRadius: 'sm',
  components: {
    Anchor: Anchor.extend({ defaultProps: { inherit: true } }),
    Button: Button.extend(compact),
    NativeSelect: NativeSelect.extend(compact),
    NumberInput: NumberInput.extend(compact),
    TextInput: TextInput.extend(compact),
  },
})
const colorSchemeManager = localStorageColorSchemeManager({ key: 'onchain-inbox-color-scheme' })

/**
 * The content policy forbids `<style>` elements. So variables come from the style sheet, and components that insert styles at run time
 * (AppShell, Grid, SimpleGrid, responsive props, scroll locks) are not used.
 */
export function Theme({ children }: { readonly children: ReactNode }) {
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
