import { EventEmitter } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { readCommand } from '@odograph/codec/teltonika/commands';
import type { CommandAcknowledgement, CommandMessage, DeviceAction } from '@odograph/contracts/commands';
import type { DeviceCommands } from '@odograph/contracts/device-models';
import { createLogger } from '@odograph/runtime/logger';
import { Counter } from '@odograph/runtime/metrics';
import { eventually } from '@odograph/testkit/eventually';
import { expect, it } from 'vitest';
import type { AnswerListener } from '../shared/devices.ts';
import { type CommandedSession, TeltonikaCommands } from './teltonika-commands.ts';

const deviceCommands: DeviceCommands = {
  IMMOBILIZE: { text: 'setdigout 1?', success: ['DOUT1:ON'], refusal: ['Is disabled from CFG'] },
  START: { text: 'setdigout 0?', success: ['DOUT1:OFF'], refusal: [] },
};

/** A connection that records the texts written to it. */
class Connection extends EventEmitter implements CommandedSession {
  readonly deviceId = '350000000000001';
  readonly texts: (string | undefined)[] = [];
  isReset = false;
  #listener: AnswerListener = () => false;

  send(bytes: Buffer): void {
    this.texts.push(readCommand(bytes.subarray(8, -4)));
  }

  onAnswer(listener: AnswerListener): void {
    this.#listener = listener;
  }

  onClose(listener: () => void): void {
    this.once('close', listener);
  }

  reset(): void {
    this.isReset = true;
    this.emit('close');
  }

  answer(text: string, isRefused = false): boolean {
    return this.#listener(text, isRefused);
  }
}

/** A gateway with one connected device. */
function connect(findCommands: () => Promise<DeviceCommands> = async () => deviceCommands) {
  const connection = new Connection();
  let live: Connection | undefined = connection;
  const acknowledged: CommandAcknowledgement[] = [];
  const logged: string[] = [];
  const outcomes = new Counter({ name: 'outcomes', help: 'of the test', labelNames: ['outcome'], registers: [] });
  const commands = new TeltonikaCommands({
    findSession: (deviceId) => (deviceId === connection.deviceId ? live : undefined),
    findCommands,
    acknowledge: (_deviceId, acknowledgement) => acknowledged.push(acknowledgement),
    outcomes,
    logger: createLogger('info', { write: (line) => void logged.push(line) }),
  });
  const order = (id: string, action: DeviceAction = 'IMMOBILIZE', withinMs = 60_000): CommandMessage => {
    const message = { id, action, expiresAt: (Date.now() + withinMs) / 1000 };
    commands.receive(connection.deviceId, message);
    return message;
  };
  const sent = (...texts: string[]) => eventually(async () => expect(connection.texts).toEqual(texts));
  const isAcknowledged = (...expected: object[]) =>
    eventually(async () => expect(acknowledged).toEqual(expected.map((one) => expect.objectContaining(one))));
  const disconnect = (): void => {
    live = undefined;
    connection.emit('close');
  };
  return { commands, connection, order, sent, isAcknowledged, acknowledged, disconnect, outcomes, logged };
}

it('sends the text of the model and acknowledges by its answers', async () => {
  const { connection, order, sent, isAcknowledged } = connect();
  order('one');
  await sent('setdigout 1?');
  connection.answer('DOUT1:on Timeout:INFINITY DOUT2:IGNORED');
  order('two');
  await sent('setdigout 1?', 'setdigout 1?');
  connection.answer('DOUT1 is disabled from CFG');
  order('three', 'START');
  await sent('setdigout 1?', 'setdigout 1?', 'setdigout 0?');
  connection.answer('wrong IMEI', true);
  await isAcknowledged(
    { id: 'one', ok: true },
    { id: 'two', ok: false, reason: 'DOUT1 is disabled from CFG' },
    { id: 'three', ok: false, reason: 'wrong IMEI' },
  );
  expect(connection.isReset).toBe(false);
});

