import { readingFields, sensorFields } from '@odograph/contracts/fields';
import { expect, it } from 'vitest';
import type { TextTree } from './text-tree.ts';
import { tree } from './tree.ts';

/** Words that are the same in English and French, and proper names. */
const shared: readonly string[] = [
  ...['Accident', 'Action', 'Altitude', 'Application', 'Applications', 'Attribution', 'Audit', 'Bluetooth'],
  ...['Broker', 'CAN', 'CSV', 'Console', 'Device ID', 'Distance', 'English', 'Français'],
  ...['GBFS', 'IMEI', 'Images', 'Interface', 'Latitude', 'Longitude', 'Mode', 'Note'],
  ...['Odograph', 'OwnTracks', 'Pause', 'Port', 'Redis', 'Satellites', 'Secret', 'Session'],
  ...['Sessions', 'Source', 'Sources', 'Style', 'TLS', 'Tesla Fleet Telemetry', 'Traccar', 'Type'],
  ...['URI', 'URL', 'UTC', 'VIN', 'Webhook', 'Webhooks', 'appId', 'appKey'],
  ...['durable', 'flespi', 'limit_messages', 'signal', 'test', 'version 1'],
  ...['Description', 'Diesel', 'Exports', 'Format', 'GPX', 'GeoJSON', 'NDJSON', 'Parquet', 'Propulsion', '–'],
];

/** Lists the texts of a tree that are the same in both languages. */
function sameTexts(texts: TextTree): string[] {
  return Object.values(texts).flatMap((text) => {
    const pair = typeof text === 'function' ? (text as (...parameters: string[]) => unknown)('1', '2', '3') : text;
    if (!Array.isArray(pair)) return sameTexts(pair as TextTree);
    return pair[0] === pair[1] ? [String(pair[0])] : [];
  });
}

it('every text is translated, unless it is listed as the same in both languages', () => {
  const fields = Object.values({ ...readingFields, sensorFields }).flatMap((group) => Object.values(group));
  const named = Object.fromEntries(fields.map(({ name }, index) => [index, name]));
  const same = [...sameTexts(tree), ...sameTexts(named)];
  expect(same.filter((text) => !shared.includes(text))).toEqual([]);
});
