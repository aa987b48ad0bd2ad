import { type AvlFamily, avlFamilies } from '@odograph/contracts/device-models';
import { describe, expect, it } from 'vitest';
import { avlTable } from './avl-table.ts';
import { decodeTeltonika, hex } from './decode.fixture.ts';

/** A data field in Codec 8 Extended with one record; its elements are `id value` in hexadecimal, a list for each length. */
function recordOf(groups: readonly (readonly string[])[], variable: readonly string[] = []): Buffer {
  const count = (elements: readonly string[]) => elements.length.toString(16).padStart(4, '0');
  const fixed = [0, 1, 2, 3].map((index) => groups[index] ?? []);
  const extra = groups.slice(4);
  const elements = [...fixed, ...extra].map((group) => count(group) + group.join('')).join('');
  const sized = variable.map((element) => {
    const [id = '', value = ''] = element.split(' ');
    return `${id}${(value.length / 2).toString(16).padStart(4, '0')}${value}`;
  });
  return hex(`8e01 0000016B40D8EA30 00 ${'00'.repeat(15)} 0000 0000 ${elements} ${count(sized)}${sized.join('')} 01`);
}

const decodeOne = (data: Buffer, family?: AvlFamily) => {
  const { readings, faults, absentValues } = decodeTeltonika(data, 0, family);
  expect(faults).toEqual([]);
  return { reading: readings[0]?.reading, absentValues };
};
const canOf = (data: Buffer, family?: AvlFamily) =>
  Object.fromEntries(decodeOne(data, family).reading?.can?.map(({ key, value }) => [key, value]) ?? []);

