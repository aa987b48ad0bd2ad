type Metadata = Readonly<Record<string, unknown>>;

/** Reads the member `json`, in which tilemaker and MBTiles store part of the metadata as text. */
function nestedIn({ json }: Metadata): Metadata {
  if (typeof json !== 'string') return {};
  try {
    return Object(JSON.parse(json));
  } catch {
    return {};
  }
}

/** Tile type of vector tiles (PMTiles specification 3, "Tile Type"). */
export const vectorTiles = 1;

/**
 * Finds the reason why the console cannot draw the vector tiles of an archive: its style requires the layer "earth",
 * which the metadata must name (PMTiles specification 3, "JSON Metadata").
 * @returns the reason as a verb phrase, undefined without a fault
 */
export function findBasemapFault(tileType: number, metadata: Metadata): string | undefined {
  if (tileType !== vectorTiles) return undefined;
  const layers = metadata['vector_layers'] ?? nestedIn(metadata)['vector_layers'];
  const hasEarth = Array.isArray(layers) && layers.some((layer) => Object(layer).id === 'earth');
  return hasEarth ? undefined : 'has no layer "earth"; vector tiles must be a Protomaps basemap';
}
