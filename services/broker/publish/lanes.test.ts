import { encodeCbor } from '@odograph/codec/native/cbor';
import { lateLane, liveLane } from '@odograph/queue/intake';
import { encode } from 'cborg';
import { describe, expect, it } from 'vitest';
import { laneOfPayload } from './accept-publish.ts';

const nowMs = 1_800_000_000_000;
const lane = (payload: string | Buffer) => laneOfPayload(Buffer.from(payload), nowMs);

describe('the lane of an upload', () => {
  it.each([
    ['a current reading', '{"timestamp":1800000000.250,"status":{}}'],
    ['a reading of five minutes ago', '{"timestamp":1799999700,"status":{}}'],
    ['a reading of the future', '{"timestamp": 99999999999999999999}'],
    [
      'a list from a reading of five days ago to a current one',
      '[{"timestamp":1799568000},{"timestamp":1},{"status":{},"timestamp" : 1800000000}]',
    ],
    ['no timestamp', '{"status":{}}'],
    ['a timestamp that is not a number', '{"timestamp":"1700000000"}'],
    ['a truncated timestamp', '{"timestamp":'],
    ['an empty payload', ''],
  ])('is live for %s', (_name, payload) => {
    expect(lane(payload)).toBe(liveLane);
  });

  it.each([
    ['a reading of more than five minutes ago', '{"status":{},"timestamp":1799999699.9}'],
    [
      'a list that begins with a reading of more than five days ago',
      '[{"timestamp":1799567999},{"timestamp":1800000000}]',
    ],
    ['a list that ends with an old reading', '[{"timestamp":1800000000},\n{"timestamp":\t1700000000}]'],
    ['bytes that are not UTF-8', Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('"timestamp":0,')])],
  ])('is late for %s', (_name, payload) => {
    expect(lane(payload)).toBe(lateLane);
  });

  it('is that of the time of a location of OwnTracks', () => {
    const laneOf = (tst: number) =>
      laneOfPayload(Buffer.from(`[{"_type":"location","tst":${tst}}]`), nowMs, 'owntracks');
    expect([laneOf(1_800_000_000), laneOf(1_700_000_000)]).toEqual([liveLane, lateLane]);
  });

  it.each([
    ['numbers for names', encodeCbor],
    ['names', encode],
  ])('is that of the first and the last reading in CBOR too, with %s', (_name, encodeUpload) => {
    const others = {
      sequence: 4711,
      location: { latitudeE7: 488_567_200, longitude: 2.3522 },
      can: [{ key: 'engine_rpm', value: '2100' }],
      frames: [{ id: '18FEF100', data: 'f17d82204e00ff87' }],
    };
    const laneOf = (...times: number[]) =>
      lane(Buffer.from(encodeUpload(times.map((timestamp) => ({ ...others, timestamp })))));
    expect(laneOf(1_799_568_000, 1_700_000_000, 1_800_000_000)).toBe(liveLane);
    expect(laneOf(1_799_568_000.25, 1_800_000_000.25)).toBe(liveLane);
    expect(laneOf(1_799_567_999, 1_800_000_000)).toBe(lateLane);
    expect(laneOf(1_700_000_000.25, 1_800_000_000)).toBe(lateLane);
    expect(laneOf(1_800_000_000, 1_799_999_699)).toBe(lateLane);
    expect(laneOf(1_800_000_000, 1_700_000_000.25)).toBe(lateLane);
    expect(laneOf()).toBe(liveLane);
  });
});
