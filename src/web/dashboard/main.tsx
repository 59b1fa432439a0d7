import { mount } from '../ui/mount.tsx'
import { App } from './app.tsx'

mount(<App />)