describe('an I/O element', () => {
  // Wheel based speed 80 km/h, cruise control and clutch on, PTO set, engine load 96 %, fuel level 55 %, axle 1 with 8,740 kg.
  const truck = recordOf([
    ['005101', '005201', '005302', '005560'],
    [],
    ['005000000050', '005700000037', '005900002224'],
  ]);

  it('has the meaning that the family of its device defines', () => {
    expect(decodeOne(truck, 'fmx6').reading).toMatchObject({ fleet: { speed: 80, fuelRange: 55 } });
    expect(canOf(truck, 'fmx6')).toMatchObject({ fms_engine_load: '96', axle_weight_1: '8740', pto_state: '2' });
    const car = recordOf([['00514f', '005937'], ['005403e8', '005507d0'], ['0057000bb8ff']]);
    expect(decodeOne(car, 'fmb').reading).toMatchObject({
      fleet: { speed: 79, fuelRange: 55, fuel: 100, mileage: 768.255 },
    });
    const ble = recordOf([['001dc8'], ['00190113']]);
    expect(decodeOne(ble, 'fmb').reading?.sensors?.[0]?.data).toContainEqual({ key: 'temperature', value: '2.75' });
    expect(decodeOne(ble, 'ftc').reading?.sensors?.[0]?.data).toContainEqual({ key: 'temperature', value: '27.5' });
  });

  it('of a device of unknown family is kept as it was sent unless all families agree on it', () => {
    const { reading } = decodeOne(truck);
    expect(reading).not.toHaveProperty('fleet');
    expect(canOf(truck)).toEqual({ io81: '1', io82: '1', io83: '2', io85: '96', io80: '80', io87: '55', io89: '8740' });
    const agreed = recordOf([['00ef01'], ['0042305d', '004800fa']]);
    expect(decodeOne(agreed).reading).toMatchObject({ status: { ignition: true } });
    expect(canOf(agreed)).toMatchObject({ external_voltage: '12.381' });
  });

  it.each(avlFamilies)('of %s has the meaning of the unknown family wherever that has one', (family) => {
    const table = avlTable(family);
    for (const [id, property] of avlTable(undefined)) expect(table.get(id)).toBe(property);
    expect(table.size).toBeGreaterThan(avlTable(undefined).size);
  });

  it.each<[string, AvlFamily, string[][], Record<string, number>]>([
    ['a Dallas sensor that is not connected', 'fmb', [[], [], ['004800000bb8']], { error_code: 1 }],
    ['a Dallas sensor beyond its range', 'fmx6', [[], ['0048fd00']], { out_of_range: 1 }],
    ['BLE temperatures 32765 to 32767', 'fmb', [[], ['00197ffd', '001a7ffe', '001b7fff']], { error_code: 3 }],
    ['BLE temperatures 2000, 3000 and 4000', 'fmx6', [[], ['02bd07d0', '02be0bb8', '02c00fa0']], { error_code: 3 }],
    ['BLE humidities 65535 and 300 %', 'fmb', [[], ['0056ffff', '00680bb8']], { error_code: 2 }],
    ['a humidity of 101.6 %', 'fmb', [[], ['005603f8']], { out_of_range: 1 }],
    ['an EYE sensor that was not found', 'fmb', [['2a34ff'], ['2a307fff']], { out_of_range: 1, error_code: 1 }],
    ['a charge of 255 %', 'fmb', [['0098ff']], { out_of_range: 1 }],
    ['a fuel level of 65535', 'fmx6', [[], ['0022ffff']], { error_code: 1 }],
  ])('is absent, and counted, when it says %s', (_what, family, groups, absentValues) => {
    expect(decodeOne(recordOf(groups), family)).toEqual({
      reading: { timestamp: 1_560_161_086, can: [] },
      absentValues,
    });
  });

  it.each([
    ['fmb', '003a', 'engine_oil_temperature', { '82': '130', d7: '215', d8: '-40', ff: '-1' }],
    ['fmx6', '007f', 'fms_coolant_temperature', { '82': '130', d2: '210', d8: '-40', ff: '-1' }],
    ['fmb', '0020', 'coolant_temperature', { '7f': '127', '80': '-128', ff: '-1' }],
    // An element of two bytes with a maximum of 1270.
    ['fmb', '0073', 'engine_temperature', { '7f': '12.7', '80': '-12.8', ff: '-0.1' }],
  ] as const)('of a byte keeps temperatures up to the maximum of the element: %s %s', (family, id, name, values) => {
    for (const [raw, value] of Object.entries(values)) {
      expect(canOf(recordOf([[`${id}${raw}`]]), family)).toEqual({ [name]: value });
    }
  });

  it('of 1, 2 or 4 bytes in hexadecimal keeps its leading zeros', () => {
    const data = recordOf([['007b05'], ['007c0006'], ['00930000000a']]);
    const values = { control_state_flags: '05', agricultural_machinery_flags: '0006', driver_1_id_high: '0000000a' };
    expect(canOf(data, 'fmb')).toEqual(values);
  });

  it('of 16 bytes is read where a device sends such a group, and kept in hexadecimal', () => {
    const value = '00112233445566778899aabbccddeeff';
    const data = recordOf([['00ef01'], [], [], [], [`01f4${value}`]]);
    expect(decodeOne(data, 'fmb').reading).toMatchObject({ status: { ignition: true } });
    expect(canOf(data, 'fmb')).toEqual({ io500: value });
    const inCodec8 = hex(`0801 0000016B40D8EA30 00 ${'00'.repeat(15)} 00 02 01 ef01 00 00 00 01 f4${value} 01`);
    expect(canOf(inCodec8)).toEqual({ io244: value });
  });
});

