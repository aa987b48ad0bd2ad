import { lateLane, liveLane } from '@odograph/queue/upload-intake';
import { describe, expect, it } from 'vitest';
import { chooseLane } from './choose-lane.ts';

const nowMs = 1_800_000_000_000;
const lane = (payload: string | Buffer) => chooseLane(Buffer.from(payload), nowMs);

describe('the lane of an upload', () => {
  it.each([
    ['a current reading', '{"timestamp":1800000000.250,"status":{}}'],
    ['a reading of five minutes ago', '{"timestamp":1799999700,"status":{}}'],
    ['a reading of the future', '{"timestamp": 99999999999999999999}'],
    ['a list that ends with a current reading', '[{"timestamp":1700000000},{"status":{},"timestamp" : 1800000000}]'],
    ['no timestamp', '{"status":{}}'],
    ['a timestamp that is not a number', '{"timestamp":"1700000000"}'],
    ['a truncated timestamp', '{"timestamp":'],
    ['an empty payload', ''],
  ])('is live for %s', (_name, payload) => {
    expect(lane(payload)).toBe(liveLane);
  });

  it.each([
    ['a reading of more than five minutes ago', '{"status":{},"timestamp":1799999699.9}'],
    ['a list that ends with an old reading', '[{"timestamp":1800000000},\n{"timestamp":\t1700000000}]'],
    ['bytes that are not UTF-8', Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('"timestamp":0,')])],
  ])('is late for %s', (_name, payload) => {
    expect(lane(payload)).toBe(lateLane);
  });
});
