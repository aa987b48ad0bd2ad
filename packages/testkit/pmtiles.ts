import { gzipSync } from 'node:zlib';
import { encodeArchive, varint } from '@odograph/map-tiles/archive';

const extent = 4096;

/** Encodes a member of a message (Protocol Buffers, "Encoding"). */
function member(field: number, value: number | string | Buffer): Buffer {
  if (typeof value === 'number') return packed([field << 3, value]);
  const bytes = Buffer.from(value);
  return Buffer.concat([packed([(field << 3) | 2, bytes.length]), bytes]);
}

const zigzag = (value: number): number => (value < 0 ? -value * 2 - 1 : value * 2);
const command = (id: number, count: number): number => (count << 3) | id;
const packed = (values: readonly number[]): Buffer => Buffer.from(values.flatMap(varint));

/** A feature of a layer: the whole tile, or a point in it. */
interface TileFeature {
  readonly point?: readonly [x: number, y: number];
  readonly properties: Readonly<Record<string, string>>;
}

const wholeTile = [
  command(1, 1),
  0,
  0,
  command(2, 3),
  ...[extent, 0, 0, extent, -extent, 0].map(zigzag),
  command(7, 1),
];

/** Encodes a layer (Mapbox Vector Tile Specification 2.1, section 4). */
function layer(name: string, features: readonly TileFeature[]): Buffer {
  const entries = features.flatMap(({ properties }) => Object.entries(properties));
  const keys = [...new Set(entries.map(([key]) => key))];
  const values = [...new Set(entries.map(([, value]) => value))];
  const encode = ({ point, properties }: TileFeature): Buffer => {
    const tags = Object.entries(properties).flatMap(([key, value]) => [keys.indexOf(key), values.indexOf(value)]);
    const geometry = point ? [command(1, 1), ...point.map(zigzag)] : wholeTile;
    return Buffer.concat([member(2, packed(tags)), member(3, point ? 1 : 3), member(4, packed(geometry))]);
  };
  const parts = [
    member(15, 2),
    member(1, name),
    ...features.map((feature) => member(2, encode(feature))),
    ...keys.map((key) => member(3, key)),
    ...values.map((value) => member(4, member(1, value))),
    member(5, extent),
  ];
  return member(3, Buffer.concat(parts));
}

/** The world as one vector tile in the schema of Protomaps: one area, and the name of a country in two languages. */
export const worldTile = (area: 'earth' | 'water'): Buffer =>
  gzipSync(
    Buffer.concat([
      layer(area, [{ properties: { kind: area } }]),
      layer('places', [
        {
          point: [extent / 2 + 27, Math.round(extent * 0.344)],
          properties: { kind: 'country', name: 'Testland', 'name:en': 'Testland', 'name:fr': 'Pays témoin' },
        },
      ]),
    ]),
  );

interface PmtilesOptions {
  /** 1 for vector tiles, 2 for PNG (PMTiles specification 3, "Tile Type"). */
  readonly tileType?: number;
  readonly tile?: Buffer;
  readonly layers?: readonly string[];
  readonly attribution?: string;
  /** Instead of the one that the type of the tiles has (PMTiles specification 3, "Compression"). */
  readonly tileCompression?: number;
}

/** Builds a PMTiles file with one tile, that of zoom 0. */
export function createPmtiles({
  tileType = 1,
  tile = worldTile('earth'),
  layers = ['earth', 'places'],
  attribution = 'Survey of Testland',
  tileCompression,
}: PmtilesOptions = {}): Buffer {
  const metadata = { attribution, vector_layers: layers.map((id) => ({ id, fields: {} })) };
  const properties = { tileType, minZoom: 0, maxZoom: 0, bounds: [-180, -85, 180, 85], metadata } as const;
  const archive = Buffer.concat(encodeArchive(properties, [{ z: 0, x: 0, y: 0, data: tile }]));
  if (tileCompression !== undefined) archive.writeUInt8(tileCompression, 98);
  return archive;
}
