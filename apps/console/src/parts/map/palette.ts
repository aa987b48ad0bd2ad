/** The colours of the map, where CSS does not reach. Those of the states are those of parts/tokens.css. */
export interface MapPalette {
  readonly sea: string;
  readonly land: string;
  readonly border: string;
  readonly label: string;
  readonly halo: string;
  readonly accent: string;
  readonly surface: string;
  readonly moving: string;
  readonly parked: string;
  readonly silent: string;
  readonly alarm: string;
}

const light: MapPalette = {
  sea: '#dce4ec',
  land: '#f6f6f3',
  border: '#c6ccd5',
  label: '#4c5566',
  halo: '#ffffff',
  accent: '#3350c8',
  surface: '#ffffff',
  moving: '#17794a',
  parked: '#4f5b70',
  silent: '#985400',
  alarm: '#c02a37',
};

const dark: MapPalette = {
  sea: '#0d1116',
  land: '#1f262f',
  border: '#3d4755',
  label: '#a9b3c2',
  halo: '#12161b',
  accent: '#91a7ff',
  surface: '#181c23',
  moving: '#4ccb8c',
  parked: '#a3aec0',
  silent: '#e6a74f',
  alarm: '#ff8087',
};

export const paletteOf = (isDark: boolean): MapPalette => (isDark ? dark : light);
