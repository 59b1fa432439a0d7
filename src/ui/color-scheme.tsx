import { NativeSelect, useMantineColorScheme, type MantineColorScheme } from '@mantine/core'

const options = [
  { value: 'auto', label: 'As the system' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
] as const

/** Chooses light or dark; the choice is kept in the browser. */
export function ColorSchemeSelect() {
  const { colorScheme, setColorScheme } = useMantineColorScheme()
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
