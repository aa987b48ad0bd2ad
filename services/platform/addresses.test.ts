import { readConfig } from '@odograph/runtime/config';
import { describe, expect, it } from 'vitest';
import { describeAddresses } from './platform.ts';
import { selectServices } from './services.ts';

const urls = { httpUrl: 'http://127.0.0.1:8080', mqttUrl: 'mqtt://127.0.0.1:1883' };
const describeFor = (...names: string[]) => Object.keys(describeAddresses(readConfig({}), urls, selectServices(names)));

describe('the addresses of a ready process', () => {
  it('are those of the services that it runs', () => {
    expect(describeFor()).toEqual(['page', 'reference', 'mqtt', 'mqtts', 'teltonika']);
    expect(describeFor('broker')).toEqual(['mqtt', 'mqtts']);
    expect(describeFor('gateway')).toEqual(['teltonika']);
    expect(describeFor('query', 'console')).toEqual(['page', 'reference']);
    expect(describeFor('ingest')).toEqual([]);
  });
});
