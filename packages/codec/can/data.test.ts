import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { CanMessage } from './database.ts';
import { compileDecoder } from './decode.ts';
import { parseDbc } from './parse-dbc.ts';

function read(name: string) {
  const { database, faults } = parseDbc(readFileSync(new URL(`./data/${name}.dbc`, import.meta.url)));
  const decode = compileDecoder(database);
  const values = (id: number, data: string) => {
    const frame = { id, isExtended: id > 0x7ff, data: Buffer.from(data.replaceAll(' ', ''), 'hex') };
    return Object.fromEntries(decode(frame).map(({ signal, value, label }) => [signal, label ?? value]));
  };
  return { database, faults, values };
}

describe('obd2.dbc', () => {
  const { database, faults, values } = read('obd2');
  const multiplexers = ['SingleFrameLength', 'Service', 'ParameterId'];
  /** A response of the engine to a request for one parameter. */
  const response = (data: string) => {
    const entries = Object.entries(values(0x7e8, data));
    return Object.fromEntries(entries.filter(([name]) => !multiplexers.includes(name)));
  };

  it('has no faults', () => expect(faults).toEqual([]));

  // A, B, C and D are the bytes after the identifier of the parameter, as in the tables of SAE J1979.
  it.each([
    ['04 41 0C 1A F8', '(256A + B) / 4 rpm: 6904 / 4', { EngineSpeed: 1726 }],
    ['03 41 0D 32', 'A km/h', { VehicleSpeed: 50 }],
    ['03 41 05 7B', 'A - 40 °C: 123 - 40', { EngineCoolantTemperature: 83 }],
    ['03 41 04 FF', '100A / 255 %', { CalculatedLoad: 100 }],
    ['03 41 11 33', '100A / 255 %: 5100 / 255', { ThrottlePosition: 20 }],
    ['03 41 06 90', '100A / 128 - 100 %: 112.5 - 100', { ShortTermFuelTrim1: 12.5 }],
    ['03 41 0A 64', '3A kPa', { FuelPressure: 300 }],
    ['03 41 0E 90', 'A / 2 - 64 °: 72 - 64', { TimingAdvance: 8 }],
    ['04 41 10 04 D2', '(256A + B) / 100 g/s: 1234 / 100', { MassAirFlow: 12.34 }],
    ['04 41 14 5A 80', 'A / 200 V, 100B / 128 - 100 %', { OxygenSensor1Voltage: 0.45, OxygenSensor1Trim: 0 }],
    ['03 41 1C 06', 'table of OBD requirements', { ObdStandard: 'EOBD' }],
    ['04 41 1F 0E 10', '256A + B s', { RunTime: 3600 }],
    ['04 41 22 03 E8', '0.079 (256A + B) kPa', { FuelRailPressureRelative: 79 }],
    [
      '06 41 24 80 00 80 00',
      '2 (256A + B) / 65536, 8 (256C + D) / 65536 V',
      { OxygenSensor1RatioByVoltage: 1, OxygenSensor1WideVoltage: 4 },
    ],
    ['03 41 2F 80', '100A / 255 %: 12800 / 255', { FuelLevel: 12800 / 255 }],
    ['04 41 32 FF F8', 'two’s complement of AB / 4 Pa: -8 / 4', { EvaporativePressure: -2 }],
    [
      '06 41 34 80 00 82 80',
      '2 (256A + B) / 65536, (256C + D) / 256 - 128 mA',
      { OxygenSensor1RatioByCurrent: 1, OxygenSensor1Current: 2.5 },
    ],
    ['04 41 3C 17 70', '(256A + B) / 10 - 40 °C: 600 - 40', { CatalystTemperatureBank1Sensor1: 560 }],
    ['04 41 42 37 14', '(256A + B) / 1000 V', { ControlModuleVoltage: 14.1 }],
    ['04 41 43 00 FF', '100 (256A + B) / 255 %', { AbsoluteLoad: 100 }],
    ['03 41 46 3C', 'A - 40 °C', { AmbientAirTemperature: 20 }],
    ['03 41 51 04', 'table of fuel types', { FuelType: 'diesel' }],
    ['04 41 53 4E 20', '(256A + B) / 200 kPa', { EvaporativePressureAbsolute: 100 }],
    ['04 41 5D 6B 00', '(256A + B) / 128 - 210 °: 214 - 210', { FuelInjectionTiming: 4 }],
    ['04 41 5E 00 C8', '(256A + B) / 20 L/h', { EngineFuelRate: 10 }],
    ['03 41 62 7D', 'A - 125 %', { ActualTorque: 0 }],
    ['06 41 A6 00 12 D6 87', '(2^24 A + 2^16 B + 2^8 C + D) / 10 km: 1234567 / 10', { Odometer: 123456.7 }],
  ])('decodes %s by %s', (data, _formula, expected) => {
    expect(response(data)).toEqual(expected);
  });

  it('decodes the monitor status bit by bit', () => {
    // A: indicator on, 3 codes; B: bit 3 compression ignition, bit 4 misfire monitor incomplete.
    expect(response('06 41 01 83 18 65 01')).toEqual({
      ...{ MalfunctionIndicator: 1, TroubleCodeCount: 3, CompressionIgnition: 1, MisfireMonitorIncomplete: 1 },
      ...{ FuelSystemMonitorIncomplete: 0, ComponentsMonitorIncomplete: 0 },
      ...{ MonitorsSupported: 0x65, MonitorsIncomplete: 1 },
    });
  });

  it('decodes the responses of every ECU, with 11-bit and 29-bit ids', () => {
    const data = '04 41 0C 1A F8 00 00 00';
    for (const id of [0x7e8, 0x7ef, 0x18daf110, 0x18daf11d])
      expect(values(id, data)).toMatchObject({ EngineSpeed: 1726 });
    expect(values(0x7e7, data)).toEqual({});
  });

  it('decodes nothing but single-frame responses of mode 01', () => {
    expect(response('03 7F 01 12')).toEqual({});
    expect(response('04 49 0C 1A F8')).toEqual({});
    expect(response('10 41 41 0C 1A F8 00 00')).toEqual({});
    expect(response('02 01 0C')).toEqual({});
  });

  it('has the same signals in each of its messages', () => {
    const describe = ({ signals }: CanMessage) =>
      signals.map((signal) => ({ ...signal, line: 0, selection: signal.selection?.ranges }));
    const [first, ...others] = database.messages.map(describe);
    expect(others).toHaveLength(8);
    for (const other of others) expect(other).toEqual(first);
  });
});

