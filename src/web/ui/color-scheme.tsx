import { NativeSelect, useMantineColorScheme, type MantineColorScheme } from '@mantine/core'

const options = [
  { value: 'auto', label: 'As the system' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
] as const

/** Chooses light or dark; the choice is kept in the browser. */
export function ColorSchemeSelect() {
  // To hold transitions back it would put a style tag into the page.
  const { colorScheme, setColorScheme } = useMantineColorScheme({ keepTransitions: true })
  return (
    <NativeSelect
      label="Colours"
      size="xs"
      data={[...options]}
      value={colorScheme}
      onChange={(event) => setColorScheme(event.currentTarget.value as MantineColorScheme)}
    />
  )
}