it('has one command in flight at a time, because an answer names none', async () => {
  const { connection, order, sent, isAcknowledged } = connect();
  order('one');
  order('two', 'START');
  await sent('setdigout 1?');
  await delay(50);
  expect(connection.texts).toHaveLength(1);
  connection.answer('DOUT1:ON');
  await sent('setdigout 1?', 'setdigout 0?');
  connection.answer('DOUT1:OFF');
  await isAcknowledged({ id: 'one', ok: true }, { id: 'two', ok: true });
});

it('reports an answer that the model does not define and keeps waiting, and ignores an unsolicited one', async () => {
  const { connection, order, sent, isAcknowledged, acknowledged, outcomes, logged } = connect();
  expect(connection.answer('DOUT1:ON')).toBe(false);
  order('one');
  await sent('setdigout 1?');
  expect(connection.answer('Code Ver:03.28.03\r\n\0')).toBe(false);
  const unknown = { id: 'one', ok: false, reason: 'Code Ver:03.28.03', outcome: 'unknown' };
  expect(acknowledged).toEqual([unknown]);
  // It may as well be what a serial port says: a driver card, or a position.
  expect(logged.join()).toContain('answer unknown to the device model');
  expect(logged.join()).not.toContain('Code Ver');
  expect(connection.answer('DOUT1:ON')).toBe(true);
  await isAcknowledged(unknown, { id: 'one', ok: true });
  const { values } = await outcomes.get();
  const counts = Object.fromEntries(values.map(({ labels, value }) => [labels.outcome, value]));
  expect(counts).toEqual({ unknown_answer: 1, acknowledged: 1 });
});

it('resets a connection without an answer in time, so that nothing arrives late; what waited is refused', async () => {
  const { connection, order, sent, isAcknowledged } = connect();
  order('one', 'IMMOBILIZE', 100);
  order('two', 'START');
  await sent('setdigout 1?');
  await isAcknowledged({ id: 'two', ok: false });
  expect([connection.isReset, connection.texts]).toEqual([true, ['setdigout 1?']]);
});

it('does not send a command that has expired, also while it waited', async () => {
  const { connection, order, sent, isAcknowledged } = connect();
  order('old', 'IMMOBILIZE', -1);
  order('one', 'IMMOBILIZE');
  order('two', 'START', 60);
  await sent('setdigout 1?');
  await delay(80);
  connection.answer('DOUT1:ON');
  await isAcknowledged({ id: 'old', ok: false }, { id: 'one', ok: true }, { id: 'two', ok: false });
  expect(connection.texts).toEqual(['setdigout 1?']);
});

it('refuses at once what the model cannot say, and what it cannot look up', async () => {
  const told = connect();
  told.order('one', 'HONK');
  await told.isAcknowledged({ id: 'one', ok: false, reason: 'the device model has no command for this action' });
  const blind = connect(() => Promise.reject(new Error('the database is unavailable')));
  blind.order('two');
  await blind.isAcknowledged({ id: 'two', ok: false });
  expect([...told.connection.texts, ...blind.connection.texts]).toEqual([]);
});

it('refuses a command whose connection ended while the model was looked up, or before the command arrived', async () => {
  let found = (_commands: DeviceCommands): void => undefined;
  const { commands, connection, order, isAcknowledged, disconnect } = connect(
    () =>
      new Promise((resolve) => {
        found = resolve;
      }),
  );
  commands.receive('another', { id: 'zero', action: 'START', expiresAt: Date.now() });
  order('one');
  disconnect();
  found(deviceCommands);
  await isAcknowledged({ id: 'zero', ok: false }, { id: 'one', ok: false });
  expect(connection.texts).toEqual([]);
});

it('refuses commands beyond eight that wait', async () => {
  const { connection, order, isAcknowledged } = connect();
  for (let index = 0; index < 11; index += 1) order(String(index));
  await isAcknowledged({ id: '9', ok: false }, { id: '10', ok: false });
  expect(connection.texts).toHaveLength(1);
});
