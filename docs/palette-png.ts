import { crc32, deflateSync, inflateSync } from 'node:zlib'

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const mostColors = 256

interface Image {
  readonly width: number
  readonly height: number
  /** 0xrrggbb for each pixel. */
  readonly pixels: Uint32Array
}

/**
 * A PNG (8 bits per channel, without interlacing, as browsers write them) with at most 256 colours, those it has most of: a third of the size, for
 * pictures of pages. Transparency is left out. Throws a RangeError for any other kind of PNG.
 */
export function toPalettePng(png: Buffer): Buffer {
  const { width, height, pixels } = decode(png)
  const palette = choosePalette(pixels)
  const nearest = new Map(palette.map((color, index) => [color, index]))
  const rows = Buffer.alloc((width + 1) * height)
  for (const [at, color] of pixels.entries()) {
    let index = nearest.get(color)
    if (index === undefined) {
      index = findNearest(palette, color)
      nearest.set(color, index)
    }
    // Each row begins with the number of its filter: 0, none.
    rows[at + Math.floor(at / width) + 1] = index
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 3, 0, 0, 0], 8)
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('PLTE', Buffer.from(palette.flatMap((color) => [color >> 16, (color >> 8) & 255, color & 255]))),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function decode(png: Buffer): Image {
  const parts: Buffer[] = []
  let header = Buffer.alloc(13)
  for (let at = signature.length; at < png.length;) {
    const length = png.readUInt32BE(at)
    const name = png.toString('latin1', at + 4, at + 8)
    const data = png.subarray(at + 8, at + 8 + length)
    if (name === 'IHDR') header = Buffer.from(data)
    if (name === 'IDAT') parts.push(data)
    at += length + 12
  }
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)]
  const [depth, kind, , , interlace] = header.subarray(8)
  if (depth !== 8 || (kind !== 2 && kind !== 6) || interlace !== 0)
    throw new RangeError(`expected a PNG of 8 bits RGB or RGBA, received depth ${depth}, kind ${kind}`)
  const size = kind === 6 ? 4 : 3
  const bytes = unfilter(inflateSync(Buffer.concat(parts)), width * size, size)
  const pixels = Uint32Array.from({ length: width * height }, (_, at) => bytes.readUIntBE(at * size, 3))
  return { width, height, pixels }
}

/** Takes the filters of the rows back, which say each byte by those to the left, above, and left above. */
function unfilter(rows: Buffer, width: number, size: number): Buffer {
  const out = Buffer.alloc((rows.length / (width + 1)) * width)
  for (let row = 0; row * width < out.length; row++) {
    const filter = rows[row * (width + 1)]
    for (let column = 0; column < width; column++) {
      const at = row * width + column
      const left = column >= size ? (out[at - size] ?? 0) : 0
      const above = row > 0 ? (out[at - width] ?? 0) : 0
      const corner = row > 0 && column >= size ? (out[at - width - size] ?? 0) : 0
      const guess = [0, left, above, (left + above) >> 1, paeth(left, above, corner)][filter ?? 0] ?? 0
      out[at] = ((rows[row * (width + 1) + 1 + column] ?? 0) + guess) & 255
    }
  }
  return out
}

function paeth(left: number, above: number, corner: number): number {
  const guess = left + above - corner
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - above), Math.abs(guess - corner)]
  if (a <= b && a <= c) return left
  return b <= c ? above : corner
}

/** The most frequent colour of each of the most frequent cells of 16 by 16 by 16 shades. */
function choosePalette(pixels: Uint32Array): readonly number[] {
  const counts = new Map<number, number>()
  for (const color of pixels) counts.set(color, (counts.get(color) ?? 0) + 1)
  const byCount = [...counts].toSorted((a, b) => b[1] - a[1])
  if (byCount.length <= mostColors) return byCount.map(([color]) => color)
  const cells = new Map<number, { readonly color: number; count: number }>()
  for (const [color, count] of byCount) {
    const cell = color & 0xf0f0f0
    const known = cells.get(cell)
    if (known === undefined) cells.set(cell, { color, count })
    else known.count += count
  }
  const most = [...cells.values()].toSorted((a, b) => b.count - a.count).map(({ color }) => color)
  const rest = byCount.map(([color]) => color)
  return [...new Set([...most, ...rest])].slice(0, mostColors)
}

function findNearest(palette: readonly number[], color: number): number {
  let best = 0
  let least = Infinity
  for (const [index, other] of palette.entries()) {
    const [r, g, b] = [16, 8, 0].map((shift) => ((color >> shift) & 255) - ((other >> shift) & 255))
    const distance = (r ?? 0) ** 2 + (g ?? 0) ** 2 + (b ?? 0) ** 2
    if (distance < least) {
      least = distance
      best = index
    }
  }
  return best
}

function chunk(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), data])
  const out = Buffer.alloc(body.length + 8)
  out.writeUInt32BE(data.length, 0)
  body.copy(out, 4)
  out.writeUInt32BE(crc32(body), body.length + 4)
  return out
}
