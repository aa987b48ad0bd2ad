/** The colours of the map, light and dark, where CSS does not reach. Those of the states are those of app/tokens.css. */
const colours = {
  sea: ['#dce4ec', '#0d1116'],
  land: ['#f6f6f3', '#1f262f'],
  border: ['#c6ccd5', '#3d4755'],
  label: ['#4c5566', '#a9b3c2'],
  halo: ['#ffffff', '#12161b'],
  accent: ['#3350c8', '#91a7ff'],
  surface: ['#ffffff', '#181c23'],
  moving: ['#17794a', '#4ccb8c'],
  parked: ['#4f5b70', '#a3aec0'],
  silent: ['#985400', '#e6a74f'],
  alarm: ['#c02a37', '#ff8087'],
} as const;

export type MapPalette = Readonly<Record<keyof typeof colours, string>>;

export const paletteOf = (isDark: boolean): MapPalette =>
  Object.fromEntries(Object.entries(colours).map(([name, pair]) => [name, pair[isDark ? 1 : 0]])) as MapPalette;