describe('j1939.dbc', () => {
  const { database, faults, values } = read('j1939');

  it('has no faults, and a suspect parameter number for every signal', () => {
    expect(faults).toEqual([]);
    const spns = database.messages.flatMap(({ signals }) => signals.map(({ attributes }) => attributes.get('SPN')));
    expect(spns).not.toContain(undefined);
    expect(new Set(spns).size).toBe(spns.length);
  });

  it('matches parameter groups from any source address', () => {
    expect(database.messages.every(({ pgn }) => pgn !== undefined)).toBe(true);
    expect(values(0x18fef121, 'FF 00 50 FF FF FF FF FF')).toMatchObject({ WheelBasedVehicleSpeed: 80 });
  });

  // Positions and scaling: SAE J1939-71, at the suspect parameter number.
  it.each([
    [0x0cf00400, 'F1 7D 82 20 4E 00 FF 87', 'SPN 190, bytes 4-5: 0.125 rpm; 20000 × 0.125', { EngineSpeed: 2500 }],
    [0x0cf00400, 'F1 7D 82 20 4E 00 FF 87', 'SPN 513, byte 3: 1 %, offset -125', { ActualEngineTorque: 5 }],
    [0x0cf00300, 'D1 7D 50 FF', 'SPN 91, byte 2: 0.4 %', { AcceleratorPedalPosition1: 50 }],
    [0x18fef100, 'F7 00 50 10 FF 64', 'SPN 84, bytes 2-3: 1/256 km/h; 20480 / 256', { WheelBasedVehicleSpeed: 80 }],
    [0x18fef100, 'F7 00 50 10 FF 64', 'SPN 70, bits 1.3-1.4; SPN 597, bits 4.5-4.6', { BrakeSwitch: 'pressed' }],
    [0x18feee00, '7D 46 80 2F FF FF FF FF', 'SPN 110, byte 1: 1 °C, offset -40', { EngineCoolantTemperature: 85 }],
    [0x18feee00, '7D 46 80 2F', 'SPN 175, bytes 3-4: 0.03125 °C, offset -273', { EngineOilTemperature1: 107 }],
    [0x18feef00, 'FF FF FF 64 FF FF FF FA', 'SPN 100, byte 4: 4 kPa', { EngineOilPressure: 400 }],
    [0x18fef200, '90 01 00 10', 'SPN 183, bytes 1-2: 0.05 L/h; SPN 184: 1/512 km/L', { EngineFuelRate: 20 }],
    [0x18fef200, '90 01 00 10', 'SPN 184, bytes 3-4: 1/512 km/L', { InstantaneousFuelEconomy: 8 }],
    [0x18fee900, '00 00 00 00 40 E2 01 00', 'SPN 250, bytes 5-8: 0.5 L; 123456 / 2', { TotalFuelUsed: 61728 }],
    [0x18fd0900, '00 00 00 00 40 E2 01 00', 'SPN 5054, bytes 5-8: 1 mL', { HighResolutionTotalFuelUsed: 123.456 }],
    [0x18fec100, '40 E2 01 00 FF FF FF FF', 'SPN 917, bytes 1-4: 5 m', { HighResolutionTotalDistance: 617.28 }],
    [0x18fee000, '00 00 00 00 40 E2 01 00', 'SPN 245, bytes 5-8: 0.125 km', { TotalDistance: 15432 }],
    [0x18fee500, '20 4E 00 00', 'SPN 247, bytes 1-4: 0.05 h', { EngineTotalHours: 1000 }],
    [0x18fefc00, 'FF 7D', 'SPN 96, byte 2: 0.4 %', { FuelLevel1: 50 }],
    [
      0x18fef500,
      'C8 FF FF A0 24 3C',
      'SPN 108: 0.5 kPa; SPN 171: 0.03125 °C, offset -273',
      { BarometricPressure: 100 },
    ],
    [0x18fef500, 'C8 FF FF A0 24 3C', 'SPN 171, bytes 4-5: 9376 / 32 - 273', { AmbientAirTemperature: 20 }],
    [0x18fef600, 'FF 32', 'SPN 102, byte 2: 2 kPa', { IntakeManifold1Pressure: 100 }],
    [0x18fef700, 'FF FF FF FF 18 01', 'SPN 168, bytes 5-6: 0.05 V; 280 / 20', { BatteryPotential: 14 }],
    [0x18f00503, '80 E8 03 7F', 'SPN 523, byte 4: 1 gear, offset -125', { CurrentGear: 2, SelectedGear: 3 }],
    [0x18feea00, 'FF 10 27', 'SPN 582, bytes 2-3: 0.5 kg', { AxleWeight: 5000 }],
    [0x18fec000, 'FF 7F 7D', 'SPN 914, bytes 2-3: 5 km, offset -160635; 32127 × 5', { ServiceDistance: 0 }],
    [0x0cfe6cee, '03 FF FF FF FF FF 00 50', 'SPN 1612, bits 1.1-1.3', { Driver1WorkingState: 'drive' }],
    [0x18fe5600, 'C8 46', 'SPN 1761, byte 1: 0.4 %', { ExhaustFluidTankLevel: 80 }],
  ])('decodes %i %s by %s', (id, data, _source, expected) => {
    expect(values(id, data)).toMatchObject(expected);
  });

  it('contains no positions, which location privacy could not hide', () => {
    const text = readFileSync(new URL('./data/j1939.dbc', import.meta.url), 'utf8');
    expect(text).not.toMatch(/SG_ \w*(?:latitude|longitude)/i);
  });
});
