/** The packets a load needs, encoded by hand [MQTT-2.2, 3.1, 3.3, 3.8]: a client library would be slower than what is measured. */
function string(text: string): Buffer {
  const bytes = Buffer.from(text);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

function packet(firstByte: number, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const length: number[] = [];
  for (let left = body.length; length.length === 0 || left > 0; left >>>= 7) {
    length.push((left & 0x7f) | (left > 0x7f ? 0x80 : 0));
  }
  return Buffer.concat([Buffer.from([firstByte, ...length]), body]);
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}

/** A clean session without keep-alive. */
export function connectPacket(clientId: string, password: string): Buffer {
  const protocol = Buffer.concat([string('MQTT'), Buffer.from([4, 0b1100_0010]), number(0)]);
  return packet(0x10, protocol, string(clientId), string(clientId), string(password));
}

/** QoS 1. */
export function publishPacket(topic: string, packetId: number, payload: Buffer): Buffer {
  return packet(0x32, string(topic), number(packetId), payload);
}

/** QoS 1, one filter. */
export function subscribePacket(packetId: number, filter: string): Buffer {
  return packet(0x82, number(packetId), string(filter), Buffer.from([1]));
}

export function pubackPacket(packetId: number): Buffer {
  return packet(0x40, number(packetId));
}
