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

/** Lists the vector layers that the metadata of an archive names (PMTiles specification 3, "JSON Metadata"). */
export function vectorLayersOf(metadata: Metadata): string[] {
  const layers = metadata['vector_layers'] ?? nestedIn(metadata)['vector_layers'];
  return Array.isArray(layers) ? layers.map((layer) => String(Object(layer).id)) : [];
}