describe('a list of BLE devices', () => {
  const sensorsOf = (...elements: string[]) => decodeOne(recordOf([], elements), 'fmb').reading?.sensors;
  const entries = (data: Record<string, string>) => Object.entries(data).map(([key, value]) => ({ key, value }));
  /** A list of tags, each of its parameters in hexadecimal. */
  const tags = (...parameters: string[]) => {
    const bodies = parameters.map((text) => text.replaceAll(' ', ''));
    return `01${bodies.map((body) => (body.length / 2).toString(16).padStart(2, '0') + body).join('')}`;
  };

  it('of tags becomes a sensor for each, by its address or else its id', () => {
    const eye =
      '0506657965310000 0f067cd9f4000001 0602f830 070134 080101 090100 0a020005 0b01fb 0c02ff4c 0d0100 0e020c1c';
    expect(sensorsOf(`2c35 ${tags(eye, '0001c4 0102abcd 210105')}`)).toEqual([
      {
        name: 'ble_7cd9f4000001',
        data: entries({
          ...{
            list: 'eye_sensors',
            name: 'eye1',
            mac: '7cd9f4000001',
            temperature: '-20',
            humidity: '52',
            magnet: '1',
          },
          ...{
            movement: '0',
            movement_count: '5',
            pitch: '-5',
            roll: '-180',
            low_battery: '0',
            battery_voltage: '3.1',
          },
        }),
      },
      { name: 'ble_abcd', data: entries({ list: 'eye_sensors', rssi: '-60', id: 'abcd', parameter_33: '05' }) },
    ]);
    for (const [id, list] of Object.entries({ '2a4c': 'tags_near', '2a4d': 'tags_away', '2a4f': 'tags_lost' })) {
      const data = entries({ list, id: 'abcd' });
      expect(sensorsOf(`${id} ${tags('0102abcd')}`)).toEqual([{ name: 'ble_abcd', data }]);
    }
  });

  it('of tags keeps pitch and roll up to their limits', () => {
    for (const [bytes, pitch, roll] of [
      ['a6 ff4c', '-90', '-180'],
      ['5a 00b4', '90', '180'],
    ] as const) {
      const [low, high] = bytes.split(' ');
      const data = entries({ list: 'eye_sensors', id: 'abcd', pitch, roll });
      expect(sensorsOf(`2c35 ${tags(`0102abcd 0b01${low} 0c02${high}`)}`)).toEqual([{ name: 'ble_abcd', data }]);
    }
  });

  it('of advanced beacons includes the advertising data of an EYE sensor', () => {
    const advertised = 'bf 08bb 26 80ae fb 0009 6c'.replaceAll(' ', '');
    const data = entries({
      ...{ list: 'beacons_advanced', id: '0055', low_battery: '0', magnet: '1', temperature: '22.35', humidity: '38' },
      ...{ movement: '1', movement_count: '174', pitch: '-5', roll: '9', battery_voltage: '3.08' },
    });
    expect(sensorsOf(`0224 ${tags(`01020055 020a${advertised}`)}`)).toEqual([{ name: 'ble_0055', data }]);
    const other = entries({ list: 'beacons_advanced', id: '0055', data: 'bf08' });
    expect(sensorsOf(`0224 ${tags('01020055 0202bf08')}`)).toEqual([{ name: 'ble_0055', data: other }]);
  });

  it('of beacons becomes a sensor for each', () => {
    const [iBeacon, eddystone] = ['11'.repeat(20), '22'.repeat(16)];
    expect(sensorsOf(`0181 1127${iBeacon}c40bb81a8001${eddystone}a4`)).toEqual([
      {
        name: `ble_${iBeacon}`,
        data: entries({ list: 'beacons', id: iBeacon, rssi: '-60', battery_raw: '3000', temperature_raw: '6784' }),
      },
      { name: `ble_${eddystone}`, data: entries({ list: 'beacons', id: eddystone, rssi: '-92' }) },
    ]);
  });

  it('leaves out and counts the values of a failed EYE sensor', () => {
    const list = tags('0102abcd 06027fff 0701ff');
    const { reading, absentValues } = decodeOne(recordOf([], [`2c35 ${list}`]), 'fmb');
    expect(reading?.sensors?.[0]?.data).toEqual(entries({ list: 'eye_sensors', id: 'abcd' }));
    expect(absentValues).toEqual({ error_code: 1, out_of_range: 1 });
  });

  it.each([
    ['2c35 01', '05', 'eye_sensors'],
    ['0224 0104', '0105ab', 'beacons_advanced'],
    ['0181 1121', '1122', 'beacons'],
    ['0181 1180', '11'.repeat(20), 'beacons'],
  ])('of another layout is kept as it was sent: %s%s', (start, end, name) => {
    const [, value = ''] = start.split(' ');
    const { reading } = decodeOne(recordOf([], [`${start}${end}`]), 'fmb');
    expect(reading).toEqual({ timestamp: 1_560_161_086, can: [{ key: name, value: `${value}${end}` }] });
  });
});
