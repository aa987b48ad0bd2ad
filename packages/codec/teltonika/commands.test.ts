import { positionKeyPattern } from '@odograph/contracts/positions';
import { describe, expect, it } from 'vitest';
import { encodeCommand, readMessages } from './commands.ts';
import { dataOf, decodeTeltonika, hex } from './decode.fixture.ts';

// The packets are from "Teltonika Data Sending Protocols" of Teltonika's wiki.

const messagesIn = (data: Buffer) =>
  readMessages(data)?.map(({ bytes, seconds, isAnswer, isRefused }) => [
    ...[bytes.toString('latin1'), seconds, isAnswer, isRefused],
  ]);

describe('a message that is not a record', () => {
  const receivedAtMs = 1_700_000_000_123;
  /** A message of Codec 12, or of Codec 13 with a time. */
  const message = (text: string, seconds?: number): Buffer => {
    const time = Buffer.alloc(seconds === undefined ? 0 : 4);
    if (seconds !== undefined) time.writeUInt32BE(seconds);
    const bytes = Buffer.concat([time, Buffer.from(text, 'latin1')]);
    const size = Buffer.alloc(4);
    size.writeUInt32BE(bytes.length);
    return Buffer.concat([Buffer.from([seconds === undefined ? 0x0c : 0x0d, 1, 6]), size, bytes, Buffer.from([1])]);
  };
  const readingOf = (data: Buffer) => decodeTeltonika(data, receivedAtMs).readings[0]?.reading;
  const dataIn = (data: Buffer) => readingOf(data)?.sensors;

  it('is a reading at its own time, or at that of its receipt', () => {
    expect(dataIn(message('AXLE 1: 4200 kg\r\n', 1_600_000_000))).toEqual([
      { name: 'serial', data: [{ key: 'serial_text', value: 'AXLE 1: 4200 kg' }] },
    ]);
    expect(Math.floor(readingOf(message('a', 1_600_000_000))?.timestamp ?? 0)).toBe(1_600_000_000);
    expect(Math.floor(readingOf(message('a'))?.timestamp ?? 0)).toBe(Math.floor(receivedAtMs / 1000));
    // Codec 15.
    const codec15 = '000000000000001b0f010b00000013654b65a4012345678912345648656c6c6f210a01000093d6';
    expect(messagesIn(dataOf(codec15))).toEqual([['Hello!\n', 0x654b65a4, false, false]]);
  });

  it('is kept byte for byte when it is not text', () => {
    expect(dataIn(message('\x00\x01\xff'))).toMatchObject([{ data: [{ key: 'serial_hex', value: '0001ff' }] }]);
    const long = dataIn(message('x'.repeat(1500)))?.[0]?.data ?? [];
    expect(long.map(({ key }) => key)).toEqual(['serial_text', 'serial_text_2']);
  });

  it('never has the time of a record or of another message, and the same time when it is sent again', () => {
    const texts = Array.from({ length: 200 }, (_unused, index) => `line ${index}`);
    const times = texts.map((text) => decodeTeltonika(message(text, 1_600_000_000)).readings[0]?.timeMicroseconds ?? 0);
    expect(new Set(times).size).toBe(texts.length);
    expect(times.filter((time) => time % 1000 === 0)).toEqual([]);
    const [again] = decodeTeltonika(message('line 7', 1_600_000_000)).readings;
    expect(again?.timeMicroseconds).toBe(times[7]);
  });

  it('discloses no position in a privacy interval', () => {
    const key = new RegExp(positionKeyPattern, 'i');
    expect(['serial_text', 'serial_hex', 'serial_text_2'].filter((one) => !key.test(one))).toEqual([]);
  });
});

describe('a command to a device', () => {
  it('is encoded as the manufacturer documents', () => {
    expect(encodeCommand('getinfo')).toEqual(hex('000000000000000F0C010500000007676574696E666F0100004312'));
    expect(encodeCommand('getio')).toEqual(hex('000000000000000D0C010500000005676574696F01000000CB'));
  });

  it('is answered in Codec 12, 13 and 14', () => {
    const codec12Answer =
      '00000000000000370C01060000002F4449313A31204449323A30204449333A302041494E313A302041494E323A313639323420444F313A3020444F323A3101000066E3';
    expect(messagesIn(dataOf(codec12Answer))).toEqual([
      ['DI1:1 DI2:0 DI3:0 AIN1:0 AIN2:16924 DO1:0 DO2:1', undefined, true, false],
    ]);
    const codec13Answer = '00000000000000170D01050000000F0000016C0A81C320676574696E666F0100006855';
    expect(messagesIn(dataOf(codec13Answer))).toEqual([['getinfo', 1_563_544_372, true, false]]);
    const codec14 = (type: number) => {
      const text = Buffer.concat([hex('0352093081452251'), Buffer.from('Ver:03.18.14_04')]);
      const size = Buffer.alloc(4);
      size.writeUInt32BE(text.length);
      return messagesIn(Buffer.concat([Buffer.from([0x0e, 1, type]), size, text, Buffer.from([1])]));
    };
    expect(codec14(0x06)).toEqual([['Ver:03.18.14_04', undefined, true, false]]);
    expect(codec14(0x11)).toEqual([['Ver:03.18.14_04', undefined, true, true]]);
  });

  it('is no answer when its lengths do not fit, or when it holds records', () => {
    expect(readMessages(hex('0C0106ffffffff4101'))).toBeUndefined();
    expect(readMessages(hex('0C01060000000141'))).toBeUndefined();
    expect(readMessages(hex('0C0106000000014101'))).toHaveLength(1);
    expect(readMessages(hex('0C010600000001410100'))).toBeUndefined();
    expect(readMessages(hex('08 00 00'))).toBeUndefined();
  });
});
